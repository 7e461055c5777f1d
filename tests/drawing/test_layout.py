"""The layered layout: whatever the graph, nothing overlaps, lines are straight stretches from port to port."""

from __future__ import annotations

import copy
from itertools import pairwise
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from openmodelatlas.drawing.drawing import Point
from openmodelatlas.drawing.layered import order
from openmodelatlas.drawing.layered.graph import Item, Link
from openmodelatlas.drawing.layered.layout import lay_out

Graph = tuple[list[Item], list[Link]]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Items with up to three ports a side; every link leads to a later item, every port is used by one target."""
    count = draw(st.integers(1, 14))
    sizes = st.integers(20, 200)
    items = [Item(float(draw(sizes)), float(draw(sizes))) for _ in range(count)]
    links: list[Link] = []
    for target in range(1, count):
        sources = draw(st.lists(st.integers(0, target - 1), max_size=3, unique=True))
        for source in sources:
            item = items[source]
            if not item.outputs or (len(item.outputs) < 3 and draw(st.booleans())):
                item.outputs.append(0.0)
            out = draw(st.integers(0, len(item.outputs) - 1))
            items[target].inputs.append(0.0)
            links.append(Link(source, out, target, len(items[target].inputs) - 1, tight=draw(st.booleans())))
    for item in items:
        item.inputs = [item.width * (place + 1) / (len(item.inputs) + 1) for place in range(len(item.inputs))]
        item.outputs = [item.width * (place + 1) / (len(item.outputs) + 1) for place in range(len(item.outputs))]
        item.fixed = draw(st.booleans())
        item.minor = draw(st.booleans())
    return items, links


def crosses(start: Point, stop: Point, item: Item) -> bool:
    (left, right), (top, bottom) = sorted((start[0], stop[0])), sorted((start[1], stop[1]))
    return (
        right > item.x + 0.1
        and left < item.x + item.width - 0.1
        and bottom > item.y + 0.1
        and top < item.y + item.height - 0.1
    )


@settings(max_examples=100)
@given(graphs())
def test_any_graph_is_laid_out_cleanly(graph: Graph) -> None:
    items, links = graph
    routes, width, height = lay_out(items, links)

    nothing_overlaps(items, width, height)
    no_line_runs_through_an_item(items, routes)
    lines_lead_down_from_port_to_port(items, links, routes)
    lines_of_different_ports_do_not_lie_on_each_other(links, routes)


@settings(max_examples=100)
@given(graphs())
def test_sweeps_that_come_back_to_an_order_are_not_repeated(graph: Graph) -> None:
    items, links = graph
    again = copy.deepcopy(items)
    routes = lay_out(items, links)
    with mock.patch.object(
        order._Order, "state", side_effect=lambda: [object()]
    ):  # never the same: all sweeps are made
        every = lay_out(again, links)

    assert routes == every
    assert items == again


def nothing_overlaps(items: list[Item], width: float, height: float) -> None:
    for item in items:
        assert item.x >= -0.01
        assert item.y >= 0
        assert item.x + item.width <= width + 0.01
        assert item.y + item.height <= height + 0.01
    for number, first in enumerate(items):
        for second in items[number + 1 :]:
            beside = first.x + first.width <= second.x or second.x + second.width <= first.x
            assert beside or first.y + first.height <= second.y or second.y + second.height <= first.y


def no_line_runs_through_an_item(items: list[Item], routes: list[list[Point]]) -> None:
    for route in routes:
        for start, stop in pairwise(route):
            assert start[0] == stop[0] or start[1] == stop[1]
            assert not any(crosses(start, stop, item) for item in items)


def lines_lead_down_from_port_to_port(items: list[Item], links: list[Link], routes: list[list[Point]]) -> None:
    for link, route in zip(links, routes, strict=True):
        source, target = items[link.source], items[link.target]
        start = (source.x + source.outputs[link.out], source.y + source.height)
        assert max(abs(a - b) for a, b in zip(route[0], start, strict=True)) < 0.02
        end = (target.x + target.inputs[link.into], target.y)
        assert max(abs(a - b) for a, b in zip(route[-1], end, strict=True)) < 0.02
        assert all(above[1] <= below[1] for above, below in pairwise(route))


def lines_of_different_ports_do_not_lie_on_each_other(links: list[Link], routes: list[list[Point]]) -> None:
    stretches: dict[tuple[bool, float], list[tuple[float, float, tuple[int, int]]]] = {}
    for link, route in zip(links, routes, strict=True):
        for (x, y), (u, v) in pairwise(route):
            upright = x == u
            low, high = sorted((y, v) if upright else (x, u))
            key = (upright, round(x if upright else y, 1))
            stretches.setdefault(key, []).append((low, high, (link.source, link.out)))

    for lane in stretches.values():
        for place, (low, high, first) in enumerate(lane):
            for start, stop, second in lane[place + 1 :]:
                assert first == second or min(high, stop) - max(low, start) <= 0.1


@settings(max_examples=40)
@given(graphs(), st.data())
def test_the_spine_is_straight_and_at_the_left(graph: Graph, data: st.DataObject) -> None:
    items, links = graph
    chain = [0]
    for number in range(1, len(items)):
        if data.draw(st.booleans()):
            chain.append(number)
    for number in chain:
        items[number].spine = True
        items[number].fixed = True
    links = [link for link in links if not (items[link.source].spine and items[link.target].spine)]
    for source, target in pairwise(chain):
        items[source].outputs.append(5.0)
        items[target].inputs.append(5.0)
        links.append(Link(source, len(items[source].outputs) - 1, target, len(items[target].inputs) - 1, spine=True))
    routes, _, _ = lay_out(items, links)

    lines = {x for link, route in zip(links, routes, strict=True) if link.spine for x, _ in route}
    assert len(lines) <= 1
    rows: dict[int, list[int]] = {}
    for number, item in enumerate(items):
        rows.setdefault(item.layer, []).append(number)
    for row in rows.values():
        for spine in (number for number in row if items[number].spine):
            assert all(items[number].x >= items[spine].x for number in row)


def test_a_chain_is_one_straight_line() -> None:
    items = [Item(width, 30.0, [width / 2], [width / 2]) for width in (50.0, 120.0, 80.0, 200.0)]
    links = [Link(number, 0, number + 1, 0) for number in range(3)]
    routes, width, _ = lay_out(items, links)

    assert {x for route in routes for x, _ in route} == {100.0}
    assert width == 200.0


def test_long_lines_from_one_port_share_their_way() -> None:
    items = [Item(60.0, 20.0, [30.0], [30.0]) for _ in range(5)]
    items[3].inputs = [20.0, 40.0]
    items[4].inputs = [20.0, 40.0]
    links = [Link(0, 0, 1, 0), Link(1, 0, 2, 0), Link(2, 0, 3, 0), Link(3, 0, 4, 0), Link(0, 0, 3, 1), Link(0, 0, 4, 1)]
    routes, _, _ = lay_out(items, links)

    assert routes[4][:3] == routes[5][:3]


def test_circles_are_refused() -> None:
    items = [Item(10.0, 10.0, [5.0], [5.0]) for _ in range(2)]
    with pytest.raises(ValueError, match="circle"):
        lay_out(items, [Link(0, 0, 1, 0), Link(1, 0, 0, 0)])
