r"""Displayed formulas in pieces that a narrow page can set on several lines.

KaTeX sets ``aligned`` as one piece, which is cut or scrolls where it is wider than the page. Its rows are set by
themselves, left and right of the alignment, and each may break before a relation and behind ``,\quad``.
"""

from __future__ import annotations

import re
from functools import lru_cache

Rows = tuple[tuple[tuple[str, ...], ...], ...]
"""LaTeX to set: of each row the cells (one, or those before and behind the alignment), of each cell the clauses."""

_TOKEN = re.compile(r"\\[A-Za-z]+\s?|\\.|.", re.DOTALL)
_ALIGNED = re.compile(r"\s*\\begin\{(aligned|gathered)\}(.*)\\end\{\1\}\s*", re.DOTALL)
_GAP = re.compile(r"\s*\[-?[\d.]+(?:pt|em|ex|mm)\]")
_RELATIONS = frozenset(
    {"=", "<", ">", r"\le", r"\leq", r"\lt", r"\ge", r"\geq", r"\gt", r"\ne", r"\neq", r"\in", r"\approx", r"\equiv"}
    | {r"\leftarrow", r"\rightarrow", r"\to", r"\gets", r"\mapsto", r"\sim", r"\propto"}
)
_OPENING = frozenset({"{", r"\left", r"\begin"})
_CLOSING = frozenset({"}", r"\right", r"\end"})


@lru_cache(maxsize=4096)
def rows_of(latex: str) -> Rows:
    """The cells of a displayed formula; the formula itself where it has nowhere to break."""
    aligned = _ALIGNED.fullmatch(latex)
    if aligned is None or r"\begin{aligned}" in aligned[2]:
        return ((_clauses(latex),),)
    rows: list[tuple[tuple[str, ...], ...]] = []
    for row in _split(aligned[2], r"\\"):
        cells = _split(_GAP.sub("", row, count=1) if rows else row, "&")
        if len(cells) > 2:
            return (((latex,),),)
        if row.strip():
            rows.append(tuple(_cell(cell, behind=place == 1) for place, cell in enumerate(cells)))
    return tuple(rows) if rows else (((latex,),),)


def _cell(latex: str, *, behind: bool) -> tuple[str, ...]:
    clauses = _clauses(latex)
    starts = ["{}" if behind else "", *[""] * len(clauses)]
    return tuple(rf"\displaystyle {start}{clause}" for start, clause in zip(starts, clauses, strict=False))


def _clauses(latex: str) -> tuple[str, ...]:
    parts = [part.strip() for half in _split(latex, r"\quad") for part in _split(half, r"\qquad")]
    return tuple(_with_breaks(part) for part in parts if part)


def _split(latex: str, sign: str) -> list[str]:
    """The parts between ``sign``, but not within groups and environments."""
    if sign not in latex:
        return [latex]
    parts = [""]
    depth = 0
    for token in _TOKEN.findall(latex):
        depth += (token.rstrip() in _OPENING) - (token.rstrip() in _CLOSING)
        if depth == 0 and token.rstrip() == sign:
            parts.append("")
        else:
            parts[-1] += token
    return parts


def _with_breaks(latex: str) -> str:
    """The formula with leave to break, which KaTeX takes within no group and by itself gives behind relations."""
    made: list[str] = []
    groups = brackets = 0
    for token in _TOKEN.findall(latex):
        name = token.rstrip() or token
        groups += (name in _OPENING) - (name in _CLOSING)
        if groups == 0:
            brackets = max(0, brackets + (name in ("(", "[")) - (name in (")", "]")))
            if name in _RELATIONS:
                if not brackets and "".join(made).strip():
                    made.append(r"\allowbreak ")
                made.append(rf"{name}\nobreak ")
                continue
        made.append(token)
    return "".join(made).strip()
