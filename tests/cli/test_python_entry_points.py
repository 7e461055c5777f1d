from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import openmodelatlas
from openmodelatlas.errors import BundleError, SourceNotFoundError, UsageError
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


@pytest.mark.parametrize(
    "wrong",
    [
        {"source": None},
        {"source": 3},
        {"source": ["gpt2"]},
        {"source": b"gpt2"},
        {"revision": 5},
        {"configuration": {"hidden_size": 64}},
        {"packages": "numpy"},
        {"packages": [5]},
        {"packages": None},
        {"trust": "no"},
        {"trust": 0},
        {"force": "yes"},
        {"overrides": {"hidden_size": "x"}},
        {"overrides": {"hidden_size": True}},
        {"overrides": {"hidden_size": []}},
        {"overrides": {"hidden_size": [24, -1]}},
        {"overrides": {5: 24}},
        {"overrides": "hidden_size=24"},
        {"limits": 3},
        {"home": 3},
        {"progress": 3},
    ],
    ids=str,
)
def test_an_argument_that_does_not_fit_is_named(tmp_path: Path, wrong: dict[str, Any]) -> None:
    arguments: dict[str, Any] = {"source": TINY, "home": tmp_path / "home"} | wrong
    name = "spec_or_model" if "source" in wrong else next(iter(wrong))
    with pytest.raises(UsageError, match=f"^{name} "):
        openmodelatlas.build(**arguments)
    assert not (tmp_path / "home").exists()


def test_paths_may_be_written_as_text_and_the_other_way_round(
    tiny_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(openmodelatlas.build(TINY, home=str(tiny_home))) == len(
        openmodelatlas.open(tiny_home / "atlases" / TINY_MODEL)
    )
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SourceNotFoundError, match="configuration cannot be read"):
        openmodelatlas.build(TINY, configuration="none.json", home=tiny_home)
    for name in ("gpt2", "owner/name", "transformers:gpt2"):  # as text, these are no folders
        with pytest.raises(SourceNotFoundError, match="no such folder"):
            openmodelatlas.build(Path(name), home=tiny_home)


@pytest.mark.parametrize("path", ["", ".", "/", "a\0b", "x" * 5000, "x/" * 5000, "\ud800", os.devnull, "~", "kimi-k9"])
def test_where_no_atlas_can_be_there_is_none(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMA_HOME", str(tmp_path))
    for given in (path, Path(path)):
        with pytest.raises(BundleError, match="no atlas here"):
            openmodelatlas.open(given)


@pytest.mark.parametrize("path", [None, 3, b"x", []])
def test_what_is_no_path_is_refused(path: Any) -> None:
    with pytest.raises(UsageError, match="neither"):
        openmodelatlas.open(path)


@pytest.mark.parametrize("name", [None, 0, -1, slice(1), ("a",), b"head"])
def test_an_atlas_is_asked_by_name(tiny_home: Path, name: Any) -> None:
    atlas = openmodelatlas.open(tiny_home / "atlases" / TINY_MODEL)
    for ask in (atlas.__getitem__, atlas.find, atlas.close_matches):
        with pytest.raises(UsageError, match="asked by name"):
            ask(name)
    assert name not in atlas
