"""The whole layout: rows, order, positions, routes."""

from __future__ import annotations

from collections.abc import Sequence

from openmodelatlas.drawing.drawing import Point
from openmodelatlas.drawing.layered.graph import Item, Link
from openmodelatlas.drawing.layered.layers import assign, with_dummies
from openmodelatlas.drawing.layered.order import arrange
from openmodelatlas.drawing.layered.place import place
from openmodelatlas.drawing.layered.route import route


def lay_out(items: Sequence[Item], links: Sequence[Link]) -> tuple[list[list[Point]], float, float]:
    """Places ``items`` and routes ``links``, which lead from sources to targets without going round in a circle.

    Returns:
        The corners of each link's route from port to port, and the width and height of the whole, in pixels.
    """
    assign(items, links)
    graph = with_dummies(items, links)
    arrange(graph)
    width = place(graph)
    routes, height = route(graph)
    return routes, width, height
