"""Formulas set beside other work."""

from __future__ import annotations

from pathlib import Path

import pytest

from openmodelatlas.drawing import engine
from openmodelatlas.drawing.engine import Engine, available
from openmodelatlas.drawing.formulas import latex_of_mechanisms
from openmodelatlas.drawing.typesetter import Typesetter
from openmodelatlas.errors import DrawingError

needs_katex = pytest.mark.skipif(
    not available(), reason="KaTeX's file comes with the build hook, mini-racer with [capture]"
)


@needs_katex
def test_what_is_set_already_is_not_set_again(monkeypatch: pytest.MonkeyPatch) -> None:
    batches: list[list[str]] = []
    really = Engine._set

    def counted(self: Engine, latex: list[str]) -> list[tuple[str | None, str | None]]:
        batches.append(latex)
        return really(self, latex)

    monkeypatch.setattr(Engine, "_set", counted)
    known = next(latex_of_mechanisms())
    with Typesetter() as typesetter:
        typesetter.set(["q_1", r"\wrong"])
        formulas, notes = typesetter.set(["q_2", known, "q_1", r"\wrong"]).result()

    assert list(formulas) == ["q_2", known, "q_1", r"\wrong"]
    assert all("katex" in formulas[latex] for latex in ("q_1", "q_2", known))
    assert len(notes) == 1
    given = [latex for batch in batches for latex in batch]
    assert len(given) == len(set(given))
    assert batches[-2:] == [["q_1", r"\wrong"], ["q_2"]]


def test_a_missing_engine_is_told_where_there_are_formulas(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(engine, "KATEX", tmp_path / "katex.min.js")
    with Typesetter() as typesetter:
        assert typesetter.set([]).result() == ({}, [])
        with pytest.raises(DrawingError):
            typesetter.set(["x"]).result()
