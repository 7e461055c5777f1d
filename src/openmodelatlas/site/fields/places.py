"""Places: nodes and lines that a page links to, and the sizes of axes."""

from __future__ import annotations

from typing import Literal

import msgspec

LineRange = tuple[int, int]
"""First and last line, 1-based, inclusive."""


class Crumb(msgspec.Struct, frozen=True, kw_only=True):
    """A link to a node: what it is called where it is linked from, and its address."""

    label: str
    address: str


class PageSpan(msgspec.Struct, frozen=True, kw_only=True):
    """Characters in a cited file.

    Attributes:
        file: path of the file.
        lines: where they are.
        columns: 0-based character in the first line, and the one after the last in the last line; ``null`` for whole
            lines.
    """

    file: str
    lines: LineRange
    columns: tuple[int, int] | None


class PageSymbol(msgspec.Struct, frozen=True, kw_only=True):
    """The characters of the source that are the node: ``text`` at a place as in :class:`PageSpan`."""

    text: str
    file: str
    lines: LineRange
    columns: tuple[int, int] | None


class PageDimension(msgspec.Struct, frozen=True, kw_only=True):
    """The size of one axis, in elements.

    Attributes:
        symbol: short form, ``d`` or ``h·d_h``; ``null`` where there is none.
        name: in words, ``hidden size``; ``null`` for numbers and compound expressions.
        value: number of elements at the published configuration; ``null`` where the run or its values decide.
        expression: in configuration names; ``null`` for numbers and sizes that no expression gives.
        kind: how the size is known, see ``openmodelatlas.shapes.dimension``.
        text: how it is written within a shape, ``7168 d``.
        note: what else must be said of it, such as the reason why it is not resolved.
    """

    symbol: str | None
    name: str | None
    value: int | None
    expression: str | None
    kind: Literal["symbolic", "constant", "data-dependent", "varying", "unresolved"]
    text: str
    note: str | None = None


class PageSamePlace(msgspec.Struct, frozen=True, kw_only=True):
    """The same place in another group of layers, or the nearest around it that is there.

    Attributes:
        label: of the group of layers.
        address: of the place.
        members: the layers (from 1).
        differs: what differs between the two groups of layers, each as a sentence without a full stop.
        here: whether it is this page's own group.
    """

    label: str
    address: str
    members: tuple[int, ...]
    differs: tuple[str, ...]
    here: bool
