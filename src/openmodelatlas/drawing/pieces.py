"""Boxes, labels and knots of a level with their texts, sized but without positions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from openmodelatlas.drawing.drawing import Axis, DrawnText, Run
from openmodelatlas.drawing.metrics import runs_width

TITLE = 13.0
BODY = 12.0
CODE = 11.5

_LINE = 1.28
"""Height of a line, relative to the font size."""

_ELLIPSIS = "…"


@dataclass(frozen=True)
class Line:
    """A line of text that is measured, but not placed.

    Attributes:
        runs: its pieces.
        size: font size in pixels.
        width: in pixels, with room for what it may change into.
        full: what it was before it was cut, else ``None``.
        latex, tensor, axes: as in :class:`DrawnText`.
    """

    runs: tuple[Run, ...]
    size: float
    width: float
    full: str | None = None
    latex: str | None = None
    tensor: str | None = None
    axes: tuple[Axis, ...] = ()

    @cached_property
    def height(self) -> float:
        """Height of the line in pixels."""
        return round(self.size * _LINE, 1)

    def at(self, x: float, y: float, *, middle: bool = False) -> DrawnText:
        """The text with its box's upper left corner (``middle``: the middle of its upper side) at ``x``, ``y``."""
        return DrawnText(
            text="".join(run.text for run in self.runs),
            runs=self.runs,
            x=round(x - self.width / 2 if middle else x, 2),
            y=round(y, 2),
            width=round(self.width, 2),
            height=self.height,
            size=self.size,
            full=self.full,
            middle=middle,
            latex=self.latex,
            tensor=self.tensor,
            axes=self.axes,
        )


def line(runs: Iterable[Run], size: float, *, bold: bool = False, most: float | None = None) -> Line:
    """A line of text, cut with an ellipsis where it would be wider than ``most`` pixels."""
    whole = tuple(runs)
    width = runs_width(whole, size, bold=bold)
    if most is None or width <= most:
        return Line(whole, size, width)
    full = "".join(run.text for run in whole)
    kept = _cut(whole, size, bold=bold, most=most)
    return Line(kept, size, runs_width(kept, size, bold=bold), full=full)


def _cut(runs: Sequence[Run], size: float, *, bold: bool, most: float) -> tuple[Run, ...]:
    room = most - runs_width((Run(_ELLIPSIS),), size, bold=bold)
    kept: list[Run] = []
    for run in runs:
        width = runs_width((run,), size, bold=bold)
        if width <= room:
            kept.append(run)
            room -= width
            continue
        low, high = 0, len(run.text)
        while low < high:
            middle = (low + high + 1) // 2
            part = Run(run.text[:middle], run.style, run.level)
            low, high = (middle, high) if runs_width((part,), size, bold=bold) <= room else (low, middle - 1)
        if low:
            kept.append(Run(run.text[:low].rstrip(), run.style, run.level, run.axis))
        break
    return (*kept, Run(_ELLIPSIS, kept[-1].style if kept else "plain"))


@dataclass
class Piece:
    """A rectangle of a level before it is placed.

    Attributes:
        width, height: in pixels.
        lines: lines of text inside by name (``title``, ``formula``, ``shape``, ``note``, ``badge``).
        tops: distance of each line from the upper side.
        lefts: distance of lines from the left side; those that are not here are centred.
        axis: distance of the vertical line through it from the left side, for labels, knots and additions.
    """

    width: float
    height: float
    lines: dict[str, Line] = field(default_factory=dict)
    tops: dict[str, float] = field(default_factory=dict)
    axis: float = 0.0
    lefts: dict[str, float] = field(default_factory=dict)
