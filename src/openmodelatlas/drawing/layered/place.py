"""Positions within rows: lines that can be straight are exactly straight, the others as short as possible.

Segments that are drawn straight join their slots into blocks, chosen greedily so that no two of them cross (as in
Brandes and Köpf, 2001, but with ports). A block has one position; positions keep neighbours of a row apart and make the
other segments short (the problem that network simplex solves in Gansner et al., 1993; here by descent along groups of
blocks that touch, which is as good for graphs of this size).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from openmodelatlas.drawing.layered.graph import Layered, Segment

GAP = 22.0
"""Between two items of a row, in pixels."""

LINE_GAP = 14.0
"""Between a line and an item, or two lines."""

_NEAR = 1e-6
_ROUNDS = 30
_LARGEST = 120
"""Blocks that are moved at once, at most: beyond that, moving them takes longer than it is worth."""

_MANY = 300
"""Blocks beyond which fewer rounds must do."""


@dataclass
class _Blocks:
    """Slots that stand on one straight line.

    Attributes:
        block: number of the block of each slot.
        offset: distance of each slot's left side from its block's position.
        count: how many there are.
        fixed: block of the spine, ``None`` if there is none.
    """

    block: list[int]
    offset: list[float]
    count: int
    fixed: int | None


@dataclass(frozen=True)
class _Spring:
    """A bent segment: costs ``weight`` for every pixel between ``a + at_a`` and ``b + at_b``."""

    a: int
    at_a: float
    b: int
    at_b: float
    weight: float


def place(graph: Layered) -> float:
    """Gives every slot its position; the result is the width of the whole."""
    blocks = _join(graph, _straight(graph))
    limits = _limits(graph, blocks)
    positions = _leftmost(blocks.count, limits)
    springs = _springs(graph, blocks)
    _relax(positions, limits, springs, blocks.fixed)
    placed = [graph.slots[index] for row in graph.rows for index in row]
    for slot in placed:
        slot.x = positions[blocks.block[slot.index]] + blocks.offset[slot.index]
    left = min((slot.x for slot in placed), default=0.0)
    for slot in placed:
        slot.x -= left
        if slot.item is not None:
            graph.items[slot.item].x = slot.x
    return max((slot.x + slot.width for slot in placed), default=0.0)


def _rank(graph: Layered, segment: Segment, degrees: dict[tuple[int, bool], int]) -> float:
    upper, lower = graph.slots[segment.upper], graph.slots[segment.lower]
    if segment.spine:
        return 0
    if upper.item is None and lower.item is None:
        return 1
    if any(slot.item is not None and graph.items[slot.item].minor for slot in (upper, lower)):
        return 6
    single = (degrees[segment.upper, True] == 1) + (degrees[segment.lower, False] == 1)
    if single == 2:
        return 2
    if upper.item is None or lower.item is None:
        return 3
    return 4 - single


def _straight(graph: Layered) -> list[Segment]:
    """The segments that are drawn straight: at most one above and one below each slot, none crossing another."""
    places = {slot: place for row in graph.rows for place, slot in enumerate(row)}
    chosen: list[Segment] = []
    for gap in graph.gaps:
        degrees: dict[tuple[int, bool], int] = defaultdict(int)
        ends: dict[tuple[int, bool], list[int]] = defaultdict(list)
        for segment in gap:
            degrees[segment.upper, True] += 1
            degrees[segment.lower, False] += 1
            ends[segment.upper, True].append(places[segment.lower])
            ends[segment.lower, False].append(places[segment.upper])

        def key(segment: Segment) -> tuple[float, float, int]:
            down = sorted(ends[segment.upper, True])  # noqa: B023
            up = sorted(ends[segment.lower, False])  # noqa: B023
            off = abs(down.index(places[segment.lower]) - (len(down) - 1) / 2)
            off += abs(up.index(places[segment.upper]) - (len(up) - 1) / 2)
            return (_rank(graph, segment, degrees), off, places[segment.upper])  # noqa: B023

        taken: list[tuple[int, int]] = []
        for segment in sorted(gap, key=key):
            pair = (places[segment.upper], places[segment.lower])
            if all((pair[0] - other[0]) * (pair[1] - other[1]) > 0 for other in taken):
                taken.append(pair)
                chosen.append(segment)
    return chosen


def _join(graph: Layered, straight: Iterable[Segment]) -> _Blocks:
    above = {segment.lower: segment for segment in straight}
    block = [-1] * len(graph.slots)
    offset = [0.0] * len(graph.slots)
    count = 0
    fixed = None
    spine_slots = [slot for row in graph.rows for slot in row if graph.slots[slot].spine]
    root = spine_slots[0] if spine_slots else None
    for row in graph.rows:
        for slot in row:
            segment = above.get(slot)
            if segment is None:
                block[slot], offset[slot] = count, 0.0
                count += 1
            else:
                block[slot] = block[segment.upper]
                offset[slot] = offset[segment.upper] + graph.out_at(segment) - graph.in_at(segment)
            if slot == root:
                fixed = block[slot]
    return _Blocks(block, offset, count, fixed)


def _limits(graph: Layered, blocks: _Blocks) -> dict[tuple[int, int], float]:
    """For pairs of blocks, how far the second stands to the right of the first at least."""
    limits: dict[tuple[int, int], float] = {}
    for row in graph.rows:
        for left, right in pairwise(row):
            first, second = graph.slots[left], graph.slots[right]
            gap = GAP if first.item is not None and second.item is not None else LINE_GAP
            distance = first.width + gap + blocks.offset[left] - blocks.offset[right]
            pair = (blocks.block[left], blocks.block[right])
            limits[pair] = max(limits.get(pair, distance), distance)
    return limits


def _leftmost(count: int, limits: dict[tuple[int, int], float]) -> list[float]:
    after: dict[int, list[tuple[int, float]]] = defaultdict(list)
    missing = [0] * count
    for (left, right), distance in limits.items():
        after[left].append((right, distance))
        missing[right] += 1
    positions = [0.0] * count
    ready = [block for block in range(count) if not missing[block]]
    done = 0
    while ready:
        block = ready.pop()
        done += 1
        for right, distance in after[block]:
            positions[right] = max(positions[right], positions[block] + distance)
            missing[right] -= 1
            if not missing[right]:
                ready.append(right)
    if done != count:
        raise ValueError("straight lines cross")
    return positions


def _springs(graph: Layered, blocks: _Blocks) -> list[_Spring]:
    springs: list[_Spring] = []
    for gap in graph.gaps:
        for segment in gap:
            a, b = blocks.block[segment.upper], blocks.block[segment.lower]
            if a == b:
                continue
            minor = any(
                item is not None and graph.items[item].minor
                for item in (graph.slots[segment.upper].item, graph.slots[segment.lower].item)
            )
            dummies = (graph.slots[segment.upper].item is None) + (graph.slots[segment.lower].item is None)
            springs.append(
                _Spring(
                    a,
                    blocks.offset[segment.upper] + graph.out_at(segment),
                    b,
                    blocks.offset[segment.lower] + graph.in_at(segment),
                    0.3 if minor else (1.0, 2.0, 4.0)[dummies],
                )
            )
    return springs


class _Relaxation:
    """Moves groups of touching blocks as long as that makes segments shorter."""

    def __init__(
        self,
        positions: list[float],
        limits: dict[tuple[int, int], float],
        springs: Sequence[_Spring],
        fixed: int | None,
    ) -> None:
        self.positions = positions
        self.fixed = fixed
        self.rights: dict[int, list[tuple[int, float]]] = defaultdict(list)
        self.lefts: dict[int, list[tuple[int, float]]] = defaultdict(list)
        for (left, right), distance in limits.items():
            self.rights[left].append((right, distance))
            self.lefts[right].append((left, distance))
        self.springs: dict[int, list[tuple[float, int, float, float]]] = defaultdict(list)
        for spring in springs:
            self.springs[spring.a].append((spring.at_a, spring.b, spring.at_b, spring.weight))
            self.springs[spring.b].append((spring.at_b, spring.a, spring.at_a, spring.weight))

    def group(self, block: int, direction: int) -> set[int] | None:
        """The blocks that move if ``block`` does; ``None`` if one of them is fixed, or they are very many."""
        found = {block}
        stack = [block]
        while stack:
            current = stack.pop()
            if current == self.fixed or len(found) > _LARGEST:
                return None
            for other, distance in (self.rights if direction > 0 else self.lefts)[current]:
                if other not in found and self._slack(current, other, distance, direction) < _NEAR:
                    found.add(other)
                    stack.append(other)
        return found

    def _slack(self, block: int, other: int, distance: float, direction: int) -> float:
        return (self.positions[other] - self.positions[block]) * direction - distance

    def move(self, block: int, direction: int) -> bool:
        """Moves ``block`` and what it pushes as far as that pays; tells whether it did."""
        group = self.group(block, direction)
        if group is None:
            return False
        pull = 0.0
        reach = float("inf")
        for member in group:
            for at, other, other_at, weight in self.springs[member]:
                if other in group:
                    continue
                ahead = (self.positions[other] + other_at - self.positions[member] - at) * direction
                if ahead > _NEAR:
                    pull += weight
                    reach = min(reach, ahead)
                else:
                    pull -= weight
            for other, distance in (self.rights if direction > 0 else self.lefts)[member]:
                if other not in group:
                    reach = min(reach, self._slack(member, other, distance, direction))
        if pull <= _NEAR or reach == float("inf"):
            return False
        for member in group:
            self.positions[member] += reach * direction
        return True


def _relax(
    positions: list[float], limits: dict[tuple[int, int], float], springs: Sequence[_Spring], fixed: int | None
) -> None:
    relaxation = _Relaxation(positions, limits, springs, fixed)
    many = len(positions) > _MANY
    for _ in range(4 if many else _ROUNDS):
        moved = False
        for direction in (1, -1):
            for block in sorted(range(len(positions)), key=lambda each: positions[each] * -direction):
                for _ in range(2 if many else 8):
                    if not relaxation.move(block, direction):
                        break
                    moved = True
        if not moved:
            break
