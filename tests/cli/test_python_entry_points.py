from __future__ import annotations

from pathlib import Path

import pytest

import openmodelatlas
from tests.cli.conftest import TINY, TINY_MODEL


def test_open_and_walk_an_atlas(tiny_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    atlas = openmodelatlas.open(tiny_home / "atlases" / TINY_MODEL)

    assert isinstance(atlas, openmodelatlas.Atlas)
    assert atlas["layers.0.attention"].class_name == "Attention"
    assert sum(node.kind == "model" for node in atlas) == 1
    monkeypatch.setenv("OMA_HOME", str(tiny_home))
    assert len(openmodelatlas.open(TINY_MODEL)) == len(atlas)


def test_open_what_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(openmodelatlas.AtlasError, match="no atlas here"):
        openmodelatlas.open(tmp_path)


def test_build_returns_the_atlas_that_is_up_to_date(tiny_home: Path) -> None:
    told: list[str] = []

    atlas = openmodelatlas.build(TINY, home=tiny_home, progress=lambda step: told.append(step.stage))

    assert atlas.root.parameter_count == 164096
    assert told[-1] == "tiny is up to date"
