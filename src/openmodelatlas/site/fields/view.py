"""What a page hands to the front end: the JSON block of each page, and the search entries of a model.

``web/README.md`` says where they stand; the types in ``web/src/schema`` are generated from their published schema.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from openmodelatlas.graph.document import SizeName

EntryKind = Literal["node", "tensor", "parameter", "mechanism", "configuration", "line"]

SearchEntry = tuple[EntryKind, str, str, str, str]
"""Kind; title, which is shown first and counts most; what is shown beside it; further words that find it; link from the
root of the site."""


class ModelName(msgspec.Struct, frozen=True, kw_only=True):
    """A model of the site: identifier in addresses, and display name."""

    model: str
    title: str


class LibraryData(msgspec.Struct, frozen=True, kw_only=True):
    """The block of pages that belong to no model."""

    models: tuple[ModelName, ...]


class ViewData(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    r"""The block of a node's page.

    Attributes:
        model, model_title, address, title, kind: of the page's node.
        level: address of the level whose diagram the page shows.
        parent: address of the enclosing node, ``None`` for the model.
        dtype: element type of the published model, which a reader's choice replaces; ``None`` if there is not one.
        sizes: names used in expressions of dimensions.
        lights: for each term of a formula, the addresses and true names of parameters that it stands for.
        latex: formulas of the page, without ``\htmlData``.
        models: all models of the site.
        markdown: the Markdown twin; in exports only, since pages opened from disk cannot fetch it.
    """

    model: str
    model_title: str
    address: str
    title: str
    kind: str
    level: str
    parent: str | None
    dtype: str | None
    sizes: dict[str, SizeName]
    lights: dict[str, tuple[str, ...]] = {}
    latex: tuple[str, ...] = ()
    models: tuple[ModelName, ...] = ()
    markdown: str | None = None


class SearchFile(msgspec.Struct, frozen=True, kw_only=True):
    """What search knows of one model."""

    model: str
    title: str
    entries: tuple[SearchEntry, ...]


class FrontEnd(msgspec.Struct, frozen=True, kw_only=True):
    """All of it, as one type to publish."""

    library: LibraryData
    view: ViewData
    search: SearchFile
