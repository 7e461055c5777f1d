"""What is laid out: items with ports, and links between them."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Item:
    """A rectangle with ports on its upper and lower side.

    Attributes:
        width, height: in pixels.
        inputs, outputs: distances of the ports from the left side.
        fixed: whether the order of the ports is given; else it may change to avoid crossings.
        spine: whether it stands on the spine.
        main_in, main_out: ports that stand in the middle of their side, whatever is beside them; ``None`` for none.
        minor: whether lines from and to it may bend so that others are straight.
        near: an item whose row it joins if it has no links, ``None`` for the first row.
        hang: where it stands in its row: 0 at the top, 0.5 in the middle, 1 at the bottom.
        absent: whether it has no place at all (and no links); it only keeps its number.
        layer: row, from 0.
        x, y: upper left corner.
    """

    width: float
    height: float
    inputs: list[float] = field(default_factory=list)
    outputs: list[float] = field(default_factory=list)
    fixed: bool = True
    spine: bool = False
    main_in: int | None = None
    main_out: int | None = None
    minor: bool = False
    near: int | None = None
    absent: bool = False
    hang: float = 0.5
    layer: int = 0
    x: float = 0.0
    y: float = 0.0


@dataclass(frozen=True)
class Link:
    """A line from a port on the lower side of ``source`` to one on the upper side of ``target`` (indices of items).

    Attributes:
        source, out: item and port that it leaves.
        target, into: item and port that it reaches.
        spine: whether it is a stretch of the spine.
        tight: whether the two belong together, such as a label and what it labels.
    """

    source: int
    out: int
    target: int
    into: int
    spine: bool = False
    tight: bool = False


@dataclass
class Slot:
    """An item or dummy in a row, by which the later stages speak of both.

    Attributes:
        index: of the slot.
        item: the item, or ``None`` for a dummy.
        width: in pixels.
        spine: whether it stands on the spine.
        layer: row.
        x: left side.
    """

    index: int
    item: int | None
    width: float
    spine: bool
    layer: int
    x: float = 0.0


@dataclass
class Segment:
    """A stretch of links between two neighbouring rows.

    Attributes:
        upper, lower: indices of slots.
        out, into: port of the upper and the lower slot (0 for dummies).
        spine: whether it belongs to the spine.
        net: number of the port that the links leave; segments of one net are drawn as one line.
    """

    upper: int
    lower: int
    out: int
    into: int
    spine: bool
    net: int


@dataclass
class Layered:
    """A graph whose links run between neighbouring rows only.

    Attributes:
        items: as given.
        slots: items first, then dummies.
        rows: indices of slots in each row, from left to right.
        gaps: segments below each row.
        chains: for each link, the slots it passes, with its source and target.
        links: as given.
    """

    items: list[Item]
    slots: list[Slot]
    rows: list[list[int]]
    gaps: list[list[Segment]]
    chains: list[list[int]]
    links: list[Link]

    def out_at(self, segment: Segment) -> float:
        """Distance of the upper end from the left side of its slot."""
        item = self.slots[segment.upper].item
        return 0.0 if item is None else self.items[item].outputs[segment.out]

    def in_at(self, segment: Segment) -> float:
        """Distance of the lower end from the left side of its slot."""
        item = self.slots[segment.lower].item
        return 0.0 if item is None else self.items[item].inputs[segment.into]
