"""Pages of nodes as HTML: readable, linkable and printable without scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import msgspec
from markupsafe import Markup

from openmodelatlas.drawing.svg import svg
from openmodelatlas.evidence.excerpt import omission
from openmodelatlas.evidence.sources import Evidence
from openmodelatlas.site.diagrams import Diagrams, families
from openmodelatlas.site.expressions import ExpressionFinder
from openmodelatlas.site.fields import Page, PageArgument, PageChild, PageInput, PageOutput, PageSpan
from openmodelatlas.site.fields.view import LibraryData, ModelName, ViewData
from openmodelatlas.site.highlight import Highlighter
from openmodelatlas.site.html import embedded, join_words, template
from openmodelatlas.site.page import PageBuilder
from openmodelatlas.site.paths import contents_folder, mechanism_folder, page_folder, relative_link, to_root
from openmodelatlas.site.strip import strip_html
from openmodelatlas.site.typesetting import Typesetter
from openmodelatlas.site.visible import visible
from openmodelatlas.site.words import heading, numbers_text, one_line, safe_url

_SHOWN_OUTPUTS = 5
_ROOT = "⟦root⟧/"
_LEVEL = "⟦level⟧/"
_SELECTED = "⟦selected⟧"
"""Stand in what pages share for the ways to the root and to the level's folder and for the page's address, which differ
between them."""


@dataclass(frozen=True, slots=True)
class PlaceLine:
    """Lines that a sentence refers to: their numbers, the first one, whether the page shows it, and its web address."""

    text: str
    first: int
    here: bool
    url: str | None


@dataclass(frozen=True, slots=True)
class PlaceFile:
    """A file that a sentence refers to, with its lines."""

    file: str
    lines: list[PlaceLine]


@dataclass(frozen=True, slots=True)
class _Level:
    """What pages beside one diagram have alike.

    Attributes:
        figure: the diagram, if it was drawn.
        diagram, beside: what its own page and what others show of it.
        listing: the list of what is in it.
    """

    figure: Markup | None

    diagram: str
    beside: str
    listing: str


class NodeHtml:
    """Renders the pages of one atlas; what pages share is rendered once.

    Pages beside another page's diagram show it as a picture from the file that lies beside that page (see
    :meth:`drawing`), and scripts put the diagram itself in its place: pages would hold it hundreds of times otherwise.

    Args:
        builder: builds the pages.
        models: identifiers and titles of all models of the site.
    """

    def __init__(self, builder: PageBuilder, models: Sequence[tuple[str, str]] = ()) -> None:
        self._builder = builder
        self._atlas = builder.atlas
        self._model = builder.document.model
        self._models = tuple(ModelName(model=model, title=title) for model, title in models)
        self._highlighter = Highlighter()
        self.typesetter = Typesetter(builder.drawings.formulas)
        self._expressions = ExpressionFinder(builder.document.nodes)
        self._levels: dict[str, _Level] = {}

    def page(self, page: Page, *, markdown: str | None = None) -> str:
        """The page as one HTML document, for the folder that :func:`page_folder` gives.

        Args:
            page: what it says.
            markdown: its Markdown twin, for exports that scripts cannot read files from.
        """
        root = to_root(page.model, page.address)
        href = self._linker(page_folder(page.model, page.address))
        rendered: str = template("page.html").render(
            page=page,
            set=self.typesetter,
            has_formulas=bool(self._builder.drawings.formulas),
            strip=strip_html(page, href),
            level_html=self._level(page, root),
            undrawn=self._builder.undrawn,
            code_html=self._code(page),
            excerpts=[_excerpt_parts(source, self._atlas.lines_of(source.file)) for source in page.sources],
            arguments=_split_arguments(page.arguments),
            attributes=_split_arguments(page.attributes),
            shown_outputs=_SHOWN_OUTPUTS,
            root=root,
            href=href,
            contents_href=f"{root}{contents_folder(page.model)}/index.html",
            mechanism_href=lambda identifier: f"{root}{mechanism_folder(page.model, identifier)}/index.html",
            catalogue_href=lambda identifier: f"{root}{mechanism_folder(None, identifier)}/index.html",
            port_light=lambda port: _port_light(page, port),
            span_places=lambda spans: self._places(page, spans),
            said=[],
            data=embedded(self._data(page, markdown)),
        )
        return visible(rendered)

    def contents(self) -> str:
        """The list of all pages of the model, for those who search without scripts."""
        builder = self._builder
        folder = contents_folder(self._model)
        root = "../" * len(folder.parts)
        rows = [
            {
                "title": heading(node),
                "depth": node.address.count("/") + 1 if node.address else 0,
                "address": node.address,
                "kind": node.kind,
                "symbol": one_line(node.symbol.text, 60) if node.symbol is not None else "",
            }
            for node in builder.document.nodes.values()
        ]
        rendered: str = template("contents.html").render(
            root=root,
            href=self._linker(folder),
            model_title=builder.document.title,
            rows=rows,
            data=embedded(LibraryData(models=self._models)),
        )
        return visible(rendered)

    def _linker(self, here: PurePosixPath) -> Callable[[str], str]:
        """A function from an address to a link from the folder ``here``."""
        return lambda address: relative_link(here, page_folder(self._model, address))

    def _level_linker(self, level: str) -> Callable[[str], str]:
        """A function from an address to a link that all pages beside one diagram share: short within the level."""
        inside = f"{page_folder(self._model, level)}/"

        def href(address: str) -> str:
            place = f"{page_folder(self._model, address)}/index.html"
            return _LEVEL + place[len(inside) :] if place.startswith(inside) else _ROOT + place

        return href

    def _level(self, page: Page, root: str) -> Markup:
        """The diagram of the page's level with what the page is about marked, and the list of what is in it."""
        shared = self._shared(page.level)
        down = len(page_folder(page.model, page.address).parts) - len(page_folder(page.model, page.level).parts)
        html = shared.diagram if page.level == page.address else shared.beside
        if page.level == page.address or shared.figure is None:
            html += shared.listing
        else:
            link = f"{_LEVEL}index.html#list"
            html += f'<p class="alternative"><a href="{link}">The diagram as a list</a></p>'
        # Both ways are made of dots and slashes alone, addresses of those and letters.
        return Markup(html.replace(_LEVEL, "../" * down).replace(_ROOT, root).replace(_SELECTED, page.address))  # noqa: S704

    def drawing(self, level: str) -> tuple[bytes, bytes] | None:
        """The diagram of ``level`` for its folder: as a script that hands it over, and as a picture.

        ``None`` if ``level`` has none.
        """
        drawn = self._builder.drawings.levels.get(level)
        if drawn is None:
            return None
        figure = str(self._shared(level).figure).replace(_LEVEL, "").replace(_ROOT, to_root(self._model, level))
        call = ",".join(msgspec.json.encode(text).decode().replace("<", "\\u003c") for text in (level, figure))
        title = f"Diagram of {self._builder.level_page(level).label}"
        picture = svg(drawn, href=None, inline=False, title=title)
        return f"omaDiagram({call});\n".encode(errors="replace"), picture.encode(errors="replace")

    def _shared(self, address: str) -> _Level:
        """What pages beside one diagram have alike."""
        found = self._levels.get(address)
        if found is None:
            level = self._builder.level_page(address)
            href = self._level_linker(address)
            figure = Diagrams(self._builder.drawings, self._builder.document, href).svg(
                address, f"Diagram of {level.label}"
            )
            context = {
                "picture": None,
                "level_folder": _LEVEL,
                "level": level,
                "figure": figure,
                "families": families(self._builder.drawings, address),
                "children": _split_children(level.children),
                "href": href,
                "set": self.typesetter,
            }
            diagram = template("inside.html").render(context)
            listing = template("alternative.html").render(context)
            beside = diagram
            if figure is not None:
                drawn = self._builder.drawings.levels[address]
                picture = {"selected": _SELECTED, "size": (round(drawn.width), round(drawn.height))}
                beside = template("inside.html").render({**context, "picture": picture})
            found = self._levels[address] = _Level(figure, diagram, beside, listing)
        return found

    def _code(self, page: Page) -> Markup | None:
        code = page.code
        if code is None:
            return None
        return self._highlighter.html(
            code.text,
            code.lines[0],
            own=code.own_lines,
            columns=code.own_columns,
            unreached=code.unreached,
            expressions=self._expressions.expressions(page.level, code),
            terms=self._expressions.terms(page),
        )

    def _places(self, page: Page, spans: Iterable[PageSpan]) -> list[PlaceFile]:
        """The lines of some spans by file, in order, those that this page shows told apart."""
        files: dict[str, dict[str, PlaceLine]] = {}
        for span in spans:
            code = page.code
            shown = code is not None and code.file == span.file and code.lines[0] <= span.lines[0] <= code.lines[1]
            cited = self._builder.document.files.get(span.file)
            url = safe_url(cited.url) if cited is not None else None
            if url is not None:
                url = url.replace("{first}", str(span.lines[0])).replace("{last}", str(span.lines[1]))
            text = numbers_text(span.lines)
            files.setdefault(span.file, {})[text] = PlaceLine(text, span.lines[0], shown, url)
        return [PlaceFile(file, list(lines.values())) for file, lines in files.items()]

    def _data(self, page: Page, markdown: str | None) -> ViewData:
        """What the front end reads; see ``web/README.md``."""
        parent = self._builder.document.nodes[page.address].parent if page.address else None
        return ViewData(
            model=page.model,
            model_title=page.model_title,
            address=page.address,
            level=page.level,
            parent=parent,
            title=page.title,
            kind=page.kind,
            dtype=self._builder.dtype,
            sizes=self._builder.document.sizes,
            lights={name: tuple(places) for name, places in self._builder.lights(page.address).items()},
            latex=tuple(formula.latex for formula in page.formulas),
            models=self._models,
            markdown=markdown,
        )


def _port_light(page: Page, port: PageInput | PageOutput) -> str:
    """What a row of inputs or outputs lights with: its tensor or parameter, and the terms that stand for it."""
    names = [port.tensor, port.parameter] if isinstance(port, PageInput) else [port.tensor]
    places = {name for name in names if name is not None}
    terms = [
        term.id
        for formula in page.formulas
        for term in formula.terms
        if places & {place.address or place.label for place in term.places}
    ]
    return join_words([*(f"@{name}" for name in sorted(places)), *terms])


def _excerpt_parts(source: Evidence, lines: Sequence[str]) -> list[tuple[str | None, str]]:
    """Parts of an excerpt as (the line that stands for it, or ``None`` if it is shown; text)."""
    return [
        (omission(part) if part.omitted else None, "\n".join(lines[part.first - 1 : part.last]))
        for part in source.parts
    ]


def _split_children(children: tuple[PageChild, ...]) -> dict[str, list[PageChild]]:
    groups: dict[str, list[PageChild]] = {"steps": [], "plumbing": [], "tensors": []}
    for child in children:
        groups["tensors" if child.kind == "tensor" else "plumbing" if child.plumbing else "steps"].append(child)
    return groups


def _split_arguments(arguments: tuple[PageArgument, ...]) -> dict[str, Any]:
    """Arguments that say something, and the names of those that are ``None``."""
    return {
        "given": [item for item in arguments if item.text != "None"],
        "none": [item.name for item in arguments if item.text == "None"],
    }
