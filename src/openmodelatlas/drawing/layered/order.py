"""Order within rows: few crossings, the spine at the left."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from openmodelatlas.drawing.layered.graph import Layered, Segment

_SWEEPS = 14
_MANY = 400
"""Slots beyond which fewer sweeps must do."""


def arrange(graph: Layered) -> None:
    """Orders every row, and the ports of items that leave their order open, so that few lines cross."""
    small = len(graph.slots) <= _MANY
    best: list[list[int]] = []
    least: tuple[int, int] | None = None
    for start in range(3 if small else 1):
        _start(graph, start)
        count, rows = _improve(graph, _SWEEPS if small else 4, small=small)
        if least is None or count < least:
            least, best = count, rows
        if not least[0]:
            break
    graph.rows[:] = best
    _turn_ports(graph)


def _improve(graph: Layered, sweeps: int, *, small: bool) -> tuple[tuple[int, int], list[list[int]]]:
    """Sorts rows by their neighbours, down and up, and gives the best order that was passed."""
    _turn_ports(graph)
    above, below = _neighbours(graph)
    best = [list(row) for row in graph.rows]
    least = _cost(graph)
    for sweep in range(sweeps):
        if not least[0]:
            break
        down = sweep % 2 == 0
        rows = range(1, len(graph.rows)) if down else range(len(graph.rows) - 2, -1, -1)
        for row in rows:
            _sort(graph, row, above if down else below, down=down)
        _turn_ports(graph)
        if small:
            _transpose(graph, above, below)
        count = _cost(graph)
        if count < least:
            least, best = count, [list(row) for row in graph.rows]
    return least, best


def _cost(graph: Layered) -> tuple[int, int]:
    """Crossings, and how far the rows are from the order of the code."""
    turned = 0
    for row in graph.rows:
        items = [slot for slot in row if graph.slots[slot].item is not None]
        turned += sum((_is_minor(graph, a), a) > (_is_minor(graph, b), b) for a, b in pairwise(items))
    return crossings(graph), turned


def _start(graph: Layered, start: int) -> None:
    """Rows in order of a walk along the links, which keeps together what belongs together; or in order of the code."""
    seen: dict[int, int] = {}
    after: dict[int, list[Segment]] = defaultdict(list)
    for gap in graph.gaps:
        for segment in gap:
            after[segment.upper].append(segment)
    for root in [slot for row in graph.rows for slot in sorted(row)]:
        stack = [root]
        while stack:
            slot = stack.pop()
            if slot in seen:
                continue
            seen[slot] = len(seen) if start != 1 else slot
            ways = sorted(after[slot], key=lambda each: (_is_minor(graph, each.lower), each.out, not each.spine))
            stack += [each.lower for each in (ways if start == 2 else reversed(ways))]
    linked = {end for gap in graph.gaps for segment in gap for end in (segment.upper, segment.lower)}
    for row in graph.rows:
        row.sort(key=lambda slot: (not graph.slots[slot].spine, slot not in linked, seen[slot]))


def _is_minor(graph: Layered, slot: int) -> bool:
    item = graph.slots[slot].item
    return item is not None and graph.items[item].minor


def _neighbours(graph: Layered) -> tuple[dict[int, list[Segment]], dict[int, list[Segment]]]:
    above: dict[int, list[Segment]] = defaultdict(list)
    below: dict[int, list[Segment]] = defaultdict(list)
    for gap in graph.gaps:
        for segment in gap:
            above[segment.lower].append(segment)
            below[segment.upper].append(segment)
    return above, below


def _place(graph: Layered, row: Sequence[int]) -> dict[int, int]:
    return {slot: place for place, slot in enumerate(row)}


def _upper_key(graph: Layered, places: dict[int, int]) -> Callable[[Segment], float]:
    """Where the upper end of a segment is, in places of its row; ports count as fractions."""

    def key(segment: Segment) -> float:
        width = graph.slots[segment.upper].width
        return places[segment.upper] + (graph.out_at(segment) / width * 0.9 if width else 0.45)

    return key


def _lower_key(graph: Layered, places: dict[int, int]) -> Callable[[Segment], float]:
    """The same for the lower end."""

    def key(segment: Segment) -> float:
        width = graph.slots[segment.lower].width
        return places[segment.lower] + (graph.in_at(segment) / width * 0.9 if width else 0.45)

    return key


def _sort(graph: Layered, row: int, neighbours: dict[int, list[Segment]], *, down: bool) -> None:
    other = _place(graph, graph.rows[row - 1 if down else row + 1])
    key = _upper_key(graph, other) if down else _lower_key(graph, other)
    here = graph.rows[row]
    scale = len(other) / max(1, len(here))
    wanted: dict[int, float] = {}
    for place, slot in enumerate(here):
        segments = neighbours.get(slot, [])
        wanted[slot] = sum(map(key, segments)) / len(segments) if segments else (place + 0.45) * scale
        if not segments and graph.slots[slot].item is not None and graph.items[slot].near is not None:
            wanted[slot] = len(other)  # what is linked to nothing stands at the right
    here.sort(key=lambda slot: (not graph.slots[slot].spine, wanted[slot]))


def _turn_ports(graph: Layered) -> None:
    """Ports in the order of what they are linked to."""
    for row, gap in enumerate(graph.gaps):
        upper = _upper_key(graph, _place(graph, graph.rows[row]))
        _reorder(graph, gap, upper, lower_side=False)
        if row + 1 < len(graph.rows):
            lower = _lower_key(graph, _place(graph, graph.rows[row + 1]))
            _reorder(graph, gap, lower, lower_side=True)


def _reorder(graph: Layered, gap: Sequence[Segment], key: Callable[[Segment], float], *, lower_side: bool) -> None:
    """Sorts the input ports of items (with ``lower_side``, the output ports) by the other ends of their segments."""
    ends: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for segment in gap:
        slot = segment.upper if lower_side else segment.lower
        item = graph.slots[slot].item
        if item is not None and not graph.items[item].fixed:
            ends[item][segment.out if lower_side else segment.into].append(key(segment))
    for item, ports in ends.items():
        if len(ports) < 2:
            continue
        offsets = graph.items[item].outputs if lower_side else graph.items[item].inputs
        main = graph.items[item].main_out if lower_side else graph.items[item].main_in
        chosen = sorted(offsets[port] for port in ports)
        by_place = sorted(ports, key=lambda port: (sum(ports[port]) / len(ports[port]), offsets[port]))
        if main is not None and main in ports:
            chosen = _around_main(graph.items[item].width, by_place.index(main), len(by_place))
        for port, offset in zip(by_place, chosen, strict=True):
            offsets[port] = offset


def _around_main(width: float, main: int, count: int) -> list[float]:
    """Distances of ports of which one stands in the middle."""
    left = [width / 2 * (place + 1) / (main + 1) for place in range(main)]
    right = [width / 2 * (1 + (place + 1) / (count - main)) for place in range(count - main - 1)]
    return [*left, width / 2, *right]


def crossings(graph: Layered) -> int:
    """How many pairs of lines cross."""
    return sum(_crossings_in(graph, row) for row in range(len(graph.rows) - 1))


def _crossings_in(graph: Layered, row: int) -> int:
    upper = _upper_key(graph, _place(graph, graph.rows[row]))
    lower = _lower_key(graph, _place(graph, graph.rows[row + 1]))
    ends = sorted((upper(segment), lower(segment)) for segment in graph.gaps[row])
    seen: list[float] = []
    total = 0
    for _, end in ends:
        total += len(seen) - bisect_right(seen, end)
        insort(seen, end)
    return total


def _transpose(graph: Layered, above: Mapping[int, list[Segment]], below: Mapping[int, list[Segment]]) -> None:
    """Swaps neighbours in a row where that saves crossings."""
    for row, here in enumerate(graph.rows):
        ends: dict[int, tuple[list[float], list[float]]] = {slot: ([], []) for slot in here}
        if row > 0:
            upper = _upper_key(graph, _place(graph, graph.rows[row - 1]))
            for slot in here:
                ends[slot][0].extend(sorted(map(upper, above.get(slot, ()))))
        if row + 1 < len(graph.rows):
            lower = _lower_key(graph, _place(graph, graph.rows[row + 1]))
            for slot in here:
                ends[slot][1].extend(sorted(map(lower, below.get(slot, ()))))
        for place in range(len(here) - 1):
            first, second = here[place], here[place + 1]
            if graph.slots[first].spine or graph.slots[second].spine:
                continue
            if sum(_turned(a, b) - _turned(b, a) for a, b in zip(ends[first], ends[second], strict=True)) > 0:
                here[place], here[place + 1] = second, first


def _turned(first: Sequence[float], second: Sequence[float]) -> int:
    """Pairs of ends that cross if the first ones' slot is left of the second ones' (both sorted)."""
    return sum(bisect_left(second, end) for end in first)
