"""What is known beyond the recording: mechanism, formulas with their terms and verdicts, explanation, differences."""

from __future__ import annotations

from typing import Literal

import msgspec

from openmodelatlas.site.fields.places import Crumb, PageSpan


class PageMechanism(msgspec.Struct, frozen=True, kw_only=True):
    """A mechanism of the catalogue.

    Attributes:
        id: its identifier; its page is ``<model>/mechanisms/<id>/``.
        title: its name.
    """

    id: str
    title: str


class PageTerm(msgspec.Struct, frozen=True, kw_only=True):
    """One term of a formula.

    Attributes:
        id: what it is called in the formula's ``\\htmlData{light=…}``.
        latex: how it is set.
        meaning: what it is, in words.
        places: nodes, tensors and parameters that it stands for; those that have no page have an empty address.
        spans: its characters in the code.
    """

    id: str
    latex: str
    meaning: str
    places: tuple[Crumb, ...]
    spans: tuple[PageSpan, ...]


class PageVerdict(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a formula gives what the model's own code gave.

    Attributes:
        verdict: ``checked``, ``differs`` or ``not checked``.
        error: largest absolute difference over the largest absolute captured value; ``null`` if not evaluated.
        text: the verdict in words.
        detail: what was compared, or why it could not be.
    """

    verdict: Literal["checked", "differs", "not checked"]
    error: float | None
    text: str
    detail: str


class PageFormula(msgspec.Struct, frozen=True, kw_only=True):
    """A formula in LaTeX.

    Attributes:
        latex: without the marks of the terms, to be set by any LaTeX.
        marked: with each term in ``\\htmlData{light=<id>}{…}``.
        mechanism: whose formula it is; ``null`` for the node's own.
        terms: in order of appearance.
        check: the verdict of its evaluation.
    """

    latex: str
    marked: str
    mechanism: PageMechanism | None
    terms: tuple[PageTerm, ...]
    check: PageVerdict


class PageStatement(msgspec.Struct, frozen=True, kw_only=True):
    """A sentence or two of explanation, with the lines that prove it."""

    text: str
    spans: tuple[PageSpan, ...]


class PageDifference(msgspec.Struct, frozen=True, kw_only=True):
    """A mechanism that the code resembles but does not follow: what differs, and where."""

    mechanism: PageMechanism
    text: str
    spans: tuple[PageSpan, ...]
