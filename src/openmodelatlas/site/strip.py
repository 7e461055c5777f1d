"""The layer strip: all layers as cells, each a link to the same place in that layer's group."""

from __future__ import annotations

from collections.abc import Callable

from markupsafe import Markup, escape

from openmodelatlas.site.fields import Page
from openmodelatlas.site.latex import readable

_MOST = 4
"""Differences that a cell tells; the page tells all."""


def strip_html(page: Page, href: Callable[[str], str]) -> Markup:
    """The cells in the order of the layers, as items of a list; empty where the model has no layers.

    Those of the page's own layers have ``aria-current``; the first of each kind has ``data-note``, what differs in it.
    """
    members = set(page.layers.members)
    around = any(place.here for place in page.same_place)
    cells: dict[int, str] = {}
    for variant, place in enumerate(page.same_place, start=1):
        link = escape(href(place.address))
        here = place.here or not around
        told = ["as here"] if place.here else place.differs[:_MOST]
        # The first cell of a kind tells it for all: scripts put the number of the layer before it.
        note = f' data-note="{escape("; ".join(readable(text) for text in (place.label, *told)))}"'
        for layer in place.members:
            current = ' aria-current="true"' if here and layer in members else ""
            cells[layer] = f'<li><a class="cell variant-{variant}" href="{link}"{note}{current}>{layer}</a></li>'
            note = ""
    return Markup("".join(cells[layer] for layer in sorted(cells)))  # noqa: S704  (escaped above)
