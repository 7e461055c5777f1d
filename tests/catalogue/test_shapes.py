"""Formulas, named shapes and functions of the catalogue say the same sizes: an index range is as long as its result."""

from __future__ import annotations

import re

import numpy as np
import pytest

from openmodelatlas.catalogue.entry import Mechanism
from openmodelatlas.catalogue.load import fill_formula, load, without_unbound

MECHANISMS = list(load().mechanisms.values())
RANGE = re.compile(r"_\{([^{}]*)\\ldots([^{}]*)\}")
RANGED = [mechanism for mechanism in MECHANISMS if RANGE.search(mechanism.front.formula)]
LETTER = re.compile(r"[A-Za-z]\w*")


def _value(expression: str, sizes: dict[str, int]) -> int | None:
    """A named size such as ``W - 1``, ``H (N + R)`` or ``2 I``; ``None`` where a name is not known."""
    text = re.sub(r"(?<=[\w)]) +(?=[\w(])", "*", expression.strip())
    if any(name not in sizes for name in LETTER.findall(text)):
        return None
    if not re.fullmatch(r"[\w\s+\-*/()]+", text):
        return None
    return int(eval(text, {"__builtins__": {}}, dict(sizes)))


def _arrays(mechanism: Mechanism) -> dict[str, np.ndarray]:
    example = {**mechanism.front.example.inputs, **mechanism.front.example.outputs}
    return {
        name: np.array(value)
        for name, value in example.items()
        if mechanism.front.symbols[name].shape and isinstance(value, list)
    }


def _named(mechanism: Mechanism) -> list[tuple[str, str, int]]:
    """Symbol, named size and true size of every axis of the example; leading axes may be left out in an example."""
    found = []
    for name, array in _arrays(mechanism).items():
        shape = [str(size) for size in mechanism.front.symbols[name].shape if size != "..."]
        found += [(name, size, true) for size, true in zip(reversed(shape), reversed(array.shape), strict=False)]
    return found


def _sizes(mechanism: Mechanism) -> dict[str, int]:
    sizes: dict[str, int] = {}
    for _, size, true in _named(mechanism):
        if LETTER.fullmatch(size):
            sizes.setdefault(size, true)
    return sizes


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.id)
def test_shapes_are_those_of_the_example(mechanism: Mechanism) -> None:
    sizes = _sizes(mechanism)
    for name, size, true in _named(mechanism):
        value = _value(size, sizes)
        assert value in (None, true), f"{name}: {size} is {value} where other symbols have their sizes, here {true}"


@pytest.mark.parametrize("mechanism", RANGED, ids=lambda mechanism: mechanism.id)
def test_index_ranges_are_as_long_as_the_result(mechanism: Mechanism) -> None:
    """Of the formula as it is set for the example: what it binds decides which optional parts hold."""
    sizes = _sizes(mechanism)
    symbols = mechanism.front.symbols
    bound = {name for name, symbol in symbols.items() if symbol.binds == "index"}
    bound |= set(mechanism.front.example.inputs) | set(mechanism.front.example.outputs)
    sizes |= {
        symbols[name].latex: int(value)
        for name, value in mechanism.front.example.inputs.items()
        if symbols[name].binds in ("number", "setting") and LETTER.fullmatch(symbols[name].latex)
    }
    formula = fill_formula(without_unbound(mechanism.front.formula, bound), lambda name: symbols[name].latex)
    arrays = _arrays(mechanism)
    results = {size for name in mechanism.outputs for size in arrays[name].shape}
    for match in RANGE.finditer(formula):
        first, last = (re.sub(r"\\,|,", " ", part).strip() for part in match.groups())
        start, end = _value(first, sizes), _value(last, sizes)
        assert start is not None, f"{first} is not known"
        assert end is not None, f"{last} is not known"
        assert end - start + 1 in results, f"{match[0]} has {end - start + 1} elements, the result {results}"


def test_there_are_ranges_to_check() -> None:
    assert {mechanism.id for mechanism in RANGED} >= {"convolution-cache", "window-cache"}
