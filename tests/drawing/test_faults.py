"""What one diagram or formula does to the program costs that one."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from typing import Any

import pytest

from openmodelatlas.annotation.faults import STRICT
from openmodelatlas.annotation.knowledge import Knowledge
from openmodelatlas.drawing.draw import draw_levels
from openmodelatlas.drawing.engine import Engine, available
from openmodelatlas.drawing.level import Level
from tests.drawing.sample import decoder, knowledge

module = importlib.import_module("openmodelatlas.drawing.draw")  # the package has a function of this name
needs_katex = pytest.mark.skipif(
    not available(), reason="KaTeX's file comes with the build hook, mini-racer with [capture]"
)


def test_a_fault_costs_one_level(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(STRICT)
    right = draw_levels(decoder(), knowledge())
    read: Callable[[Any, Any], Level] = module.read_level

    def fails_once(flow: Any, node: Any) -> Level:
        if node.address == "block":
            raise RuntimeError("of this one")
        return read(flow, node)

    monkeypatch.setattr(module, "read_level", fails_once)
    notes: list[str] = []

    assert draw_levels(decoder(), knowledge(), notes) == {a: level for a, level in right.items() if a != "block"}
    (note,) = notes
    assert note.startswith("The level block is not drawn: a fault of openmodelatlas (RuntimeError: of this one")


def test_in_tests_it_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "read_flow", lambda *_: 1 / 0)

    with pytest.raises(ZeroDivisionError):
        draw_levels(decoder(), Knowledge())


@needs_katex
def test_a_formula_that_stalls_the_engine_costs_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    with Engine() as engine:
        call = engine._context.call

        def stalls(name: str, text: str, **rest: Any) -> Any:
            if "stall" in json.loads(text):
                raise TimeoutError
            return call(name, text, **rest)

        monkeypatch.setattr(engine._context, "call", stalls)
        formulas, notes = engine.set([f"x_{{{n}}}" for n in range(10)] + ["stall"])

    assert notes == ["Formula shown as text: stall: the engine failed (TimeoutError)"]
    assert all("katex" in formulas[f"x_{{{n}}}"] for n in range(10))


@needs_katex
def test_letters_of_any_language_are_set() -> None:
    with Engine() as engine:
        formulas, notes = engine.set([r"\mathtt{ñandú}", r"\mathrm{变量}_n", r"\mathtt{انتباه}", "ж", "αβγ"])

    assert notes == []
    assert all("katex" in made for made in formulas.values())


@needs_katex
@pytest.mark.parametrize("latex", ["\U0001f44d", "x\ud800y", "x\u202ey", "x\0"])
def test_whatever_is_refused_can_be_written(latex: str) -> None:
    with Engine() as engine:
        formulas, notes = engine.set([latex])

    assert formulas[latex].encode()
    assert notes[0].encode()
