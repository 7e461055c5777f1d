"""Parts that the author hands to a compiler are recorded as they are written."""

from __future__ import annotations

from pathlib import Path

import pytest

import openmodelatlas
from openmodelatlas.capture.job import Limits
from tests.end_to_end.pebble import IMPORTED, MADE, STARTED, pebble, put


@pytest.mark.parametrize(
    ("place", "statement"),
    [
        (IMPORTED, "@torch.compile\ndef twice(x):\n    return torch.sin(x) * 2"),
        (IMPORTED, "@torch.jit.script\ndef twice(x):\n    return torch.sin(x) * 2"),
        (MADE, "global twice\ntwice = torch.compile(lambda x: torch.sin(x) * 2, mode='max-autotune')"),
    ],
    ids=["compile", "script", "lambda"],
)
def test_compiled_functions_show_their_operations(tmp_path: Path, home: Path, place: str, statement: str) -> None:
    folder = pebble(tmp_path / "pebble")
    put(folder, STARTED, "hidden_states = twice(hidden_states)")
    put(folder, place, statement)
    atlas = openmodelatlas.build(str(folder), trust=True, limits=Limits(seconds=60))
    called = {(node.function or "").rpartition(".")[2] for node in atlas if node.kind == "operation"}
    assert {"sin", "mul"} <= {name.strip("_") for name in called}


def test_a_compiled_module_keeps_its_parameters(tmp_path: Path, home: Path) -> None:
    plain = openmodelatlas.build(str(pebble(tmp_path / "plain")), trust=True, limits=Limits(seconds=60))
    folder = pebble(tmp_path / "pebble")
    put(folder, MADE, "self.layers[0] = torch.compile(self.layers[0])")
    atlas = openmodelatlas.build(str(folder), trust=True, limits=Limits(seconds=60))
    assert atlas.root.parameter_count == plain.root.parameter_count
    assert atlas["layers"].count == plain["layers"].count
