"""Models that need what a capture leaves out of torch are built like any other."""

from __future__ import annotations

from pathlib import Path

import pytest

from openmodelatlas import builder


@pytest.mark.parametrize(
    ("factory", "operations"),
    [
        ("kernels", ["empty", "gt", "where", "mul", "mul", "mul", "add"]),
        ("imports", ["mul", "add", "sin"]),
    ],
)
def test_a_model_that_needs_the_rest(tmp_path: Path, factory: str, operations: list[str]) -> None:
    atlas = builder.build(f"tests.corpus.needs_the_rest:{factory}", home=tmp_path)

    document = atlas.document
    ran = [node.function for node in document.nodes.values() if node.kind == "operation"]
    assert [str(name).rsplit(".", 1)[-1].strip("_") for name in ran] == operations
    assert {Path(file.path).name for file in document.files.values()} == {"needs_the_rest.py"}
    assert {check.passed for check in document.checks} == {True}
