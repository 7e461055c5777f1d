"""Routes between rows: one horizontal stretch for each net, on tracks chosen so that few lines cross and none lie on
each other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from openmodelatlas.drawing.drawing import Point
from openmodelatlas.drawing.layered.graph import Layered

TRACK = 10.0
"""Between two tracks, in pixels."""

ABOVE = 10.0
"""From a row to the first track below it."""

BELOW = 14.0
"""From the last track to the row below it: room for an arrowhead."""

STRAIGHT = 16.0
"""Between rows where all lines are straight."""

_SAME = 0.01
_CLOSE = 4.0
"""Upright lines that are nearer look like one, in pixels."""

_OVERLAP = 1000


@dataclass
class _Net:
    """What one port sends through a gap.

    Attributes:
        tops, bottoms: where its lines come from and go to.
        track: number of its horizontal stretch from above, ``None`` if it is straight.
    """

    tops: set[float] = field(default_factory=set)
    bottoms: set[float] = field(default_factory=set)
    track: int | None = None

    @property
    def left(self) -> float:
        """Left end of the horizontal stretch."""
        return min(self.tops | self.bottoms)

    @property
    def right(self) -> float:
        """Right end of the horizontal stretch."""
        return max(self.tops | self.bottoms)


def route(graph: Layered) -> tuple[list[list[Point]], float]:
    """Gives items their height in the whole; the results are the corners of each link's route, and the whole height."""
    tracks: list[dict[int, _Net]] = []
    for gap in graph.gaps:
        nets: dict[int, _Net] = defaultdict(_Net)
        for segment in gap:
            nets[segment.net].tops.add(graph.slots[segment.upper].x + graph.out_at(segment))
            nets[segment.net].bottoms.add(graph.slots[segment.lower].x + graph.in_at(segment))
        _choose_tracks([net for net in nets.values() if net.right - net.left > _SAME])
        tracks.append(nets)
    floors, tops, height = _stack(graph, tracks)
    return _routes(graph, tracks, floors, tops), height


def _stack(graph: Layered, tracks: Sequence[dict[int, _Net]]) -> tuple[list[float], list[float], float]:
    """Rows one below the other: lower and upper side of each row."""
    floors: list[float] = []
    tops: list[float] = []
    y = 0.0
    for number, row in enumerate(graph.rows):
        numbers = [graph.slots[slot].item for slot in row]
        items = [graph.items[each] for each in numbers if each is not None]
        height = max((item.height for item in items), default=0.0)
        for each in items:
            each.y = y + (height - each.height) * each.hang
        tops.append(y)
        y += height
        floors.append(y)
        used = [net.track for net in tracks[number].values() if net.track is not None]
        if number + 1 < len(graph.rows):
            y += ABOVE + BELOW + TRACK * max(used) if used else STRAIGHT
    return floors, tops, y


def _routes(
    graph: Layered, tracks: Sequence[dict[int, _Net]], floors: Sequence[float], tops: Sequence[float]
) -> list[list[Point]]:
    segments = {
        (segment.net, segment.upper, segment.lower, segment.into): segment for gap in graph.gaps for segment in gap
    }
    by_ends = defaultdict(list)
    for (_, upper, lower, _), segment in segments.items():
        by_ends[upper, lower].append(segment)
    routes: list[list[Point]] = []
    for chain, link in zip(graph.chains, graph.links, strict=True):
        points: list[Point] = []
        for place, (upper, lower) in enumerate(pairwise(chain)):
            first, last = place == 0, place == len(chain) - 2
            segment = next(
                each
                for each in by_ends[upper, lower]
                if (not first or each.out == link.out) and (not last or each.into == link.into)
            )
            layer = graph.slots[upper].layer
            start = graph.slots[upper].x + graph.out_at(segment)
            end = graph.slots[lower].x + graph.in_at(segment)
            source = graph.slots[upper].item
            target = graph.slots[lower].item
            points.append((start, floors[layer] if source is None else _bottom(graph, source)))
            if abs(start - end) > _SAME:
                track = tracks[layer][segment.net].track or 0
                y = floors[layer] + ABOVE + TRACK * track
                points += [(start, y), (end, y)]
            points.append((end, tops[layer + 1] if target is None else graph.items[target].y))
        routes.append(simplified(points))
    return routes


def _bottom(graph: Layered, item: int) -> float:
    return graph.items[item].y + graph.items[item].height


def simplified(points: Sequence[Point]) -> list[Point]:
    """The same route without corners that are none."""
    found: list[Point] = []
    for x, y in points:
        x, y = round(x, 2), round(y, 2)  # noqa: PLW2901
        if found and found[-1] == (x, y):
            continue
        if len(found) >= 2 and _in_line(found[-2], found[-1], (x, y)):
            found[-1] = (x, y)
        else:
            found.append((x, y))
    return found


def _in_line(a: Point, b: Point, c: Point) -> bool:
    return (abs(a[0] - b[0]) < _SAME and abs(b[0] - c[0]) < _SAME) or (
        abs(a[1] - b[1]) < _SAME and abs(b[1] - c[1]) < _SAME
    )


def _choose_tracks(nets: list[_Net]) -> None:
    """Numbers from above such that stretches which overlap have different ones, with few crossings."""
    above: dict[int, set[int]] = defaultdict(set)
    for a, first in enumerate(nets):
        for b in range(a + 1, len(nets)):
            second = nets[b]
            if first.right < second.left - _SAME * 2 - TRACK or second.right < first.left - TRACK:
                continue
            down, up = _cost(first, second), _cost(second, first)
            if down < up or (down == up and _earlier(first, second)):
                above[a].add(b)
            else:
                above[b].add(a)
    for a in _without_circles(len(nets), above):
        over = [
            nets[other].track or 0 for other in range(len(nets)) if a in above[other] and nets[other].track is not None
        ]
        nets[a].track = max(over, default=-1) + 1


def _earlier(first: _Net, second: _Net) -> bool:
    """For pairs that cross either way: the shorter stretch is above."""
    return (first.right - first.left, first.left) <= (second.right - second.left, second.left)


def _cost(upper: _Net, lower: _Net) -> int:
    """Crossings if ``upper`` has the track above ``lower``; lines that would lie on each other cost much."""
    total = 0
    for x in upper.bottoms:
        total += lower.left - _SAME < x < lower.right + _SAME
        total += _OVERLAP * any(abs(x - other) < _CLOSE for other in lower.tops)
    for x in lower.tops:
        total += upper.left - _SAME < x < upper.right + _SAME
    return total


def _without_circles(count: int, above: dict[int, set[int]]) -> list[int]:
    """An order from above; where the wishes go round in a circle, the one with the fewest above it goes first."""
    missing = {index: {other for other in range(count) if index in above[other]} for index in range(count)}
    order: list[int] = []
    while missing:
        index = min(missing, key=lambda each: (len(missing[each]), each))
        for other in missing.pop(index):
            above[other].discard(index)
            above[index].add(other)
        for rest in missing.values():
            rest.discard(index)
        order.append(index)
    return order
