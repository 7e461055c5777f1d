"""Whether a diagram can be read: a checker over its geometry."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from openmodelatlas.drawing.drawing import Drawing, DrawnEdge, DrawnNode, DrawnText, Knot, Point
from openmodelatlas.drawing.metrics import run_size

LEAST_SIZE = 11.0
"""Of text at the opening zoom, in pixels."""

_NEAR = 2.0
"""Lines that are nearer look like one."""

_TOUCH = 0.5
"""What may overlap: lines have a thickness, and numbers are rounded."""

Kind = Literal[
    "text over text",
    "text over box",
    "box over box",
    "text outside its box",
    "line through box",
    "line through text",
    "line on line",
    "line not at its box",
    "outside the canvas",
    "small text",
    "spine not straight",
]


@dataclass(frozen=True)
class Fault:
    """Something that cannot be read or is wrong in a diagram."""

    kind: Kind
    what: str


@dataclass(frozen=True)
class _Area:
    """A rectangle with what it is, and what it belongs to."""

    left: float
    top: float
    right: float
    bottom: float
    what: str
    owner: str

    def meets(self, other: _Area) -> bool:
        """Whether the two overlap by more than a touch."""
        return (
            min(self.right, other.right) - max(self.left, other.left) > _TOUCH
            and min(self.bottom, other.bottom) - max(self.top, other.top) > _TOUCH
        )

    def holds(self, other: _Area) -> bool:
        """Whether the other lies within this one."""
        return (
            other.left >= self.left - _TOUCH
            and other.right <= self.right + _TOUCH
            and other.top >= self.top - _TOUCH
            and other.bottom <= self.bottom + _TOUCH
        )

    def crossed_by(self, start: Point, stop: Point) -> bool:
        """Whether a horizontal or vertical stretch of a line runs through it."""
        (left, right), (top, bottom) = sorted((start[0], stop[0])), sorted((start[1], stop[1]))
        return (
            right > self.left + _TOUCH
            and left < self.right - _TOUCH
            and bottom > self.top + _TOUCH
            and top < self.bottom - _TOUCH
        )


def faults(drawing: Drawing) -> list[Fault]:
    """Everything that is wrong with the geometry of a diagram, with its plumbing closed and opened."""
    boxes = [_box(node) for node in drawing.nodes]
    texts = [*_node_texts(drawing.nodes), *_edge_texts(drawing.edges)]
    closed = [area for number, knot in enumerate(drawing.knots) for area in _closed(number, knot)]
    opened = [area for number, knot in enumerate(drawing.knots) for area in _opened(number, knot)]
    found: list[Fault] = []
    found += _overlaps(boxes, [*texts, *closed])
    found += _overlaps(boxes, [*texts, *opened], only="knot")
    found += _inside(drawing, [*boxes, *texts, *closed, *opened])
    found += _within(drawing.nodes)
    found += _lines(drawing, boxes, [*texts, *closed], opened)
    found += _on_each_other(drawing.edges)
    found += _small(drawing)
    found += _spine(drawing.edges)
    return found


def _box(node: DrawnNode) -> _Area:
    what = f"box {node.title.text!r}"
    return _Area(node.x, node.y, node.x + node.width, node.y + node.height, what, f"node {node.id}")


def _text(text: DrawnText, owner: str) -> _Area:
    return _Area(text.x, text.y, text.x + text.width, text.y + text.height, repr(text.text), owner)


def _texts_of(node: DrawnNode) -> list[DrawnText]:
    texts = (node.title, node.title_end, node.formula, node.note, node.shape, node.badge)
    return [text for text in texts if text is not None]


def _node_texts(nodes: Sequence[DrawnNode]) -> list[_Area]:
    return [_text(text, f"node {node.id}") for node in nodes for text in _texts_of(node)]


def _edge_texts(edges: Sequence[DrawnEdge]) -> list[_Area]:
    return [
        _text(text, f"edge {number}")
        for number, edge in enumerate(edges)
        for text in (edge.label, edge.shape)
        if text is not None
    ]


def _closed(number: int, knot: Knot) -> list[_Area]:
    owner = f"knot {number}"
    areas = [_Area(knot.x, knot.y, knot.x + knot.width, knot.y + knot.height, "mark of plumbing", owner)]
    return areas + ([] if knot.shape is None else [_text(knot.shape, owner)])


def _opened(number: int, knot: Knot) -> list[_Area]:
    owner = f"knot {number}"
    x, y = knot.closer
    areas = [_Area(x, y, x + knot.width, y + knot.height, "mark that closes plumbing", owner)]
    areas += [_Area(s.x, s.y, s.x + s.width, s.y + s.height, f"step {s.title.text!r}", owner) for s in knot.steps]
    return areas + ([] if knot.end is None else [_text(knot.end, owner)])


def _overlaps(boxes: Sequence[_Area], texts: Sequence[_Area], only: str = "") -> Iterator[Fault]:
    """Overlaps of boxes and texts; with ``only``, those which concern such an owner."""
    areas = [(area, True) for area in boxes] + [(area, False) for area in texts]
    areas.sort(key=lambda each: each[0].top)
    for place, (first, first_box) in enumerate(areas):
        for second, second_box in areas[place + 1 :]:
            if second.top >= first.bottom:
                break
            if only and not (first.owner.startswith(only) or second.owner.startswith(only)):
                continue
            if first.owner == second.owner and (first_box or second_box):
                continue
            if first.meets(second):
                boxed = first_box + second_box
                kind: Kind = ("text over text", "text over box", "box over box")[boxed]
                yield Fault(kind, f"{first.what} and {second.what}")


def _inside(drawing: Drawing, areas: Sequence[_Area]) -> Iterator[Fault]:
    canvas = _Area(0, 0, drawing.width, drawing.height, "", "")
    for area in areas:
        if not canvas.holds(area):
            yield Fault("outside the canvas", area.what)
    for edge in drawing.edges:
        if any(not (0 <= x <= drawing.width and 0 <= y <= drawing.height) for x, y in edge.points):
            yield Fault("outside the canvas", f"line of {edge.tensor}")


def _within(nodes: Sequence[DrawnNode]) -> Iterator[Fault]:
    for node in nodes:
        if node.role == "addition":
            continue
        frame = _box(node)
        for text in _texts_of(node):
            if not frame.holds(_text(text, "")):
                yield Fault("text outside its box", repr(text.text))


def _lines(
    drawing: Drawing, boxes: Sequence[_Area], texts: Sequence[_Area], opened: Sequence[_Area]
) -> Iterator[Fault]:
    by_id = {node.id: area for node, area in zip(drawing.nodes, boxes, strict=True)}
    labels = [area for area in texts if area.what != "mark of plumbing"]
    steps = [area for area in opened if not area.what.startswith("step")]
    for edge in drawing.edges:
        ends = {f"node {edge.source}", f"node {edge.target}"}
        own = {f"knot {number}" for number in edge.knots}
        if not (_touches(by_id[edge.source], edge.points[0]) and _touches(by_id[edge.target], edge.points[-1])):
            yield Fault("line not at its box", edge.tensor)
        for start, stop in pairwise(edge.points):
            for area in boxes:
                if area.owner not in ends and area.crossed_by(start, stop):
                    yield Fault("line through box", f"{edge.tensor} through {area.what}")
            for area in (*labels, *steps):
                if area.crossed_by(start, stop):
                    yield Fault("line through text", f"{edge.tensor} through {area.what}")
            for area in opened:
                if area.what.startswith("step") and area.owner not in own and area.crossed_by(start, stop):
                    yield Fault("line through box", f"{edge.tensor} through {area.what}")


def _touches(area: _Area, point: Point) -> bool:
    x, y = point
    inside = area.left - _TOUCH <= x <= area.right + _TOUCH and area.top - _TOUCH <= y <= area.bottom + _TOUCH
    edge = min(abs(x - area.left), abs(x - area.right), abs(y - area.top), abs(y - area.bottom))
    return inside and edge <= _TOUCH


def _on_each_other(edges: Sequence[DrawnEdge]) -> Iterator[Fault]:
    """Stretches of lines of different tensors that lie on each other, or so near that they look like one."""
    stretches: dict[bool, list[tuple[float, float, float, tuple[str, str]]]] = {True: [], False: []}
    for edge in edges:
        for (x, y), (u, v) in pairwise(edge.points):
            upright = x == u
            low, high = sorted((y, v)) if upright else sorted((x, u))
            stretches[upright].append((x if upright else y, low, high, (edge.tensor, edge.source)))
    for found in stretches.values():
        found.sort()
        for place, (at, low, high, first) in enumerate(found):
            for other, start, stop, second in found[place + 1 :]:
                if other - at >= _NEAR:
                    break
                if first != second and min(high, stop) - max(low, start) > _TOUCH:
                    yield Fault("line on line", f"{first[0]} and {second[0]}")


def _small(drawing: Drawing) -> Iterator[Fault]:
    texts = [text for node in drawing.nodes for text in _texts_of(node)]
    texts += [text for edge in drawing.edges for text in (edge.label, edge.shape) if text is not None]
    texts += [text for knot in drawing.knots for text in (knot.shape, knot.end) if text is not None]
    texts += [text for knot in drawing.knots for step in knot.steps for text in _texts_of(step)]
    for text in texts:
        if any(run_size(run, text.size) < LEAST_SIZE for run in text.runs):
            yield Fault("small text", repr(text.text))


def _spine(edges: Sequence[DrawnEdge]) -> Iterator[Fault]:
    lines = {x for edge in edges if edge.kind == "residual" for x, _ in edge.points}
    if lines and max(lines) - min(lines) > _TOUCH:
        yield Fault("spine not straight", ", ".join(f"{x:g}" for x in sorted(lines)))
