"""Laid-out diagrams and typeset formulas as data: the hand-over from ``drawing`` to the bundle and the site.

Lengths are CSS pixels at the opening zoom; x grows to the right, y downwards, the origin is the diagram's upper left.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from openmodelatlas.annotation.knowledge import Family

DRAWING_FORMAT = 1

Point = tuple[float, float]


class DrawnText(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of text with the box it takes.

    Attributes:
        text: plain text.
        latex: LaTeX to set instead of ``text`` (a key of ``Drawings.formulas``), else ``None``.
        x, y, width, height: the box.
        size: font size.
    """

    text: str
    latex: str | None = None
    x: float
    y: float
    width: float
    height: float
    size: float


class DrawnNode(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A box of the diagram.

    Attributes:
        address: of the node; for what comes from or goes to outside the level, of the tensor or parameter there.
        role: ``node``; ``input`` and ``output`` for what enters and leaves the level; ``addition`` for a residual
            addition drawn as a small circle on the spine.
        x, y, width, height: the box.
        family: for its colour.
        title, formula, shape: lines of text inside, absent ones ``None``.
        count: multiplier of a folded group or loop, 1 if none.
        badge: ``×60``, ``8 of 384``; ``None`` if there is none.
        opens: whether there is a level below it.
        branch: text for a branch: which way this layer goes and how many go the other; ``None`` for others.
    """

    address: str
    role: Literal["node", "input", "output", "addition"] = "node"
    x: float
    y: float
    width: float
    height: float
    family: Family | None = None
    title: DrawnText
    formula: DrawnText | None = None
    shape: DrawnText | None = None
    count: int = 1
    badge: DrawnText | None = None
    opens: bool = False
    branch: DrawnText | None = None


class DrawnEdge(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line from one box to another.

    Attributes:
        tensor: address of the tensor that flows, or true name of the parameter.
        source, target: addresses of the boxes.
        kind: ``residual`` for the spine, ``state`` for what lives across layers (caches, stored sums), else ``data``.
        points: corners of the route, from source to target.
        label: variable name and shape.
        plumbing: addresses of the views and casts on it, in order.
    """

    tensor: str
    source: str
    target: str
    kind: Literal["data", "residual", "state"] = "data"
    points: tuple[Point, ...]
    label: DrawnText | None = None
    plumbing: tuple[str, ...] = ()


class Drawing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The diagram of one level: what is directly inside a node.

    Attributes:
        width, height: of the whole.
        nodes: boxes, in order of execution.
        edges: lines between them.
        opened: for edges with plumbing, by ``<tensor> <target>``: the same stretch with its plumbing as boxes, laid
            out so that nothing else on the level moves.
    """

    width: float
    height: float
    nodes: tuple[DrawnNode, ...]
    edges: tuple[DrawnEdge, ...]
    opened: dict[str, tuple[DrawnNode, ...]] = {}


class Drawings(msgspec.Struct, frozen=True, kw_only=True):
    """All diagrams and formulas of one atlas.

    Attributes:
        format: ``DRAWING_FORMAT``.
        levels: by address of the enclosing node.
        same_as: address of a level whose diagram is drawn like another's but for the addresses, with that one's:
            reserved for saving space; empty where every level has its own.
        formulas: HTML (KaTeX, with MathML) by LaTeX, for every formula and symbol of the atlas.
        notes: what could not be drawn or set, each with the reason.
    """

    format: int = DRAWING_FORMAT
    levels: dict[str, Drawing] = {}
    same_as: dict[str, str] = {}
    formulas: dict[str, str] = {}
    notes: tuple[str, ...] = ()
