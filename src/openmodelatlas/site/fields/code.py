"""The code around a node, its conditions and its layers."""

from __future__ import annotations

from typing import Literal

import msgspec

from openmodelatlas.site.fields.places import Crumb, LineRange


class PageUnreached(msgspec.Struct, frozen=True, kw_only=True):
    """Lines that no layer reached, and the condition (with its line) that kept them out, if it was one."""

    file: str
    lines: LineRange
    condition: str | None
    condition_line: int | None


class PageCode(msgspec.Struct, frozen=True, kw_only=True):
    """The code of the function or class around the node.

    Attributes:
        file, lines, text: where it is, and the lines themselves.
        name: qualified name of the function or class.
        own_lines: the node's own lines within it; ``null`` if that is all or none of them.
        own_columns: characters in the first and last own line (end exclusive); ``null`` for whole lines.
        url: web address of the lines.
        unreached: lines within it that no layer reached.
    """

    file: str
    lines: LineRange
    text: str
    name: str | None
    own_lines: LineRange | None
    own_columns: tuple[int, int] | None
    url: str | None
    unreached: tuple[PageUnreached, ...]


class PageBranch(msgspec.Struct, frozen=True, kw_only=True):
    """A condition that layers, or the rounds of a loop, take differently.

    Attributes:
        test, file, lines: the condition, and where the whole statement is.
        taken: numbers of layers or rounds (from 1) by outcome.
        by: what the numbers count.
        elsewhere: the nodes that this statement is in other layers or rounds.
    """

    test: str
    file: str
    lines: LineRange
    taken: dict[str, tuple[int, ...]]
    by: Literal["layer", "round"] = "layer"
    elsewhere: tuple[Crumb, ...] = ()


class PageLayers(msgspec.Struct, frozen=True, kw_only=True):
    """Layers the node stands for (numbered from 1; empty outside layers).

    Beside them stand the conditions that they, or the rounds of a loop, take differently.
    """

    members: tuple[int, ...]
    branches: tuple[PageBranch, ...]


class PageRepeat(msgspec.Struct, frozen=True, kw_only=True):
    """How often the node runs within one run of its parent; see ``graph.document.Repeat``."""

    observed: tuple[int, int]
    expression: str | None
    of: str | None
    note: str


class PageVariation(msgspec.Struct, frozen=True, kw_only=True):
    """Something in which the folded members differ: its value, as text, in each of them."""

    what: str
    values: tuple[str, ...]
