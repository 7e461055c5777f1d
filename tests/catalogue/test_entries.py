"""Every entry of the catalogue: it decodes, its example gives the numbers it shows, its function takes its symbols."""

from __future__ import annotations

import inspect
from pathlib import Path

import msgspec
import numpy as np
import pytest

from openmodelatlas.catalogue import entry
from openmodelatlas.catalogue.entry import Mechanism
from openmodelatlas.catalogue.load import ROOT, load, read_entry
from openmodelatlas.errors import CatalogueError

CATALOGUE = load()
MECHANISMS = list(CATALOGUE.mechanisms.values())
RMS_NORM = (ROOT / "mechanisms" / "rms-norm.md").read_text("utf-8")


def _argument(mechanism: Mechanism, name: str, value: object) -> object:
    """An example's value as evaluation would give it: arrays for tensors, Python values for numbers."""
    if mechanism.front.symbols[name].binds == "number":
        return value
    found = np.array(value)
    return found.astype(np.float64) if found.dtype.kind == "f" else found


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.id)
def test_the_example_gives_the_numbers_that_it_shows(mechanism: Mechanism) -> None:
    example = mechanism.front.example
    arguments = {name: _argument(mechanism, name, value) for name, value in example.inputs.items()}
    given = CATALOGUE.reference(mechanism.id)(**arguments)
    results = given if isinstance(given, tuple) else (given,)
    assert len(results) == len(mechanism.outputs)
    for name, result in zip(mechanism.outputs, results, strict=True):
        np.testing.assert_allclose(np.asarray(result), np.array(example.outputs[name]), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.id)
def test_the_function_takes_the_symbols_and_no_others(mechanism: Mechanism) -> None:
    parameters = inspect.signature(CATALOGUE.reference(mechanism.id)).parameters
    assert set(parameters) == set(mechanism.arguments)
    for name, parameter in parameters.items():
        if mechanism.front.symbols[name].optional:
            assert parameter.default is not inspect.Parameter.empty, f"{name} is optional and has no default"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("title: RMSNorm", "titel: RMSNorm"), "unknown field `titel`"),
        (("family: norm", "family: norms"), "Invalid enum value 'norms'"),
        (("<eps>}}", "<epsilon>}}"), "its formula names epsilon, which no symbol has"),
        (("- <eps>:", "- <epsilon>:"), "its notes names epsilon"),
        (("inverse_root(add(mean(square(x)), eps))", "inverse_root(mean(square(x)))"), "a pattern does not bind eps"),
        (
            ("y = rms_norm(x, _, g, eps)", "y = rms_norm(x, _, g, eps"),
            "',' is expected before 'the end'",
        ),
        (("## Why", "## Reasons"), "it has a section 'Reasons'"),
        (("inputs: {x:", "inputs: {z:"), "its example names z"),
        (("outputs: {y:", "outputs: {z:"), "its example does not give every output"),
        (("---\nid:", "id:"), "it has no front matter"),
    ],
)
def test_a_fault_is_named(change: tuple[str, str], message: str) -> None:
    assert change[0] in RMS_NORM
    with pytest.raises(CatalogueError) as caught:
        read_entry(RMS_NORM.replace(*change), "mechanisms/rms-norm.md")
    assert message in str(caught.value)
    assert "mechanisms/rms-norm.md" in str(caught.value)


def test_entries_that_build_on_each_other_in_a_circle_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "mechanisms"
    folder.mkdir()
    pattern = "    - y = rms_norm(x, _, g, eps)\n"
    for name, other in (("one", "two"), ("two", "one")):
        text = RMS_NORM.replace("id: rms-norm", f"id: {name}").replace(
            pattern, f"    - y = @{other}(x=x, g=g, eps=eps)\n"
        )
        (folder / f"{name}.md").write_text(text, "utf-8")
    with pytest.raises(CatalogueError, match="builds on itself: one → two → one"):
        load(tmp_path)


def test_an_entry_needs_its_function(tmp_path: Path) -> None:
    (tmp_path / "mechanisms").mkdir()
    (tmp_path / "references").mkdir()
    (tmp_path / "mechanisms" / "rms-norm.md").write_text(RMS_NORM, "utf-8")
    with pytest.raises(CatalogueError, match=r"norms\.py does not exist"):
        load(tmp_path).reference("rms-norm")
    (tmp_path / "references" / "norms.py").write_text("", "utf-8")
    with pytest.raises(CatalogueError, match=r"norms\.py has no function rms_norm"):
        load(tmp_path).reference("rms-norm")


def test_front_matter_survives_json() -> None:
    for mechanism in MECHANISMS:
        encoded = msgspec.json.encode(mechanism.front)
        assert msgspec.json.decode(encoded, type=entry.FrontMatter) == mechanism.front
