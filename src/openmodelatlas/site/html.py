"""What all HTML pages share: templates, filters, the pages that belong to no atlas. Every datum is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2
import msgspec
from markupsafe import Markup, escape

from openmodelatlas.annotation.counting import few_layers, ranges_text
from openmodelatlas.annotation.markup import split
from openmodelatlas.site.fields import Page, PageDimension, PageInput, PageOutput
from openmodelatlas.site.highlight import cold_reason
from openmodelatlas.site.listing import Listing
from openmodelatlas.site.notes import shared_notes
from openmodelatlas.site.visible import visible
from openmodelatlas.site.words import (
    bare_name,
    duration_text,
    layers_heading,
    lines_text,
    numbers_text,
    one_line,
    safe_url,
    short_revision,
    varied_text,
)

_FOLDER = Path(__file__).parent

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class SiteHtml:
    """Renders the pages that belong to no single node."""

    def index(self, models: Sequence[Listing], *, has_mechanisms: bool = False) -> str:
        """The library, for the root of the site, with a link to the mechanisms if there are any."""
        data = {"models": [{"model": item.model, "title": item.title} for item in models if item.problem is None]}
        rendered: str = template("index.html").render(
            models=models, root="", data=embedded(data), has_mechanisms=has_mechanisms
        )
        return visible(rendered)

    def message(self, title: str, text: str, links: Sequence[tuple[str, str]], root: str = "/") -> str:
        """A page that says something went wrong, with links as (text, address)."""
        rendered: str = template("message.html").render(title=title, text=text, links=links, root=root)
        return visible(rendered)


def template(name: str) -> jinja2.Template:
    """A template by its file's name; compiled once."""
    return _environment().get_template(name)


def embedded(value: Any) -> Markup:
    """JSON for a script element of type ``application/json``: nothing in it can end the element."""
    text = msgspec.json.encode(value).decode()
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704  (no sign of HTML is left)


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
        plain_text=_plain_text,
        breakable=_breakable,
        shape=_shape,
        bytes=_bytes,
        ranges=ranges_text,
        few_layers=few_layers,
        says=_says,
        shared_notes=shared_notes,
        varied=varied_text,
        layers_heading=layers_heading,
        thousands="{:,}".format,
        short_number=_short_number,
        passed_over=lambda text: text.partition(" was passed over")[0].partition("@")[0],
        number=lambda value: f"{value:.6g}" if isinstance(value, float) else str(value),
        lines=lines_text,
        numbers=numbers_text,
        duration=duration_text,
        safe_url=safe_url,
        unended=lambda text: text.rstrip(". "),
        cold_reason=cold_reason,
        one_line=one_line,
        bare_name=bare_name,
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


def _says(page: Page, role: str) -> bool:
    """Whether the page's title, kind or mechanisms say its role already."""
    above = (page.mechanism, *page.mechanisms)
    said = (page.title, page.label, page.kind, *(item.title for item in above if item is not None))
    bare = role.lower().rstrip("s")
    return any(bare == text.lower().rstrip("s") for text in said) or (page.kind == "layer group" and bare == "layer")


def _plain_text(text: str) -> str:
    """The text without its mark-up, for places that can hold none."""
    return "".join(content for _, content in split(text))


def _short_number(number: int) -> str:
    """Three digits and a unit: ``1.03 T``, ``32.9 B``, ``124 M``."""
    for power, unit in ((12, "T"), (9, "B"), (6, "M"), (3, "K")):
        if number >= 10**power:
            return f"{number / 10**power:.3g} {unit}"
    return str(number)


def _breakable(name: str) -> Markup:
    """A dotted name that may break after its dots and underscores."""
    return Markup(str(escape(name)).replace(".", ".<wbr>").replace("_", "_<wbr>"))  # noqa: S704  (escaped)


@lru_cache(maxsize=4096)
def _shape(shape: tuple[PageDimension, ...] | None) -> Markup:
    """A shape in brackets; each axis tells its expression and note as title, and what it is made of as data."""
    if shape is None:
        return Markup('<span class="missing">shape not recorded</span>')
    return Markup('<span class="shape">[{}]</span>').format(Markup(", ").join(_axis(item) for item in shape))


def _axis(dimension: PageDimension) -> Markup:
    data = {"expression": dimension.expression, "symbol": dimension.symbol}
    data["name"] = dimension.name if dimension.expression is not None else None
    data["value"] = str(dimension.value) if dimension.value is not None and dimension.expression is not None else None
    attributes = Markup("").join(
        Markup(' data-{}="{}"').format(key, value) for key, value in data.items() if value is not None
    )
    title = "; ".join(text for text in (dimension.expression, dimension.note) if text)
    if title:
        attributes += Markup(' title="{}"').format(title)
    return Markup('<span class="dim {}"{}>{}</span>').format(dimension.kind, attributes, dimension.text)


def _bytes(port: PageInput | PageOutput) -> Markup:
    """The size of a tensor in bytes, where its sizes are known; of what the run decides, a place for it."""
    if not port.shape or port.dtype is None or any(not _factor(item) for item in port.shape):
        return Markup("")
    expression = "*".join(_factor(item) for item in port.shape)
    return Markup(' <span class="bytes" data-expression="{}" data-dtype="{}"></span>').format(expression, port.dtype)


def _factor(dimension: PageDimension) -> str:
    if dimension.expression is not None:
        return f"({dimension.expression})"
    return str(dimension.value) if dimension.value is not None else ""


def join_words(words: Iterable[str]) -> str:
    """Words separated by blanks, each once."""
    return " ".join(dict.fromkeys(word for word in words if word))
