"""Titles and notes that are longer than their box: on two lines, or without words in the middle."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from openmodelatlas.drawing.drawing import Run
from openmodelatlas.drawing.lettering import halves_of, joined, text_of, text_runs
from openmodelatlas.drawing.metrics import runs_width
from openmodelatlas.drawing.pieces import TITLE, Line, line

MOST_TITLE = 190.0
"""Width of a title beyond which it goes on in a second line."""

MOST_TITLE_LINE = 226.0
"""Width of each line of a title that takes two."""

_OMITTED = (Run("… "),)
"""Stands for words within a title."""


@lru_cache(maxsize=4096)
def two_lines(title: str) -> Mapping[str, Line]:
    """A title on one line or two; a longer one loses words before its last ones, which tell it from others."""
    runs = text_runs(title)
    whole = line(runs, TITLE, bold=True)
    if whole.width <= MOST_TITLE:
        return {"title": whole}
    halves = [(line(a, TITLE, bold=True), line(b, TITLE, bold=True)) for a, b in halves_of(runs)]
    evenly = min(halves, key=_wider, default=None)
    if evenly is not None and _wider(evenly) <= MOST_TITLE_LINE:
        return {"title": evenly[0], "title_end": evenly[1]}
    starts = [first for first, _ in halves if first.width <= MOST_TITLE_LINE]
    ends = [end for _, end in halves if end.width <= MOST_TITLE_LINE - runs_width(_OMITTED, TITLE, bold=True)]
    if not starts or not ends:  # words that are wider than a line
        return {"title": line(runs, TITLE, bold=True, most=MOST_TITLE)}
    first, second = starts[-1], line(joined([*_OMITTED, *ends[0].runs]), TITLE, bold=True)
    first = Line(first.runs, first.size, first.width, full=text_of(runs))
    return {"title": first, "title_end": second}


def within(text: str, size: float, most: float) -> Line:
    """A text on one line; a wider one loses words in its middle, since the last ones tell it from others."""
    whole = line([Run(text)], size)
    if whole.width <= most:
        return whole
    blanks = [place for place, sign in enumerate(text) if sign == " "]
    ends = [text[place:] for place in blanks if runs_width([Run(text[place:])], size) <= most / 2]
    if not ends:
        return line([Run(text)], size, most=most)
    rest = f" …{ends[0]}"
    starts = [text[:place] for place in blanks if runs_width([Run(text[:place] + rest)], size) <= most]
    if not starts:
        return line([Run(text)], size, most=most)
    made = line([Run(starts[-1] + rest)], size)
    return Line(made.runs, made.size, made.width, full=text)


def _wider(pair: tuple[Line, Line]) -> float:
    return max(each.width for each in pair)
