"""Writes pages of atlases as files, all of them or a share, so that two processes can write one site."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.graph.document import Node
from openmodelatlas.site.markdown import render_markdown
from openmodelatlas.site.node_html import NodeHtml
from openmodelatlas.site.page import PageBuilder
from openmodelatlas.site.paths import ASSETS, contents_folder, page_folder
from openmodelatlas.site.search import search_script


class SiteWriter:
    """Writes the pages of some atlases below one folder.

    Args:
        atlases: what to publish.
        folder: root of the site.
    """

    def __init__(self, atlases: Sequence[Atlas], folder: Path) -> None:
        self.builders = [PageBuilder(atlas) for atlas in atlases]
        self._folder = folder
        models = [(atlas.document.model, atlas.document.title) for atlas in atlases]
        self._renderers = [NodeHtml(builder, models) for builder in self.builders]

    def write_files(self) -> None:
        """What each atlas has besides its pages: styles of formulas, search entries, the list of pages."""
        for builder, renderer in zip(self.builders, self._renderers, strict=True):
            model = builder.document.model
            write(self._folder / ASSETS / "math" / f"{model}.css", renderer.typesetter.stylesheet())
            write(self._folder / ASSETS / "search" / f"{model}.js", search_script(builder))
            write(self._folder / contents_folder(model) / "index.html", encode(renderer.contents()))

    def write_pages(self, told: Callable[[], None], share: int = 0, shares: int = 1) -> None:
        """The pages of a share, which has all pages beside one diagram together; ``told`` is called after each."""
        for builder, renderer in zip(self.builders, self._renderers, strict=True):
            for node in _share_of(builder, share, shares):
                self._write_page(builder, renderer, node)
                told()

    def _write_page(self, builder: PageBuilder, renderer: NodeHtml, node: Node) -> None:
        page = builder.page(node)
        place = self._folder / page_folder(page.model, page.address)
        place.mkdir(parents=True, exist_ok=True)
        markdown = render_markdown(page)
        (place / "index.html").write_bytes(encode(renderer.page(page, markdown=markdown)))
        (place / "index.md").write_bytes(encode(markdown))
        (place / "index.json").write_bytes(msgspec.json.encode(page))
        drawing = renderer.drawing(page.address) if page.level == page.address else None
        if drawing is not None:
            (place / "diagram.js").write_bytes(drawing[0])
            (place / "diagram.svg").write_bytes(drawing[1])


def _share_of(builder: PageBuilder, share: int, shares: int) -> Iterator[Node]:
    levels: dict[str, int] = {}
    for node in builder.atlas:
        if levels.setdefault(builder.level(node), len(levels)) % shares == share:
            yield node


def encode(text: str) -> bytes:
    """A page's bytes; half characters, which no encoding has, become question marks."""
    return text.encode("utf-8", errors="replace")


def write(path: Path, data: bytes) -> None:
    """Writes a file in a folder that need not exist yet."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
