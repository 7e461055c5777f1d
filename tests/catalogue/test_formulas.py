"""Formulas say all that is bound: no input, parameter, number or setting changes a result without standing there."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from openmodelatlas.catalogue.entry import Mechanism
from openmodelatlas.catalogue.load import (
    ROOT,
    deciding,
    formula_for,
    formula_symbols,
    load,
    read_entry,
    usual_formula,
    without_unbound,
)
from openmodelatlas.catalogue.pattern import Either, Expression, Name, walk
from openmodelatlas.errors import CatalogueError

MECHANISMS = list(load().mechanisms.values())


def _unsure(expression: Expression) -> set[str]:
    """Names that a pattern binds in one of several choices only."""
    choices = [part for part in walk(expression) if isinstance(part, Either)]
    return {
        part.name
        for either in choices
        for choice in either.choices
        for part in walk(choice)
        if isinstance(part, Name) and not all(part in walk(other) for other in either.choices)
    }


def _bindings(mechanism: Mechanism) -> Iterator[set[str]]:
    """What each pattern binds: all of it, and all but each thing that may be missing there."""
    symbols = mechanism.front.symbols
    settings = {name for name, symbol in symbols.items() if symbol.binds == "setting"}
    for pattern in mechanism.patterns:
        bound = (pattern.names() & symbols.keys()) | settings
        unsure = {name for equation in pattern.equations for name in _unsure(equation.expression)} | settings
        yield bound
        for name in sorted(unsure & bound):
            if symbols[name].optional:
                yield bound - {name}


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.id)
def test_the_formula_says_all_that_is_bound_and_nothing_else(mechanism: Mechanism) -> None:
    symbols, decides = mechanism.front.symbols, deciding(mechanism.front.formula)
    notation = {name for name, symbol in symbols.items() if symbol.binds == "index"}
    for bound in _bindings(mechanism):
        formula = formula_for(mechanism, dict.fromkeys(bound, True))
        said = set(formula_symbols(formula))
        unsaid = {
            name
            for name in bound - said
            if symbols[name].silent is None and not (name in decides and symbols[name].binds in ("number", "setting"))
        }
        assert not unsaid, f"{sorted(unsaid)} bound, and not in {formula}"
        without = {name for name in said - bound - notation if symbols[name].optional}
        assert not without, f"{sorted(without)} not bound, and in {formula}"


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.id)
def test_every_form_of_the_formula_is_whole(mechanism: Mechanism) -> None:
    for bound in _bindings(mechanism):
        formula = formula_for(mechanism, dict.fromkeys(bound, True))
        bare = re.sub(r"\\[{}]", "", formula)
        assert bare.count("{") == bare.count("}"), formula
        for opens, closes in ((r"\left", r"\right"), (r"\begin", r"\end")):
            count = [len(re.findall(rf"{re.escape(sign)}(?![a-zA-Z])", formula)) for sign in (opens, closes)]
            assert count[0] == count[1], formula
        assert not re.search(r"\[\[|\]\]\||[?!]\w+\|", formula), formula
        assert not re.search(r"=\s*(\\\\|,|\\quad|\\end|$)", formula), f"a side is empty: {formula}"
        assert not re.search(r"(\\\\|aligned\})\s*&?\s*=", formula), f"a side is empty: {formula}"


RMS_NORM = (ROOT / "mechanisms" / "rms-norm.md").read_text("utf-8")


def test_a_symbol_that_the_formula_does_not_say_is_refused() -> None:
    forgotten = RMS_NORM.replace("(<g>_{<i>} + <offset>) \\,", "<g>_{<i>}").replace("[[!offset|<g>_{<i>} \\,]]", "")
    with pytest.raises(CatalogueError, match="its formula does not say offset"):
        read_entry(forgotten, "mechanisms/rms-norm.md")
    reason = "binds: number, optional: true, silent: for the sake of this test}"
    assert read_entry(forgotten.replace("binds: number, optional: true}", reason), "mechanisms/rms-norm.md")
    with pytest.raises(CatalogueError, match="offset is silent, and its formula says it"):
        read_entry(RMS_NORM.replace("binds: number, optional: true}", reason), "mechanisms/rms-norm.md")


@pytest.mark.parametrize(
    ("formula", "bound", "expected"),
    [
        ("a[[?x!y|b]]", {"x"}, "ab"),
        ("a[[?x!y|b]]", {"x", "y"}, "a"),
        ("a[[?x!y|b]]", set(), "a"),
        ("[[?x|[<x>]]]c", {"x"}, "[<x>]c"),
        ("[[ <x>]][[!x|z]]", set(), "z"),
    ],
)
def test_parts_hold_where_all_their_conditions_do(formula: str, bound: set[str], expected: str) -> None:
    assert without_unbound(formula, bound) == expected


def test_a_number_that_says_no_is_as_if_it_were_not_bound() -> None:
    attention = load().mechanisms["scaled-dot-product-attention"]
    bound = dict.fromkeys(("o", "q", "k", "v", "upright"), True)
    assert r"\begin{cases}" in formula_for(attention, {**bound, "causal": True})
    assert r"\begin{cases}" not in formula_for(attention, {**bound, "causal": False})
    yarn = load().mechanisms["yarn"]
    assert r"\lfloor" in formula_for(yarn, {})
    assert r"\lfloor" not in formula_for(yarn, {"truncate": False})


def test_the_usual_formula_is_that_of_the_first_pattern() -> None:
    latent = load().mechanisms["multi-head-latent-attention"]
    assert {"cos", "sin", "mask", "Q_A"} <= set(formula_symbols(usual_formula(latent)))
    assert not {"G", "seen", "lowest"} & set(formula_symbols(usual_formula(latent)))
