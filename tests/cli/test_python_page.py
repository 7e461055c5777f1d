"""The examples of the page about Python run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import openmodelatlas
from tests.cli.conftest import ROOT, TINY, TINY_MODEL

PAGE = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_examples_on_an_atlas_run(tiny_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMA_HOME", str(tiny_home))
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    for block in BLOCKS[:-1]:
        code = block.replace('build("kimi-k2")', f'build("{TINY}")').replace("kimi-k2", TINY_MODEL)
        exec(code.replace("self_attn", "attention"), names)
    assert names["operations"]
    assert names["attention"]
    assert names["inside"]


def test_the_factory_is_built_with_its_sizes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(BLOCKS[-1], encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    atlas = openmodelatlas.build("mine:perceptron", home=tmp_path / "home")
    assert atlas.root.parameter_count == 2 * 64 * 256 + 64 + 256
    assert {"hidden_size", "intermediate_size"} <= set(atlas.document.sizes)


def test_every_argument_of_build_is_told() -> None:
    told = set(re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE))
    assert told == set(openmodelatlas.build.__annotations__) - {"source", "return"}
