"""The checker finds what is wrong, and finds nothing in what is drawn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from openmodelatlas.drawing.check import faults
from openmodelatlas.drawing.draw import draw_levels
from openmodelatlas.drawing.drawing import Drawing
from tests.drawing.sample import decoder, knowledge
from tests.site.sample import open_samples

replace = msgspec.structs.replace


def good() -> Drawing:
    return draw_levels(decoder(), knowledge())["block"]


def with_node(drawing: Drawing, number: int, **changes: Any) -> Drawing:
    nodes = list(drawing.nodes)
    nodes[number] = replace(nodes[number], **changes)
    return replace(drawing, nodes=tuple(nodes))


def with_edge(drawing: Drawing, number: int, **changes: Any) -> Drawing:
    edges = list(drawing.edges)
    edges[number] = replace(edges[number], **changes)
    return replace(drawing, edges=tuple(edges))


def with_title(drawing: Drawing, number: int, **changes: Any) -> Drawing:
    return with_node(drawing, number, title=replace(drawing.nodes[number].title, **changes))


def labelled(drawing: Drawing) -> int:
    return next(number for number, edge in enumerate(drawing.edges) if edge.label is not None)


def label_at(drawing: Drawing, **changes: Any) -> Drawing:
    number = labelled(drawing)
    label = drawing.edges[number].label
    assert label is not None
    return with_edge(drawing, number, label=replace(label, **changes))


def box_on_line(drawing: Drawing) -> Drawing:
    (x, y), _ = max(
        ((edge.points[0], edge.points[1]) for edge in drawing.edges if edge.points[0][0] == edge.points[1][0]),
        key=lambda ends: ends[1][1] - ends[0][1],
    )
    return with_node(drawing, 0, x=x - 20, y=y + 30)


def on_each_other(drawing: Drawing) -> Drawing:
    edges = drawing.edges
    other = next(each for each in edges if each.tensor != edges[0].tensor)
    return with_edge(drawing, edges.index(other), points=edges[0].points)


def bent_spine(drawing: Drawing) -> Drawing:
    number = next(number for number, edge in enumerate(drawing.edges) if edge.kind == "residual")
    points = drawing.edges[number].points
    return with_edge(drawing, number, points=(*points[:-1], (points[-1][0] + 5, points[-1][1])))


def opened_over_box(drawing: Drawing) -> Drawing:
    step = replace(drawing.knots[0].steps[0], x=drawing.nodes[0].x, y=drawing.nodes[0].y)
    return replace(drawing, knots=(replace(drawing.knots[0], steps=(step,)),))


BROKEN: dict[str, tuple[str, Callable[[Drawing], Drawing]]] = {
    "a box moved over another": (
        "box over box",
        lambda drawing: with_node(drawing, 0, x=drawing.nodes[1].x, y=drawing.nodes[1].y),
    ),
    "a label over a box": (
        "text over box",
        lambda drawing: label_at(drawing, x=drawing.nodes[1].x, y=drawing.nodes[1].y),
    ),
    "a title over a label": (
        "text over text",
        lambda drawing: label_at(drawing, x=drawing.nodes[1].title.x, y=drawing.nodes[1].title.y),
    ),
    "a title wider than its box": ("text outside its box", lambda drawing: with_title(drawing, 0, width=900.0)),
    "a box on a line": ("line through box", box_on_line),
    "a label on a line": (
        "line through text",
        lambda drawing: label_at(drawing, x=drawing.edges[0].points[0][0] - 5, y=drawing.edges[0].points[0][1] + 4),
    ),
    "two lines on each other": ("line on line", on_each_other),
    "a line that ends in the air": (
        "line not at its box",
        lambda drawing: with_edge(drawing, 0, points=(*drawing.edges[0].points[:-1], (1.0, 1.0))),
    ),
    "a box beyond the canvas": ("outside the canvas", lambda drawing: replace(drawing, width=drawing.width / 2)),
    "letters of ten pixels": ("small text", lambda drawing: with_title(drawing, 0, size=10.0)),
    "a spine with a corner": ("spine not straight", bent_spine),
    "opened plumbing over a box": ("text over box", opened_over_box),
}


def without_fault(drawing: Drawing) -> None:
    assert faults(drawing) == []


def test_what_is_drawn_has_no_fault() -> None:
    without_fault(good())


@pytest.mark.parametrize("broken", BROKEN)
def test_each_fault_is_found(broken: str) -> None:
    kind, change = BROKEN[broken]

    assert kind in {fault.kind for fault in faults(change(good()))}


def test_no_level_of_the_samples_has_a_fault(tmp_path_factory: pytest.TempPathFactory) -> None:
    atlases = open_samples(tmp_path_factory.mktemp("home"))
    found = [
        (address, fault)
        for atlas in atlases
        for address, drawing in draw_levels(atlas.document, atlas.knowledge).items()
        for fault in faults(drawing)
    ]
    found += [
        (address, fault)
        for address, drawing in draw_levels(decoder(), knowledge()).items()
        for fault in faults(drawing)
    ]

    assert found == []
