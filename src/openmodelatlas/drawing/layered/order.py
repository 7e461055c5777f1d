"""Order within rows: few crossings, the spine at the left."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Sequence

from openmodelatlas.drawing.layered.graph import Layered, Segment

_SWEEPS = 14
_MANY = 400
"""Slots beyond which fewer sweeps must do."""


def arrange(graph: Layered) -> None:
    """Orders every row, and the ports of items that leave their order open, so that few lines cross."""
    _start(graph)
    best = [list(row) for row in graph.rows]
    least = crossings(graph)
    above, below = _neighbours(graph)
    sweeps = _SWEEPS if len(graph.slots) <= _MANY else 4
    for sweep in range(sweeps):
        if not least:
            break
        down = sweep % 2 == 0
        rows = range(1, len(graph.rows)) if down else range(len(graph.rows) - 2, -1, -1)
        for row in rows:
            _sort(graph, row, above if down else below, down=down)
        _turn_ports(graph)
        if len(graph.slots) <= _MANY:
            _transpose(graph)
        count = crossings(graph)
        if count < least:
            least, best = count, [list(row) for row in graph.rows]
    graph.rows[:] = best
    _turn_ports(graph)


def _start(graph: Layered) -> None:
    """Rows in order of a walk along the links, which keeps together what belongs together."""
    seen: dict[int, int] = {}
    after: dict[int, list[Segment]] = defaultdict(list)
    for gap in graph.gaps:
        for segment in gap:
            after[segment.upper].append(segment)
    for root in [slot for row in graph.rows for slot in row]:
        stack = [root]
        while stack:
            slot = stack.pop()
            if slot in seen:
                continue
            seen[slot] = len(seen)
            stack += [segment.lower for segment in sorted(after[slot], key=lambda each: (-each.out, not each.spine))]
    linked = {end for gap in graph.gaps for segment in gap for end in (segment.upper, segment.lower)}
    for row in graph.rows:
        row.sort(key=lambda slot: (not graph.slots[slot].spine, slot not in linked, seen[slot]))


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
    """Sorts the input ports (or, with ``lower_side``, the output ports) of items by the other ends of their segments."""
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
        chosen = sorted(offsets[port] for port in ports)
        by_place = sorted(ports, key=lambda port: (sum(ports[port]) / len(ports[port]), offsets[port]))
        for port, offset in zip(by_place, chosen, strict=True):
            offsets[port] = offset


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


def _transpose(graph: Layered) -> None:
    """Swaps neighbours in a row where that saves crossings."""
    for row, here in enumerate(graph.rows):
        if len(here) > 40:
            continue
        around = [each for each in (row - 1, row) if 0 <= each < len(graph.rows) - 1]
        count = sum(_crossings_in(graph, each) for each in around)
        for place in range(len(here) - 1):
            if not count:
                break
            if graph.slots[here[place]].spine or graph.slots[here[place + 1]].spine:
                continue
            here[place], here[place + 1] = here[place + 1], here[place]
            swapped = sum(_crossings_in(graph, each) for each in around)
            if swapped < count:
                count = swapped
            else:
                here[place], here[place + 1] = here[place + 1], here[place]
