"""The diagram of a level, in the page: drawn when the atlas was built, here only linked and marked."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec

from markupsafe import Markup, escape

from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.drawing.drawing import Drawing


class Diagrams:
    """The diagrams of one atlas as SVG within HTML.

    Args:
        atlas: holds the drawings.
        href: gives the link to a node's page.
    """

    def __init__(self, atlas: Atlas, href: Callable[[str], str]) -> None:
        self._drawings = atlas.drawings
        self._href = href

    def families(self, level: str) -> tuple[str, ...]:
        """The families that the level's boxes belong to, in order of first appearance."""
        drawing = self._drawings.levels.get(level)
        if drawing is None:
            return ()
        return tuple(dict.fromkeys(node.family for node in drawing.nodes if node.family is not None))

    def svg(self, level: str) -> Markup | None:
        """The diagram of what is inside ``level``; ``None`` if there is none."""
        drawing = self._drawings.levels.get(level)
        if drawing is None or find_spec("openmodelatlas.drawing.svg") is None:
            return None
        return Markup(_draw(drawing, self._href))  # noqa: S704  (the drawing escapes what it draws)


def _draw(drawing: Drawing, href: Callable[[str], str]) -> str:
    drawn: str = import_module("openmodelatlas.drawing.svg").svg(drawing, href=href, inline=True)
    return drawn


def select(html: str, address: str) -> str:
    """The level with the node at ``address`` marked as the one that the page is about."""
    wanted = re.escape(str(escape(address)))
    html = re.sub(
        rf'<g class="(node[^"]*)"((?:\s[a-z-]+="[^"]*")*?\s?data-address="{wanted}")',
        r'<g class="\1 selected"\2',
        html,
    )
    return re.sub(rf'(<g class="edge[^"]*)"((?:\s[a-z-]+="[^"]*")*?\s?data-tensor="{wanted}")', r'\1 selected"\2', html)
