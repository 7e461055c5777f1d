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
    order = _Order(graph)
    best: list[list[int]] = []
    least: tuple[int, int] | None = None
    for start in range(3 if small else 1):
        _start(graph, start)
        order.number()
        count, rows = _improve(order, _SWEEPS if small else 4, small=small)
        if least is None or count < least:
            least, best = count, rows
        if not least[0]:
            break
    graph.rows[:] = best
    order.number()
    order.turn_ports()


def _improve(order: _Order, sweeps: int, *, small: bool) -> tuple[tuple[int, int], list[list[int]]]:
    """Sorts rows by their neighbours, down and up, and gives the best order that was passed."""
    order.turn_ports()
    rows = order.graph.rows
    best = [list(row) for row in rows]
    least = order.cost()
    before: list[object] = []
    for sweep in range(sweeps):
        if not least[0]:
            break
        down = sweep % 2 == 0
        for row in range(1, len(rows)) if down else range(len(rows) - 2, -1, -1):
            order.sort(row, down=down)
        order.turn_ports()
        if small:
            order.transpose()
        count = order.cost()
        if count < least:
            least, best = count, [list(row) for row in rows]
        if not down:
            now = order.state()
            if now == before:  # so that every further pair of sweeps ends here again
                break
            before = now
    return least, best


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


_Ends = dict[int, dict[int, list[Segment]]]
"""By item, then by port, the segments that end there; items with several ports whose order is open."""


class _Order:
    """Rows while they are put in order.

    Attributes:
        graph: whose rows are sorted.
    """

    def __init__(self, graph: Layered) -> None:
        self.graph = graph
        self._places = [0] * len(graph.slots)
        self._above: list[list[Segment]] = [[] for _ in graph.slots]
        self._below: list[list[Segment]] = [[] for _ in graph.slots]
        for gap in graph.gaps:
            for segment in gap:
                self._above[segment.lower].append(segment)
                self._below[segment.upper].append(segment)
        self._open = [(_open_ports(graph, gap, upper=False), _open_ports(graph, gap, upper=True)) for gap in graph.gaps]
        self.number()

    def number(self) -> None:
        """Takes the rows as they stand."""
        for row in self.graph.rows:
            self._number(row)

    def _number(self, row: Sequence[int]) -> None:
        for place, slot in enumerate(row):
            self._places[slot] = place

    def _upper(self, segment: Segment) -> float:
        """Where the upper end of a segment is, in places of its row; ports count as fractions."""
        width = self.graph.slots[segment.upper].width
        return self._places[segment.upper] + (self.graph.out_at(segment) / width * 0.9 if width else 0.45)

    def _lower(self, segment: Segment) -> float:
        """The same for the lower end."""
        width = self.graph.slots[segment.lower].width
        return self._places[segment.lower] + (self.graph.in_at(segment) / width * 0.9 if width else 0.45)

    def state(self) -> list[object]:
        """All that sweeps change: rows, and the places of ports."""
        ports = [(list(item.inputs), list(item.outputs)) for item in self.graph.items if not item.fixed]
        return [[list(row) for row in self.graph.rows], ports]

    def cost(self) -> tuple[int, int]:
        """Crossings, and how far the rows are from the order of the code."""
        turned = 0
        for row in self.graph.rows:
            items = [(_is_minor(self.graph, slot), slot) for slot in row if self.graph.slots[slot].item is not None]
            turned += sum(a > b for a, b in pairwise(items))
        return self.crossings(), turned

    def crossings(self) -> int:
        """How many pairs of lines cross."""
        return sum(self._crossings_in(gap) for gap in self.graph.gaps if len(gap) > 1)

    def _crossings_in(self, gap: Sequence[Segment]) -> int:
        seen: list[float] = []
        total = 0
        for _, end in sorted((self._upper(segment), self._lower(segment)) for segment in gap):
            total += len(seen) - bisect_right(seen, end)
            insort(seen, end)
        return total

    def sort(self, row: int, *, down: bool) -> None:
        """Sorts a row by the places of what its slots are linked to, in the row above (``down``) or below."""
        graph, here = self.graph, self.graph.rows[row]
        neighbours, key = (self._above, self._upper) if down else (self._below, self._lower)
        others = len(graph.rows[row - 1 if down else row + 1])
        scale = others / max(1, len(here))
        wanted: dict[int, float] = {}
        for place, slot in enumerate(here):
            segments = neighbours[slot]
            wanted[slot] = sum(map(key, segments)) / len(segments) if segments else (place + 0.45) * scale
            if not segments and graph.slots[slot].item is not None and graph.items[slot].near is not None:
                wanted[slot] = others  # what is linked to nothing stands at the right
        here.sort(key=lambda slot: (not graph.slots[slot].spine, wanted[slot]))
        self._number(here)

    def turn_ports(self) -> None:
        """Ports in the order of what they are linked to."""
        items = self.graph.items
        for inputs, outputs in self._open:
            for item, ports in inputs.items():
                _turn(items[item].inputs, ports, self._upper, items[item].main_in, items[item].width)
            for item, ports in outputs.items():
                _turn(items[item].outputs, ports, self._lower, items[item].main_out, items[item].width)

    def transpose(self) -> None:
        """Swaps neighbours in a row where that saves crossings."""
        slots = self.graph.slots
        for here in self.graph.rows:
            ends = [
                (sorted(map(self._upper, self._above[slot])), sorted(map(self._lower, self._below[slot])))
                for slot in (here if len(here) > 1 else ())
            ]
            for place in range(len(here) - 1):
                first, second = here[place], here[place + 1]
                if slots[first].spine or slots[second].spine:
                    continue
                pairs = zip(ends[place], ends[place + 1], strict=True)
                if sum(_turned(a, b) - _turned(b, a) for a, b in pairs if a and b) > 0:
                    here[place], here[place + 1] = second, first
                    ends[place], ends[place + 1] = ends[place + 1], ends[place]
            self._number(here)


def _open_ports(graph: Layered, gap: Sequence[Segment], *, upper: bool) -> _Ends:
    """Output ports (``upper``) or input ports at the ends of a gap's segments that may change places."""
    ends: _Ends = defaultdict(lambda: defaultdict(list))
    for segment in gap:
        item = graph.slots[segment.upper if upper else segment.lower].item
        if item is not None and not graph.items[item].fixed:
            ends[item][segment.out if upper else segment.into].append(segment)
    return {item: ports for item, ports in ends.items() if len(ports) > 1}


def _turn(
    offsets: list[float],
    ports: Mapping[int, list[Segment]],
    key: Callable[[Segment], float],
    main: int | None,
    width: float,
) -> None:
    """Sorts the ports of one side of an item by the other ends of their segments."""
    wanted = {port: (sum(map(key, segments)) / len(segments), offsets[port]) for port, segments in ports.items()}
    by_place = sorted(ports, key=wanted.__getitem__)
    chosen = sorted(offsets[port] for port in ports)
    if main is not None and main in ports:
        chosen = _around_main(width, by_place.index(main), len(by_place))
    for port, offset in zip(by_place, chosen, strict=True):
        offsets[port] = offset


def _around_main(width: float, main: int, count: int) -> list[float]:
    """Distances of ports of which one stands in the middle."""
    left = [width / 2 * (place + 1) / (main + 1) for place in range(main)]
    right = [width / 2 * (1 + (place + 1) / (count - main)) for place in range(count - main - 1)]
    return [*left, width / 2, *right]


def _turned(first: Sequence[float], second: Sequence[float]) -> int:
    """Pairs of ends that cross if the first ones' slot is left of the second ones' (both sorted)."""
    return sum(bisect_left(second, end) for end in first)
