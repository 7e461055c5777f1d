"""Models that do what few do are built like any other."""

from __future__ import annotations

from pathlib import Path

import pytest

from openmodelatlas import builder
from openmodelatlas.bundle.kept import named_values


@pytest.mark.parametrize(
    ("factory", "operations", "layers"),
    [
        ("other_text", ["mul"], 0),
        ("named_tensor", ["mul", "add", "split"], 3),
        ("halves", ["chunk", "iadd", "sin"], 0),
        ("renamed", ["mul", "add", "cos"], 3),
        ("closure", [], 0),
        ("held", ["pow", "add"], 0),
    ],
)
def test_a_model_that_does_what_few_do(tmp_path: Path, factory: str, operations: list[str], layers: int) -> None:
    atlas = builder.build(f"tests.corpus.unusual:{factory}", home=tmp_path)

    document = atlas.document
    ran = [node.function for node in document.nodes.values() if node.kind == "operation"]
    assert [str(name).rsplit(".", 1)[-1].strip("_") for name in ran] == operations
    assert {check.passed for check in document.checks} == {True}
    assert [len(node.members) for node in document.nodes.values() if node.kind == "layer group"][:1] == [layers][
        :layers
    ]
    assert {fact.owner for fact in document.parameters.values()} <= document.nodes.keys()
    assert all(atlas.value(key) is not None for key in named_values(document))
