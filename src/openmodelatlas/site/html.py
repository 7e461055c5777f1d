"""Pages as HTML: readable, linkable and printable without scripts. Every datum is escaped."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2
import msgspec
from markupsafe import Markup, escape

from openmodelatlas.annotation.counting import ranges_text
from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.evidence.excerpt import omission
from openmodelatlas.evidence.sources import Evidence
from openmodelatlas.site.fields import Page, PageArgument, PageChild
from openmodelatlas.site.highlight import Highlighter, cold_reason
from openmodelatlas.site.listing import Listing
from openmodelatlas.site.paths import page_folder, to_root
from openmodelatlas.site.visible import visible
from openmodelatlas.site.words import lines_text, one_line, safe_url, short_revision

_SHOWN_OUTPUTS = 8

_FOLDER = Path(__file__).parent

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class HtmlRenderer:
    """Renders pages; templates are compiled once, code is highlighted once."""

    def __init__(self) -> None:
        self._highlighter = Highlighter()
        environment = _environment()
        self._page = environment.get_template("page.html")
        self._index = environment.get_template("index.html")
        self._message = environment.get_template("message.html")

    def page(self, page: Page, atlas: Atlas) -> str:
        """The page as one HTML document, for the folder that :func:`page_folder` gives.

        Args:
            page: what it says.
            atlas: what it was built from, for the parts of excerpts that open on demand.
        """
        code = page.code
        highlighted = None
        if code is not None:
            highlighted = self._highlighter.html(
                code.text, code.lines[0], own=code.own_lines, columns=code.own_columns, unreached=code.unreached
            )
        root = to_root(page.model, page.address)
        rendered: str = self._page.render(
            page=page,
            code_html=highlighted,
            excerpts=[_excerpt_parts(source, atlas.lines_of(source.file)) for source in page.sources],
            children=_split_children(page.children),
            arguments=_split_arguments(page.arguments),
            attributes=_split_arguments(page.attributes),
            shown_outputs=_SHOWN_OUTPUTS,
            root=root,
            href=_linker(page.model, root),
        )
        return visible(rendered)

    def index(self, models: list[Listing]) -> str:
        """The page that lists the models, for the root of the site."""
        return self._index.render(models=models, root="")

    def message(self, title: str, text: str, links: list[tuple[str, str]], root: str = "/") -> str:
        """A page that says something went wrong, with links as (text, address)."""
        return self._message.render(title=title, text=text, links=links, root=root)


def stylesheet() -> bytes:
    """The one style sheet of all pages."""
    return (_FOLDER / "assets" / "atlas.css").read_bytes()


def icon() -> bytes:
    """The sign that a browser shows beside a page's title, as SVG."""
    return (_FOLDER / "assets" / "icon.svg").read_bytes()


def _linker(model: str, root: str) -> Any:
    """A function from an address to a relative link."""

    def href(address: str) -> str:
        return f"{root}{page_folder(model, address)}/index.html"

    return href


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update(
        ticks=_ticks,
        shape=_shape,
        ranges=ranges_text,
        thousands="{:,}".format,
        number=lambda value: f"{value:.6g}" if isinstance(value, float) else str(value),
        lines=lines_text,
        safe_url=safe_url,
        unended=lambda text: text.rstrip(". "),
        cold_reason=cold_reason,
        one_line=one_line,
        axis_notes=lambda shape: [item for item in shape or () if item.note],
        short_revision=short_revision,
        tojson_text=lambda value: msgspec.json.encode(value).decode(),
    )
    return environment


def _ticks(text: str) -> Markup:
    """Escaped text in which what stands between backticks is code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:  # an odd tick is no mark-up
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if index % 2 else escape(part) for index, part in enumerate(parts)
    )


@lru_cache(maxsize=4096)
def _shape(shape: tuple[Any, ...] | None) -> Markup:
    """A shape in brackets; each axis tells its expression and note as title."""
    if shape is None:
        return Markup('<span class="missing">shape not recorded</span>')
    items = []
    for dimension in shape:
        title = "; ".join(text for text in (dimension.expression, dimension.note) if text)
        items.append(Markup('<span class="dim {}" title="{}">{}</span>').format(dimension.kind, title, dimension.text))
    return Markup('<span class="shape">[{}]</span>').format(Markup(", ").join(items))


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
