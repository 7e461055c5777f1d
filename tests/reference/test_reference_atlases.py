"""The reference models as atlases: every layer finds its group, and the groups are those of the published models."""

from __future__ import annotations

from pathlib import Path

import pytest

from openmodelatlas import builder
from openmodelatlas.graph.document import Document

EXPECTED = {
    "kimi-k2": ([(1,), tuple(range(2, 62))], 1_026_408_209_408),
    "kimi-k3": (
        [
            (1,),
            tuple(n for n in range(2, 92) if n % 4 and n % 12 != 1),
            (*range(4, 93, 4), 93),
            (13, 25, 37, 49, 61, 73, 85),
        ],
        2_779_484_476_000,
    ),
}


def layer_variants(document: Document) -> list[tuple[int, ...]]:
    """Members of the groups inside the group of all layers, in the prefill."""
    groups = [node for node in document.nodes.values() if node.kind == "layer group" and node.phase == "prefill"]
    every_layer = max(groups, key=lambda node: node.count)
    return [node.members for node in groups if node.parent == every_layer.address]


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPECTED)
def test_a_reference_model_builds_as_an_atlas(name: str, tmp_path: Path) -> None:
    document = builder.build(f"reference:{name}", home=tmp_path).document
    variants, parameters = EXPECTED[name]
    assert layer_variants(document) == variants
    assert document.nodes[""].parameter_count == parameters
    assert not [check.name for check in document.checks if check.passed is False]
