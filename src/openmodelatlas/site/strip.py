"""The layer strip: all layers as cells, each a link to the same place in that layer's group."""

from __future__ import annotations

import re
from dataclasses import dataclass

from openmodelatlas.site.fields import Page

_TICK = re.compile(r"`")


@dataclass(frozen=True, slots=True)
class Cell:
    """One layer.

    Attributes:
        layer: its number, from 1.
        variant: number of its group, from 1, for its colour.
        address: the same place in that group.
        note: which group it belongs to, and what differs there.
        here: whether the page is about it.
    """

    layer: int
    variant: int
    address: str
    note: str
    here: bool


def cells(page: Page) -> list[Cell]:
    """The cells of the strip on ``page``, in the order of the layers."""
    members = set(page.layers.members)
    found = []
    for index, place in enumerate(page.same_place, start=1):
        differs = f"; {'; '.join(place.differs)}" if place.differs else ""
        note = _TICK.sub("", f"{place.label}{differs}")
        here = bool(members) and (place.here or not any(item.here for item in page.same_place))
        found += [
            Cell(layer, index, place.address, f"Layer {layer}: {note}", here and layer in members)
            for layer in place.members
        ]
    return sorted(found, key=lambda cell: cell.layer)
