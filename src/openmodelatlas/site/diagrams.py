"""The diagram of a level, in the page: drawn when the atlas was built, here only linked and marked."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

from markupsafe import Markup

from openmodelatlas.drawing.drawing import Drawings
from openmodelatlas.drawing.svg import svg
from openmodelatlas.graph.document import Document


class Diagrams:
    """The diagrams of one atlas as SVG within HTML.

    Args:
        drawings: as they lie in the bundle.
        document: the atlas.
        href: gives the link to a node's page.
    """

    def __init__(self, drawings: Drawings, document: Document, href: Callable[[str], str]) -> None:
        self._drawings = drawings
        self._document = document
        self._href = href

    def _link(self, address: str) -> str | None:
        """The page of a node, or of the module that owns a parameter; ``None`` for what has none."""
        document = self._document
        if address in document.nodes:
            return self._href(address)
        fact = document.parameters.get(address)
        return self._href(fact.owner) if fact is not None and fact.owner in document.nodes else None

    def svg(self, level: str, title: str) -> Markup | None:
        """The diagram of what is inside ``level``; ``None`` if there is none."""
        drawing = self._drawings.levels.get(level)
        if drawing is None:
            return None
        drawn = svg(drawing, href=cast(Callable[[str], str], self._link), inline=True, title=title)
        # A picture has nothing inside that one could reach; this one has links.
        return Markup(drawn.replace('role="img"', 'role="group"', 1))  # noqa: S704  (the drawing escapes what it draws)


def families(drawings: Drawings, level: str) -> tuple[str, ...]:
    """The families that the level's boxes belong to, in order of first appearance."""
    drawing = drawings.levels.get(level)
    if drawing is None:
        return ()
    return tuple(dict.fromkeys(node.family for node in drawing.nodes if node.family is not None))
