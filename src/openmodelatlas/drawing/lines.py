"""Lines of a diagram as paths: with rounded corners, each stretch once, and where lines of one tensor part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from openmodelatlas.drawing.drawing import Drawing, DrawnEdge, Point

_CORNER = 6.0
"""Radius of corners, in pixels."""


def px(number: float) -> str:
    """A length in pixels, to a tenth."""
    return f"{number:.1f}".removesuffix(".0")


def path(points: tuple[Point, ...]) -> str:
    """The route with rounded corners."""
    parts = [f"M{px(points[0][0])} {px(points[0][1])}"]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        room = min(_CORNER, _distance(before, corner) / 2, _distance(corner, after) / 2)
        start, end = _towards(corner, before, room), _towards(corner, after, room)
        parts.append(f"L{px(start[0])} {px(start[1])}Q{px(corner[0])} {px(corner[1])} {px(end[0])} {px(end[1])}")
    parts.append(f"L{px(points[-1][0])} {px(points[-1][1])}")
    return "".join(parts)


def drawn_once(edges: Sequence[DrawnEdge]) -> list[tuple[Point, ...]]:
    """The routes without what another line of the same tensor draws already: lines over each other look thicker."""
    rank = {"residual": 0, "data": 1, "state": 2}
    order = sorted(range(len(edges)), key=lambda number: (rank[edges[number].kind], number))
    drawn: list[tuple[Point, ...]] = [edge.points for edge in edges]
    before: dict[tuple[str, str], list[tuple[Point, ...]]] = {}
    for number in order:
        edge = edges[number]
        group = before.setdefault((edge.tensor, edge.source), [])
        rests = [_rest(edge.points, other) for other in group]
        drawn[number] = min(rests, key=_length, default=edge.points)
        group.append(edge.points)
    return drawn


def _rest(points: tuple[Point, ...], other: tuple[Point, ...]) -> tuple[Point, ...]:
    """What is left of a route after the first stretch that it shares with another."""
    for place, (mine, its) in enumerate(zip(pairwise(points), pairwise(other), strict=False)):
        if mine == its:
            continue
        start = mine[0] if mine[0] == its[0] else None
        if start is None:
            return points
        same_way = (_sign(mine[1][0] - start[0]), _sign(mine[1][1] - start[1])) == (
            _sign(its[1][0] - start[0]),
            _sign(its[1][1] - start[1]),
        )
        parting = min(mine[1], its[1], key=lambda end: _distance(start, end)) if same_way else start
        rest = (parting, *points[place + 1 :])
        return rest[1:] if len(rest) > 2 and rest[0] == rest[1] else rest
    return points


def _sign(number: float) -> int:
    return (number > 0) - (number < 0)


def _length(points: tuple[Point, ...]) -> float:
    return sum(_distance(a, b) for a, b in pairwise(points))


def _distance(a: Point, b: Point) -> float:
    return abs(a[0] - b[0]) + abs(a[1] - b[1])


def _towards(start: Point, end: Point, length: float) -> Point:
    whole = _distance(start, end) or 1.0
    return (start[0] + (end[0] - start[0]) * length / whole, start[1] + (end[1] - start[1]) * length / whole)


def partings(drawing: Drawing) -> list[tuple[str, float, float]]:
    """Points where lines of one tensor from one box go different ways: there a line has neighbours on three sides."""
    found: list[tuple[str, float, float]] = []
    groups: dict[tuple[str, str], list[DrawnEdge]] = {}
    for edge in drawing.edges:
        groups.setdefault((edge.tensor, edge.source), []).append(edge)
    for edges in groups.values():
        if len(edges) < 2:
            continue
        ways: dict[Point, set[str]] = {}
        corners = {point for edge in edges for point in edge.points[1:-1]}
        for edge in edges:
            for before, after in zip(edge.points, edge.points[1:], strict=False):
                for corner in corners:
                    for way in _sides(corner, before, after):
                        ways.setdefault(corner, set()).add(way)
        found += [(edges[0].kind, *corner) for corner, sides in sorted(ways.items()) if len(sides) > 2]
    return found


def _sides(corner: Point, before: Point, after: Point) -> Iterator[str]:
    """On which sides of ``corner`` a stretch of a line lies."""
    (x, y), (left, right), (top, bottom) = corner, sorted((before[0], after[0])), sorted((before[1], after[1]))
    if left == right == x and top <= y <= bottom:
        if top < y:
            yield "above"
        if y < bottom:
            yield "below"
    elif top == bottom == y and left <= x <= right:
        if left < x:
            yield "left"
        if x < right:
            yield "right"
