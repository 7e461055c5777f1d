"""What formulas of mechanisms say of numbers that stand for yes and no, for nothing, and for the end of a type."""

from __future__ import annotations

import pytest
from tests.annotation.mechanisms.programs import material
from tests.annotation.mechanisms.written import PROGRAMS

from openmodelatlas.annotation.material import Draft, Drafts
from openmodelatlas.annotation.mechanisms.attach import attach, note_text
from openmodelatlas.annotation.mechanisms.flow import Operand
from openmodelatlas.annotation.mechanisms.terms import formula_at
from openmodelatlas.catalogue.entry import Note
from openmodelatlas.catalogue.load import load


@pytest.mark.parametrize(
    ("value", "so"), [(None, False), (False, False), (True, True), (0.0, True), (0, True), (2, True)]
)
def test_a_number_stands_for_something_unless_it_says_no(value: object, so: bool) -> None:
    attention = load().mechanisms["scaled-dot-product-attention"]
    bound = {name: Operand(tensor=name) for name in ("o", "q", "k", "v")} | {"scale": Operand(None, number=value)}
    assert ("<scale>" in formula_at(attention, bound)) == so


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-65504.0, "Later positions get -65504, the lowest number of float16, which is finite."),
        (-1e9, r"Later positions get $-1 \cdot 10^{9}$, which is finite."),
    ],
)
def test_the_lowest_number_of_a_type_is_called_so(value: float, text: str) -> None:
    note = Note(text="Later positions get {hidden}, which is finite.")
    assert note_text(note, {"hidden": Operand(None, number=value)}, {}, frozenset()) == text


def test_mechanisms_of_one_node_stand_in_the_order_of_the_flow() -> None:
    """``swiglu`` runs before ``logit-soft-cap``, which comes first in the alphabet."""
    network = PROGRAMS["swiglu"].strip().splitlines()
    last = network[-1].split("=")[0].strip()
    cap = [f"    small = div({last}, 30.0)", "    bent = tanh(small)", "    capped = mul(bent, 30.0)"]
    made = material("\n".join([*network, *cap]))
    drafts = Drafts(nodes={address: Draft() for address in made.document.nodes})
    findings = attach(made, drafts, load())
    assert findings.places["swiglu"]
    assert findings.places["logit-soft-cap"]
    block = drafts.nodes["block"]
    said = [formula.mechanism for formula in block.formulas if formula.mechanism in ("swiglu", "logit-soft-cap")]
    assert said == ["swiglu", "logit-soft-cap"]
    assert [each for each in (block.mechanism, *block.mechanisms) if each in said] == said
