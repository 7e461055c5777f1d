"""Displayed formulas in pieces that a narrow page can set on several lines."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmodelatlas.drawing.breaking import rows_of
from openmodelatlas.drawing.engine import Engine, available

ALIGNED = (
    r"\begin{aligned} {a}_{i} &= b, \quad c = [d = e] \\[0.4em] "
    r"f &= \begin{cases} 0 & x \\ 1 & y \end{cases} \end{aligned}"
)


def test_aligned_rows_are_set_by_themselves_clause_by_clause() -> None:
    assert rows_of(ALIGNED) == (
        (
            (r"\displaystyle {a}_{i}",),
            (r"\displaystyle {}=\nobreak  b,", r"\displaystyle c \allowbreak =\nobreak  [d =\nobreak  e]"),
        ),
        ((r"\displaystyle f",), (r"\displaystyle {}=\nobreak  \begin{cases} 0 & x \\ 1 & y \end{cases}",)),
    )


@pytest.mark.parametrize(
    ("latex", "clauses"),
    [
        ("x", ("x",)),
        (r"{a = b}", (r"{a = b}",)),
        (r"y = \frac{a = b}{c}", (r"y \allowbreak =\nobreak  \frac{a = b}{c}",)),
        (r"y = \left( a \le b \right)", (r"y \allowbreak =\nobreak  \left( a \le b \right)",)),
        (r"a = b, \qquad c", (r"a \allowbreak =\nobreak  b,", "c")),
    ],
)
def test_a_formula_may_break_before_its_own_relations(latex: str, clauses: tuple[str, ...]) -> None:
    assert rows_of(latex) == ((clauses,),)


@pytest.mark.parametrize("latex", [r"\begin{aligned} a &= b & c &= d \end{aligned}", r"\begin{aligned}\end{aligned}"])
def test_what_is_no_plain_alignment_stays_whole(latex: str) -> None:
    assert rows_of(latex) == (((latex,),),)


@given(st.text(alphabet=r"\{}&=ab ,[]()", max_size=40))
def test_any_latex_has_pieces_that_hold_all_of_it(latex: str) -> None:
    pieces = [clause for row in rows_of(latex) for cell in row for clause in cell]

    assert "".join(pieces).replace(r"\allowbreak", "").replace(r"\nobreak", "").replace(" ", "") == latex.replace(
        " ", ""
    )


@pytest.mark.skipif(not available(), reason="needs the embedded V8")
def test_the_pieces_can_be_set() -> None:
    with Engine() as engine:
        formulas, notes = engine.set(clause for row in rows_of(ALIGNED) for cell in row for clause in cell)

    assert not notes
    assert all('class="katex"' in html for html in formulas.values())
