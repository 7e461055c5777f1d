"""Updates come to their addition straight from the side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import msgspec

from openmodelatlas.drawing.boxes import CIRCLE
from openmodelatlas.drawing.drawing import DrawnEdge, Point
from openmodelatlas.drawing.layered.graph import Item
from openmodelatlas.drawing.layered.route import simplified
from openmodelatlas.drawing.level import Box

_BESIDE = 6.0
_ABOVE = 2.0
"""How far a line stays away from what is beside and above it, in pixels."""


def straightened(edges: Sequence[DrawnEdge], boxes: Sequence[Box], items: Sequence[Item]) -> list[DrawnEdge]:
    """The same edges; those that come down beside an addition go there at its height, where nothing is in the way.

    Args:
        edges: with their routes.
        boxes: of the level, the addition's among them.
        items: what is laid out, in place; that of a box has its number.
    """
    made = list(edges)
    for number, edge in enumerate(made):
        target = int(edge.target)
        points = edge.points
        if boxes[target].role != "addition" or len(points) < 5 or points[-1][1] != points[-2][1]:
            continue
        column, end = points[-5][0], points[-1]
        if column != points[-4][0] or column < end[0] + CIRCLE:
            continue
        corner = (column, end[1])
        lines = [each.points for index, each in enumerate(made) if index != number and each.tensor != edge.tensor]
        lines += [_outline(item) for index, item in enumerate(items) if index != target]
        stretches = ((points[-4], corner), (corner, end))
        if not any(_meets(start, stop, line) for start, stop in stretches for line in lines):
            made[number] = msgspec.structs.replace(edge, points=tuple(simplified((*points[:-4], corner, end))))
    return made


def _outline(item: Item) -> tuple[Point, ...]:
    """The outline of an item, a little larger, as a closed line."""
    left, right = item.x - _BESIDE, item.x + item.width + _BESIDE
    top, bottom = item.y - _ABOVE, item.y + item.height + _ABOVE
    return ((left, top), (right, top), (right, bottom), (left, bottom), (left, top))


def _meets(start: Point, stop: Point, points: tuple[Point, ...]) -> bool:
    """Whether a horizontal or vertical stretch touches a line with such stretches."""
    (left, right), (top, bottom) = sorted((start[0], stop[0])), sorted((start[1], stop[1]))
    for a, b in pairwise(points):
        if (
            max(left, min(a[0], b[0])) <= min(right, max(a[0], b[0])) + 0.01
            and max(top, min(a[1], b[1])) <= min(bottom, max(a[1], b[1])) + 0.01
        ):
            return True
    return False
