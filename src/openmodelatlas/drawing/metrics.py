"""Widths of text in the fonts that diagrams ask for.

Diagrams are set in Helvetica, Arial, Liberation Sans or Nimbus Sans, which have the same widths by design, and names of
the code in a monospaced font whose characters are at most as wide as those of DejaVu Sans Mono. The table holds the
advance widths of Liberation Sans 2.1 in thousandths of the font size, read from its ``hmtx`` table.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import lru_cache

from openmodelatlas.drawing.drawing import Run

SMALL = 0.74
"""Size of sub- and superscripts, relative to the line; but they are never under ``LEAST`` pixels."""

LEAST = 11.0

MARGIN = 1.03
"""Room that a text gets, relative to its measured width: fonts differ a little, and browsers round."""

_MONOSPACED = 0.602
_WIDE = 1.0
_ACCENT = 0.1  # the letter below may come from another font that has both

_REGULAR = (
    "278 278 355 556 556 889 667 191 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 "
    "278 278 584 584 584 556 1015 667 667 722 722 667 611 778 722 278 500 667 556 833 722 778 667 778 722 667 "
    "611 722 667 944 667 667 611 278 278 278 469 556 333 556 556 500 556 556 278 556 556 222 222 500 222 833 "
    "556 556 556 556 333 500 278 556 500 722 500 500 500 334 260 334 584"
)
_BOLD = (
    "278 333 474 556 556 889 722 238 333 333 389 584 278 333 278 278 556 556 556 556 556 556 556 556 556 556 "
    "333 333 584 584 584 611 975 722 722 722 722 667 611 778 722 278 556 722 611 833 722 778 667 778 722 667 "
    "611 722 667 944 667 667 611 333 278 333 584 556 333 556 611 556 611 556 333 611 611 278 278 556 278 889 "
    "611 611 611 611 389 556 333 611 556 778 556 556 500 389 280 389 584"
)


def _table(text: str) -> dict[str, float]:
    return {chr(32 + index): int(width) / 1000 for index, width in enumerate(text.split())}


_WIDTHS = {False: _table(_REGULAR), True: _table(_BOLD)}
_OTHERS = {
    "\u200a": 0.14,
    "·": 0.333,
    "×": 0.584,
    "−": 0.584,
    "′": 0.25,
    "⌊": 0.4,
    "⌋": 0.4,
    "⌈": 0.4,
    "⌉": 0.4,
    "ι": 0.28,
    "Ι": 0.28,
}


@lru_cache(maxsize=8192)
def plain_width(text: str, *, bold: bool = False, code: bool = False) -> float:
    """Width of ``text`` in units of the font size."""
    table = _WIDTHS[bold]
    total = 0.0
    for character in text:
        if ord(character) >= 0x300 and unicodedata.category(character) in ("Mn", "Me", "Cf"):
            total += _ACCENT
            continue
        known = table.get(character)
        if code:
            total += _MONOSPACED if known is not None or ord(character) < 0x2E80 else _WIDE
        elif known is not None:
            total += known
        else:
            total += _OTHERS.get(character, _other(character))
    return total


def _other(character: str) -> float:
    """An upper bound for letters beyond ASCII: the widest Greek and Latin ones are 0.85, most are under 0.67."""
    if unicodedata.east_asian_width(character) in ("W", "F") or ord(character) >= 0x2190:
        return _WIDE
    return 0.7 if character.islower() else 0.85


def runs_width(runs: Iterable[Run], size: float, *, bold: bool = False) -> float:
    """Width in pixels of a line at font size ``size``, with the margin."""
    total = 0.0
    for run in runs:
        total += run_size(run, size) * plain_width(run.text, bold=bold, code=run.style == "code")
    return total * MARGIN


def run_size(run: Run, size: float) -> float:
    """Font size of a run in a line of font size ``size``, in pixels."""
    return max(LEAST, round(size * SMALL, 1)) if run.level else size
