"""Pages of mechanisms as data: what each is, and every place where a model has it."""

from __future__ import annotations

import msgspec

from openmodelatlas.catalogue.entry import Family
from openmodelatlas.site.fields.knowledge import PageVerdict

MECHANISM_FORMAT = 1


class MechanismSymbol(msgspec.Struct, frozen=True, kw_only=True):
    """A symbol of a formula: how it is set, what it is, and its named dimensions, empty for numbers and indices."""

    latex: str
    meaning: str
    shape: tuple[str | int, ...]


class MechanismSection(msgspec.Struct, frozen=True, kw_only=True):
    """Notes of one kind, such as what to watch for when porting; LaTeX stands between dollar signs."""

    title: str
    notes: tuple[str, ...]


class MechanismPaper(msgspec.Struct, frozen=True, kw_only=True):
    """Where a mechanism was described: on arXiv by number, or elsewhere by address."""

    authors: str
    year: int
    title: str
    arxiv: str | None
    url: str | None


class MechanismPlace(msgspec.Struct, frozen=True, kw_only=True):
    """A node that is the mechanism.

    Attributes:
        title, address: of the node; its page is ``<model>/<address>/``.
        trail: the nodes around it, outermost first, without the model.
        formula: of the mechanism at this place, in LaTeX; ``null`` if there is none.
        check: the verdict of its evaluation; ``null`` if there is no formula.
    """

    title: str
    address: str
    trail: tuple[str, ...]
    formula: str | None
    check: PageVerdict | None


class MechanismModel(msgspec.Struct, frozen=True, kw_only=True):
    """The places of one model, in order of execution."""

    model: str
    title: str
    places: tuple[MechanismPlace, ...]


class MechanismPage(msgspec.Struct, frozen=True, kw_only=True):
    """The page of one mechanism: ``mechanisms/<id>/``, or ``<model>/mechanisms/<id>/`` with the places of that model.

    Attributes:
        format: ``MECHANISM_FORMAT``.
        id, title: as in the catalogue.
        model, model_title: whose places it lists; ``null`` for those of all models.
        family: of mechanisms that it belongs to; ``null`` if the catalogue has no entry of this name any more.
        sentence: what it is; ``null`` likewise.
        formula: in LaTeX, with the symbols of the catalogue.
        symbols: of the formula.
        sections: why it is there, what to watch for, what it is not.
        papers: where it was described.
        models: the places.
    """

    format: int = MECHANISM_FORMAT
    id: str
    title: str
    model: str | None
    model_title: str | None
    family: Family | None
    sentence: str | None
    formula: str | None
    symbols: tuple[MechanismSymbol, ...]
    sections: tuple[MechanismSection, ...]
    papers: tuple[MechanismPaper, ...]
    models: tuple[MechanismModel, ...]


class MechanismCount(msgspec.Struct, frozen=True, kw_only=True):
    """How many places one model has."""

    model: str
    title: str
    places: int


class MechanismRow(msgspec.Struct, frozen=True, kw_only=True):
    """A mechanism in the list; attributes as in :class:`MechanismPage`."""

    id: str
    title: str
    family: Family | None
    sentence: str | None
    models: tuple[MechanismCount, ...]


class MechanismList(msgspec.Struct, frozen=True, kw_only=True):
    """The list of mechanisms that the models have: ``mechanisms/``, or ``<model>/mechanisms/``.

    Attributes:
        format: ``MECHANISM_FORMAT``.
        model, model_title: whose mechanisms they are; ``null`` for those of all models.
        mechanisms: by title, those of one family together.
    """

    format: int = MECHANISM_FORMAT
    model: str | None
    model_title: str | None
    mechanisms: tuple[MechanismRow, ...]
