"""``oma export --svg``: one diagram as a file, without a browser."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from tests.cli.conftest import TINY_MODEL, Oma
from tests.site.sample import build_sample


def test_a_diagram_is_written_as_svg_with_its_text(oma: Oma, tmp_path: Path) -> None:
    done = oma("export", "--svg", TINY_MODEL, "layers", "-o", str(tmp_path / "layers.svg"))

    assert done.returncode == 0, done.stderr
    root = ElementTree.fromstring((tmp_path / "layers.svg").read_text("utf-8"))
    words = {"".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")}
    assert "hidden_states" in words
    assert "[B, T, d]" in words or any(word.startswith("[B, T") for word in words)


def test_without_an_address_it_is_the_whole_model_on_standard_output(oma: Oma) -> None:
    done = oma("export", "--svg", TINY_MODEL)

    assert done.returncode == 0, done.stderr
    assert ElementTree.fromstring(done.stdout).tag == "{http://www.w3.org/2000/svg}svg"


def test_what_has_no_diagram_says_what_has(oma: Oma, tmp_path: Path) -> None:
    leaf = oma("export", "--svg", TINY_MODEL, "embedding")
    assert leaf.returncode == 2
    assert "nothing is inside" in leaf.stderr
    assert f"oma export --svg {TINY_MODEL}" in leaf.stderr

    many = oma("export", "--svg", TINY_MODEL, "layers", "norm")
    assert many.returncode == 2

    build_sample(tmp_path)
    undrawn = oma("export", "--svg", "sample", "layers", home=tmp_path)
    assert undrawn.returncode == 7
    assert "without diagrams" in undrawn.stderr

    nowhere = oma("export", TINY_MODEL)
    assert nowhere.returncode == 2
    assert "-o" in nowhere.stderr
