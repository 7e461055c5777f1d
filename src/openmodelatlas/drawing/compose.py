"""A level as it is drawn: its pieces laid out, its texts and lines in place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from openmodelatlas.drawing.boxes import (
    CIRCLE,
    CLOSER_GAP,
    LABEL_GAP,
    MARK_HEIGHT,
    MARK_WIDTH,
    STEP_GAP,
    STEP_HEIGHT,
    BoxWriter,
)
from openmodelatlas.drawing.drawing import Drawing, DrawnEdge, DrawnNode, DrawnText, Knot, Point
from openmodelatlas.drawing.layered.graph import Item, Link
from openmodelatlas.drawing.layered.layout import lay_out
from openmodelatlas.drawing.layered.route import simplified
from openmodelatlas.drawing.level import Box, Level, Stream, Use
from openmodelatlas.drawing.pieces import Piece
from openmodelatlas.drawing.ports import box_ports, circle_ports, is_minor, main_line, stretches
from openmodelatlas.drawing.stacks import Stack, find_stacks, stack_up
from openmodelatlas.drawing.straighten import straightened

Layout = tuple[list[Item], list[list[Point]], float, float]
"""Items in place, routes of the links, width and height."""

LayOut = Callable[[list[Item], list[Link]], Layout]

MARGIN = 16.0
"""Around a diagram."""


@dataclass
class _Trunk:
    """The way of a stream: its label, its knots, and which links lead to each reader.

    Attributes:
        label: item of the label, ``None`` if the stream has none.
        knots: item of each stretch of plumbing, by all the steps up to its end.
        paths: links from the origin to each use, in order.
    """

    label: int | None = None
    knots: dict[tuple[str, ...], int] = field(default_factory=dict)
    paths: list[list[int]] = field(default_factory=list)


class Composer:
    """Draws the levels of one atlas; levels that are alike are laid out once."""

    def __init__(self, writer: BoxWriter) -> None:
        self._writer = writer
        self._known: dict[object, Layout] = {}

    def draw(self, level: Level) -> Drawing:
        """The diagram of ``level``."""
        return _Plan(self._writer, level, self._lay_out).drawing()

    def _lay_out(self, items: list[Item], links: list[Link]) -> Layout:
        key = (
            tuple(
                (item.width, item.height, tuple(item.inputs), tuple(item.outputs), item.fixed, item.spine, item.hang)
                for item in items
            ),
            tuple(links),
        )
        found = self._known.get(key)
        if found is None:
            routes, width, height = lay_out(items, links)
            found = self._known[key] = (items, routes, width, height)
        return found


class _Plan:
    """One level on its way to a drawing."""

    def __init__(self, writer: BoxWriter, level: Level, lay_out: LayOut) -> None:
        self.writer = writer
        self.level = level
        self.lay_out = lay_out
        self.pieces: list[Piece] = [writer.box(level, box) for box in level.boxes]
        self.stacks: dict[int, tuple[Stack, int]] = {}
        for members in find_stacks(level):
            for member in members:
                self.pieces[member] = writer.row(level, level.boxes[member])
            stack = stack_up(members, self.pieces)
            self.stacks.update({member: (stack, place) for place, member in enumerate(members)})
        self.items: list[Item] = []
        self.links: list[Link] = []
        self.knot_steps: dict[int, tuple[str, ...]] = {}

    def drawing(self) -> Drawing:
        """Lays out and puts everything in place."""
        self._box_items()
        trunks = [self._trunk(stream) for stream in self.level.streams]
        self.items, routes, width, height = self.lay_out(self.items, self.links)
        self._shift(routes)
        nodes = tuple(self._node(box) for box in self.level.boxes)
        knots: list[Knot] = []
        edges: list[DrawnEdge] = []
        for stream, trunk in zip(self.level.streams, trunks, strict=True):
            self._draw_stream(stream, trunk, routes, edges, knots)
        edges = straightened(edges, self.level.boxes, self.items)
        return Drawing(
            width=round(width + 2 * MARGIN, 1),
            height=round(height + 2 * MARGIN, 1),
            nodes=nodes,
            edges=tuple(edges),
            knots=tuple(knots),
        )

    def _box_items(self) -> None:
        ins: dict[int, list[bool]] = defaultdict(list)
        outs: dict[int, list[bool]] = defaultdict(list)
        for stream in self.level.streams:
            leaves = [self.level.boxes[use.target] for use in stream.uses]
            outs[stream.origin].append(all(is_minor(box) for box in leaves))
            for use in stream.uses:
                ins[use.target].append(is_minor(self.level.boxes[stream.origin]) and not use.spine)
        for box, piece in zip(self.level.boxes, self.pieces, strict=True):
            if box.index in self.stacks:
                self.items.append(self._stacked_item(*self.stacks[box.index]))
                continue
            fixed = box.role == "addition"
            inputs, outputs = (circle_ports if fixed else box_ports)(box, piece, ins[box.index], outs[box.index])
            hang = {"input": 1.0, "output": 0.0}.get(box.role, 0.5)
            item = Item(piece.width, piece.height, inputs, outputs, fixed=fixed, spine=box.spine, hang=hang)
            item.minor = is_minor(box)
            if not fixed and not box.spine:
                item.main_in, item.main_out = main_line(ins[box.index]), main_line(outs[box.index])
            if not ins[box.index] and not outs[box.index]:
                item.near = box.index + 1 if box.index + 1 < len(self.level.boxes) else None
            self.items.append(item)
        self._ports_in: dict[int, int] = defaultdict(int)
        self._ports_out: dict[int, int] = defaultdict(int)

    def _stacked_item(self, stack: Stack, place: int) -> Item:
        """The whole stack in place of its first box, nothing in that of the others."""
        if place:
            return Item(0.0, 0.0, absent=True)
        return Item(stack.width, stack.height, [], list(stack.lanes), hang=1.0, minor=True)

    def _in_port(self, use: Use) -> int:
        """The next free port; the stream's own port of an addition is the first, that of the update the second."""
        box = self.level.boxes[use.target]
        if box.role == "addition":
            if use.spine or (not box.spine and self._ports_in[box.index] == 0):
                self._ports_in[box.index] = max(self._ports_in[box.index], 1)
                return 0
            self._ports_in[box.index] = max(self._ports_in[box.index], 1) + 1
            return min(self._ports_in[box.index] - 1, len(self.items[box.index].inputs) - 1)
        self._ports_in[box.index] += 1
        return self._ports_in[box.index] - 1

    def _trunk(self, stream: Stream) -> _Trunk:
        trunk = _Trunk()
        origin = self.level.boxes[stream.origin]
        out = self._ports_out[origin.index]
        self._ports_out[origin.index] += 1
        start = (origin.index, out)
        if origin.index in self.stacks:
            stack, place = self.stacks[origin.index]
            start = (stack.members[0], place)
        head: list[int] = []
        spine = any(use.spine for use in stream.uses)
        if self._is_labelled(stream):
            piece = self.writer.label(self.level, stream)
            if piece.lines:
                trunk.label = self._add(piece, spine=spine, hang=0.0)
                head = [self._link(*start, trunk.label, 0, spine=spine, tight=True)]
                start = (trunk.label, 0)
        ends: dict[tuple[str, ...], tuple[tuple[int, int], list[int]]] = {(): (start, head)}
        ends_of = stretches([use.via for use in stream.uses])
        for use in stream.uses:
            done: tuple[str, ...] = ()
            while done != use.via:
                reach = next(
                    each for each in ends_of if each[: len(done)] == done != each and use.via[: len(each)] == each
                )
                if reach not in ends:
                    ends[reach] = self._knot(trunk, stream, reach, done, ends[done])
                done = reach
            (source, port), way = ends[done]
            near = bool(done) and self._is_late(stream, done)
            last = self._link(source, port, use.target, self._in_port(use), spine=use.spine, tight=near)
            trunk.paths.append([*way, last])
        return trunk

    def _knot(
        self,
        trunk: _Trunk,
        stream: Stream,
        reach: tuple[str, ...],
        done: tuple[str, ...],
        before: tuple[tuple[int, int], list[int]],
    ) -> tuple[tuple[int, int], list[int]]:
        steps = reach[len(done) :]
        piece = self.writer.knot(steps)
        spine = any(use.spine and use.via[: len(reach)] == reach for use in stream.uses)
        item = self._add(piece, spine=spine, hang=0.0)
        trunk.knots[reach] = item
        self.knot_steps[item] = steps
        (source, port), way = before
        late = self._is_late(stream, reach)
        return (item, 0), [*way, self._link(source, port, item, 0, spine=spine, tight=not late)]

    def _is_late(self, stream: Stream, reach: tuple[str, ...]) -> bool:
        """Whether plumbing stands near its reader: where others read the tensor too, so that their lines are one."""
        return len(stream.uses) > 1 and sum(use.via[: len(reach)] == reach for use in stream.uses) == 1

    def _is_labelled(self, stream: Stream) -> bool:
        """What enters or leaves says itself what it is; so a line between it and one box needs no label."""
        origin = self.level.boxes[stream.origin]
        if origin.role == "input":
            return False
        if all(self.level.boxes[use.target].role == "output" for use in stream.uses):
            return False
        return bool(stream.name) or not self.writer.shows_shape(self.level, origin, stream.tensor)

    def _add(self, piece: Piece, *, spine: bool, hang: float) -> int:
        self.pieces.append(piece)
        self.items.append(Item(piece.width, piece.height, [piece.axis], [piece.axis], spine=spine, hang=hang))
        return len(self.items) - 1

    def _link(self, source: int, out: int, target: int, into: int, *, spine: bool = False, tight: bool = False) -> int:
        self.links.append(Link(source, out, target, into, spine=spine, tight=tight))
        return len(self.links) - 1

    def _shift(self, routes: list[list[Point]]) -> None:
        """Moves everything in by the margin (on copies, since alike levels share a layout)."""
        self.items = [replace(item, x=item.x + MARGIN, y=item.y + MARGIN) for item in self.items]
        self.routes = [[(x + MARGIN, y + MARGIN) for x, y in route] for route in routes]
        wholes = {stack.members[0]: self.items[stack.members[0]] for stack, _ in self.stacks.values()}
        for member, (stack, place) in self.stacks.items():
            whole, height = wholes[stack.members[0]], self.pieces[member].height
            x, y = whole.x + stack.left, whole.y + stack.tops[place]
            self.items[member] = replace(whole, x=x, y=y, width=stack.wide, height=height, absent=False)

    def _node(self, box: Box) -> DrawnNode:
        piece, item = self.pieces[box.index], self.items[box.index]
        address = box.address
        if box.role == "addition":
            title = piece.lines["title"].at(item.x, item.y + piece.tops["title"])
            x = item.x + piece.axis - CIRCLE / 2
            return DrawnNode(
                id=str(box.index),
                address=address,
                link=address,
                role="addition",
                x=round(x, 2),
                y=round(item.y, 2),
                width=CIRCLE,
                height=CIRCLE,
                family=self.writer.family(address) or "residual",
                title=title,
            )
        texts = {name: self._text(piece, item, name) for name in piece.lines}
        node = self.writer.node(box.address) if box.role == "node" else None
        return DrawnNode(
            id=str(box.index),
            address=address,
            link=self._link_of(box),
            role=box.role,
            x=round(item.x, 2),
            y=round(item.y, 2),
            width=item.width,
            height=item.height,
            family=("state" if box.state else None) if node is None else self.writer.family(address),
            title=texts["title"],
            title_end=texts.get("title_end"),
            formula=texts.get("formula"),
            shape=texts.get("shape"),
            count=1 if node is None else node.count,
            badge=texts.get("badge"),
            opens=node is not None and self.writer.opens(address),
            note=texts.get("note"),
        )

    def _link_of(self, box: Box) -> str | None:
        if box.role == "node":
            return box.address
        if box.role == "output" or box.source is None:
            return self.writer.page_of(box.address)
        return self.writer.seen_from(self.level.node, box.source)

    def _text(self, piece: Piece, item: Item, name: str) -> DrawnText:
        made = piece.lines[name]
        y = item.y + piece.tops[name]
        if name in piece.lefts:
            return made.at(item.x + piece.lefts[name], y)
        badge = piece.lines.get("badge")
        if badge is None or name not in ("title", "badge"):
            return made.at(item.x + item.width / 2, y, middle=True)
        both = piece.lines["title"].width + 22 + badge.width
        left = item.x + (item.width - both) / 2
        if name == "title":
            return made.at(left, y)
        return made.at(left + piece.lines["title"].width + 15, y)

    def _draw_stream(
        self, stream: Stream, trunk: _Trunk, routes: list[list[Point]], edges: list[DrawnEdge], knots: list[Knot]
    ) -> None:
        numbers: dict[tuple[str, ...], int] = {}
        for reach, item in trunk.knots.items():
            numbers[reach] = len(knots)
            knots.append(self._draw_knot(stream, item))
        label = None if trunk.label is None else self._label_texts(trunk.label)
        for place, (use, path) in enumerate(zip(stream.uses, trunk.paths, strict=True)):
            points = self._out_of_stack(stream.origin)
            for link in path:
                points += self.routes[link]
            target = self.level.boxes[use.target]
            if target.role == "addition" and self.links[path[-1]].into > 0:
                points += self._into_circle(target, points[-1][0])
            passed = tuple(numbers[reach] for reach in numbers if use.via[: len(reach)] == reach)
            edges.append(
                DrawnEdge(
                    tensor=stream.tensor,
                    source=str(stream.origin),
                    target=str(use.target),
                    name=use.name,
                    kind=stream.kind(use),
                    points=tuple(simplified(points)),
                    label=label[0] if label is not None and place == 0 else None,
                    shape=label[1] if label is not None and place == 0 else None,
                    plumbing=use.via,
                    knots=passed,
                )
            )

    def _out_of_stack(self, origin: int) -> list[Point]:
        """From a box in a stack to the line at the left of the stack; nothing for other boxes."""
        if origin not in self.stacks:
            return []
        stack, place = self.stacks[origin]
        item = self.items[origin]
        middle = item.y + item.height / 2
        return [(item.x, middle), (item.x - stack.left + stack.lanes[place], middle)]

    def _into_circle(self, box: Box, x: float) -> list[Point]:
        item, piece = self.items[box.index], self.pieces[box.index]
        middle = item.y + CIRCLE / 2
        return [(x, middle), (item.x + piece.axis + CIRCLE / 2, middle)]

    def _label_texts(self, index: int) -> tuple[DrawnText | None, DrawnText | None]:
        piece, item = self.pieces[index], self.items[index]
        x = item.x + LABEL_GAP
        made: list[DrawnText | None] = []
        for name in ("label", "shape"):
            text = piece.lines.get(name)
            made.append(None if text is None else text.at(x, item.y + (piece.height - text.height) / 2))
            x += 0 if text is None else text.width + LABEL_GAP
        return made[0], made[1]

    def _draw_knot(self, stream: Stream, index: int) -> Knot:
        piece, item = self.pieces[index], self.items[index]
        steps = self.knot_steps[index]
        axis = item.x + piece.axis
        middle = item.y + piece.height / 2
        boxes = []
        for place, step in enumerate(steps):
            text = piece.lines[f"step {step}"]
            top = item.y + place * (STEP_HEIGHT + STEP_GAP)
            width = text.width + 16
            boxes.append(
                DrawnNode(
                    id=step,
                    address=step,
                    link=step,
                    role="step",
                    x=round(axis - width / 2, 2),
                    y=round(top, 2),
                    width=round(width, 2),
                    height=STEP_HEIGHT,
                    title=text.at(axis, top + (STEP_HEIGHT - text.height) / 2, middle=True),
                )
            )
        shape = piece.lines.get("shape")
        first = piece.lines[f"step {steps[0]}"].width / 2 + 8
        corner = (axis - first - CLOSER_GAP - MARK_WIDTH, item.y + (STEP_HEIGHT - MARK_HEIGHT) / 2)
        return Knot(
            tensor=stream.tensor,
            x=round(axis - MARK_WIDTH / 2, 2),
            y=round(middle - MARK_HEIGHT / 2, 2),
            width=MARK_WIDTH,
            height=MARK_HEIGHT,
            shape=None if shape is None else shape.at(axis + MARK_WIDTH / 2 + LABEL_GAP, middle - shape.height / 2),
            closer=(round(corner[0], 2), round(corner[1], 2)),
            end=None
            if shape is None
            else shape.at(axis + piece.tops["end"], item.y + item.height - (STEP_HEIGHT + shape.height) / 2),
            steps=tuple(boxes),
        )
