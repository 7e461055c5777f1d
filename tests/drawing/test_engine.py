"""Formulas set by KaTeX in the embedded V8."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from openmodelatlas.annotation.knowledge import Formula, FormulaCheck, Knowledge, NodeKnowledge, Statement, Term
from openmodelatlas.annotation.markup import without_marks
from openmodelatlas.drawing import engine as module
from openmodelatlas.drawing.draw import draw
from openmodelatlas.drawing.engine import Engine, available
from openmodelatlas.drawing.formulas import displayed, every_latex, in_text
from openmodelatlas.errors import DrawingError
from tests.drawing.sample import decoder

ADD = r"{\htmlData{light=residual attention-add}{s'_n}}={\htmlData{light=carried}{\bar{s}_n}}"
needs_katex = pytest.mark.skipif(
    not available(), reason="KaTeX's file comes with the build hook, mini-racer with [capture]"
)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with Engine() as made:
        yield made


def one(engine: Engine, latex: str) -> tuple[str, list[str]]:
    formulas, notes = engine.set([latex])
    return formulas[latex], notes


@needs_katex
def test_terms_can_be_lit_and_read_aloud(engine: Engine) -> None:
    html, notes = one(engine, ADD)

    assert 'data-light="residual attention-add"' in html
    assert "<math" in html
    assert notes == []


HOSTILE = (
    r"\href{javascript:alert(1)}{x}",
    r"\url{http://example.org}",
    r"\includegraphics{http://example.org/a.png}",
    r"\htmlData{onclick=alert(1)}{x}",
    r"\htmlData{light=a, href=b}{x}",
    r'\htmlData{light="><script>}{x}',
    r"\htmlClass{lit}{x}",
    r"\htmlId{panel}{x}",
    r"\htmlStyle{position:fixed}{x}",
    r"\unknown{x}",
    r"\frac{a",
    r"\def\a{\a\a}\a",
    r"</span><script>alert(1)</script>\x",
    "x" * 5000,
)


@needs_katex
@pytest.mark.parametrize("latex", HOSTILE)
def test_what_is_no_mathematics_is_shown_as_text_with_a_note(engine: Engine, latex: str) -> None:
    html, notes = one(engine, latex)

    assert html.startswith('<span class="latex">')
    assert "<script" not in html
    assert html.count("<") == 2
    assert len(notes) == 1


@needs_katex
def test_macros_of_one_formula_do_not_reach_the_next(engine: Engine) -> None:
    formulas, notes = engine.set([r"\gdef\mine{x}\mine", r"\mine"])

    assert formulas[r"\mine"].startswith('<span class="latex">')
    assert len(notes) == 1


@needs_katex
def test_large_sizes_are_bounded(engine: Engine) -> None:
    html, _ = one(engine, r"\rule{9999em}{9999em}")

    assert "9999em" not in html.partition("</math>")[2]


@needs_katex
def test_hundreds_of_formulas_take_a_few_seconds_at_most(engine: Engine) -> None:
    start = time.perf_counter()
    engine.set([rf"\sum_{{i={number}}}^n \frac{{x_i}}{{y_{{i+1}}}}" for number in range(300)])

    assert time.perf_counter() - start < 10


def test_a_missing_engine_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(module, "KATEX", tmp_path / "katex.min.js")

    with pytest.raises(DrawingError) as raised:
        Engine()
    assert raised.value.advice


def known() -> Knowledge:
    check = FormulaCheck(verdict="checked", error=0.0, detail="compared $y$")
    term = Term(id="residual", latex="s'_n", meaning="the stream $r$")
    formula = Formula(latex=ADD, terms=(term,), check=check)
    node = NodeKnowledge(
        sentence="Adds $\\Delta$ for $5 and `$code$`.",
        symbols={"t": r"x_{n+1}"},
        formulas=(formula,),
        explanation=(Statement(text="Here $a=b$."),),
    )
    return Knowledge(nodes={"block/add": node}, notes=("All of $V$.",))


def test_every_piece_of_latex_is_found() -> None:
    assert set(every_latex(known())) == {
        *displayed(ADD), without_marks(ADD), "s'_n", r"x_{n+1}", r"\Delta", "a=b", "V", "y", "r",
    }  # fmt: skip


def test_dollar_signs_in_texts() -> None:
    assert list(in_text(r"$a$ and `$b$`, 5 $ or 6 $, $d_1$.")) == ["a", "d_1"]


@needs_katex
def test_drawings_have_levels_and_formulas() -> None:
    drawings = draw(decoder(), known())

    assert set(drawings.formulas) == set(every_latex(known()))
    assert "block" in drawings.levels
    assert drawings.notes == ()


@needs_katex
def test_formulas_are_set_where_an_event_loop_runs() -> None:
    async def notebook() -> dict[str, str]:
        with Engine() as made:
            return made.set([ADD])[0]

    assert "katex" in asyncio.run(notebook())[ADD]
