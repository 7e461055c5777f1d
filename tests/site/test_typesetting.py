"""Formulas by themselves: in cells and clauses where they were set so, whole where they were not."""

from __future__ import annotations

import re

from openmodelatlas.drawing.breaking import rows_of
from openmodelatlas.site.typesetting import Typesetter

ALIGNED = r"\begin{aligned} a &= b, \quad c = d \\ e &= f \end{aligned}"


def _set(latex: str) -> str:
    return f'<span class="katex">{latex}</span>'


def test_aligned_rows_are_two_cells_each() -> None:
    clauses = [clause for row in rows_of(ALIGNED) for cell in row for clause in cell]
    shown = Typesetter({each: _set(each) for each in clauses}).math(ALIGNED, block=True)

    assert shown.startswith('<div class="formula rows" tabindex="0">')
    assert shown.count("<div>") == 4
    assert shown.count('<span class="clause">') == 2
    assert re.findall(r'class="katex">(.*?)</span>', shown) == clauses


def test_a_formula_with_an_unset_clause_is_shown_whole() -> None:
    (first, *_), *_ = rows_of(ALIGNED)
    shown = Typesetter({first[0]: _set("a"), ALIGNED: _set("all")}).math(ALIGNED, block=True)

    assert shown == f'<div class="formula" tabindex="0">{_set("all")}</div>'
    assert Typesetter({}).math("x_1", block=True) == (
        '<div class="formula" tabindex="0"><code class="latex">x_1</code></div>'
    )
