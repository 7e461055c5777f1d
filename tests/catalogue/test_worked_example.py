"""The example of ``docs/adding-a-mechanism.md``: one data file and one function add a mechanism."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from tests.annotation.mechanisms.programs import material

from openmodelatlas.annotation.material import Draft, Drafts
from openmodelatlas.annotation.mechanisms.attach import attach
from openmodelatlas.catalogue.load import Catalogue, load

DOCUMENTATION = Path(__file__).parents[2] / "docs" / "adding-a-mechanism.md"

PROGRAM = """
    x = given(2, 5, 7)
    w = parameter(7, 7)
    factor = parameter(7)
    u = linear(x, w)
    scaled = mul(u, factor)
    y = add(x, scaled)
"""


@pytest.fixture
def catalogue(tmp_path: Path) -> Catalogue:
    """A catalogue with nothing but the two files that the documentation shows."""
    text = DOCUMENTATION.read_text("utf-8")
    (entry,) = re.findall(r"^````markdown\n(.*?)^````$", text, flags=re.MULTILINE | re.DOTALL)
    (function,) = re.findall(r"^```python\n(.*?)^```$", text, flags=re.MULTILINE | re.DOTALL)
    for folder, name, content in (("mechanisms", "layer-scale.md", entry), ("references", "layer_scale.py", function)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(content, "utf-8")
    return load(tmp_path)


def test_the_catalogue_lacks_it() -> None:
    assert "layer-scale" not in load().mechanisms


def test_its_example_gives_the_numbers_that_it_shows(catalogue: Catalogue) -> None:
    example = catalogue.mechanisms["layer-scale"].front.example
    given = catalogue.reference("layer-scale")(**{name: np.array(value) for name, value in example.inputs.items()})
    np.testing.assert_allclose(given, example.outputs["y"])


def test_it_is_found_and_attached(catalogue: Catalogue) -> None:
    made = material(PROGRAM)
    drafts = Drafts(nodes={address: Draft() for address in made.document.nodes})
    findings = attach(made, drafts, catalogue)
    (place,) = findings.places["layer-scale"]
    assert place.error is not None
    assert place.error < 1e-6
    block = drafts.nodes["block"]
    assert "layer-scale" in (block.mechanism, *block.mechanisms)
    assert r"\htmlData{light=layer-scale-factor}{\lambda}" in block.formulas[0].latex
    assert block.formulas[0].check.verdict == "checked"
    assert any(said.text.startswith(r"$\lambda$: One factor a feature") for said in block.explanation)


@pytest.mark.parametrize(
    "change",
    [
        ("scaled = mul(u, factor)\n    y = add(x, scaled)", "added = add(x, u)\n    y = mul(added, factor)"),
        ("u = linear(x, w)", "u = tanh(x)"),
        ("y = add(x, scaled)", "y = sub(x, scaled)"),
    ],
)
def test_other_code_is_not_called_so(catalogue: Catalogue, change: tuple[str, str]) -> None:
    assert change[0] in PROGRAM
    made = material(PROGRAM.replace(*change))
    drafts = Drafts(nodes={address: Draft() for address in made.document.nodes})
    assert not attach(made, drafts, catalogue).places["layer-scale"]
