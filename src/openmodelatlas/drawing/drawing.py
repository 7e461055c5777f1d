"""Laid-out diagrams and typeset formulas as data: the hand-over from ``drawing`` to the bundle and the site.

Lengths are CSS pixels at the opening zoom; x grows to the right, y downwards, the origin is the diagram's upper left.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from openmodelatlas.catalogue.entry import Family

DRAWING_FORMAT = 1

Point = tuple[float, float]

EdgeKind = Literal["data", "residual", "state"]


class Axis(msgspec.Struct, frozen=True, omit_defaults=True):
    """What one axis of a drawn shape is, so that it can be written as a number.

    Attributes:
        kind: how its size is known: ``symbolic``, ``constant``, ``data-dependent``, ``varying``, ``unresolved``.
        expression: in configuration names, ``None`` for numbers and sizes that no expression gives.
        symbol, name: short form and words for it, ``None`` where there are none.
        value: elements at the published configuration, ``None`` where the run decides.
    """

    kind: Literal["symbolic", "constant", "data-dependent", "varying", "unresolved"]
    expression: str | None = None
    symbol: str | None = None
    name: str | None = None
    value: int | None = None


class Run(msgspec.Struct, frozen=True, omit_defaults=True, array_like=True):
    """A piece of a line of text that is set alike.

    Attributes:
        text: plain text.
        style: ``plain``; ``code`` for what the code calls it; ``math`` for symbols, which stand in italics.
        level: 1 for a superscript, -1 for a subscript.
        axis: number of the axis (in ``DrawnText.axes``) that it is a part of, ``None`` for others.
    """

    text: str
    style: Literal["plain", "code", "math"] = "plain"
    level: int = 0
    axis: int | None = None


class DrawnText(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line of text with the box it takes.

    Attributes:
        text: all of it as plain text.
        runs: the same in pieces that are set alike.
        x, y, width, height: the box.
        size: font size.
        full: what the text was before it was cut to fit, else ``None``.
        middle: whether it is centred in its box; else it starts at the left.
        latex: LaTeX of the formula or symbol that the text is, else ``None``.
        tensor: for shapes, the tensor whose shape it is: its address or the true name of a parameter; the box has room
            for the shape in numbers too.
        axes: its axes.
    """

    text: str
    runs: tuple[Run, ...]
    x: float
    y: float
    width: float
    height: float
    size: float
    full: str | None = None
    middle: bool = False
    latex: str | None = None
    tensor: str | None = None
    axes: tuple[Axis, ...] = ()


class DrawnNode(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A box of the diagram.

    Attributes:
        id: unique within the diagram; edges name it.
        address: of the node; for what enters or leaves the level, of the tensor (for parameters, the true name).
        link: address of the page it leads to, ``None`` if there is none: its own; for what enters the level, that of
            the node it comes from.
        role: ``node``; ``input`` and ``output`` for what enters and leaves the level; ``addition`` for a residual
            addition, a circle on the spine with its title beside it; ``step`` for plumbing opened on an edge.
        x, y, width, height: the box (for an addition, of the circle).
        family: for its colour.
        title, formula, shape: lines of text (for an addition, the title is beside it), absent ones ``None``.
        title_end: second line of a long title.
        count: multiplier of a folded group or loop, 1 if none.
        badge: ``×60``, ``8 of 384``; ``None`` if there is none.
        opens: whether there is a level below it.
        note: for a branch, which way this layer goes and how many go the other; for what enters or leaves the level,
            where it comes from or goes to; ``None`` for others.
    """

    id: str
    address: str
    link: str | None = None
    role: Literal["node", "input", "output", "addition", "step"] = "node"
    x: float
    y: float
    width: float
    height: float
    family: Family | None = None
    title: DrawnText
    title_end: DrawnText | None = None
    formula: DrawnText | None = None
    shape: DrawnText | None = None
    count: int = 1
    badge: DrawnText | None = None
    opens: bool = False
    note: DrawnText | None = None


class DrawnEdge(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A line from one box to another. Lines of one tensor share their first stretch.

    Attributes:
        tensor: address of the tensor that flows, or true name of the parameter.
        source, target: ``id`` of the boxes.
        name: what the reader's code calls it: name of the argument or variable.
        kind: ``residual`` for the spine, ``state`` for what lives across layers or steps (caches, stored sums).
        points: corners of the route, from source to target.
        label: variable name, on the first edge of a tensor only.
        shape: shape in symbols, beside the label.
        plumbing: addresses of the views and casts on it, in order.
        knots: indices in ``Drawing.knots`` of the places where they sit.
    """

    tensor: str
    source: str
    target: str
    name: str
    kind: EdgeKind = "data"
    points: tuple[Point, ...]
    label: DrawnText | None = None
    shape: DrawnText | None = None
    plumbing: tuple[str, ...] = ()
    knots: tuple[int, ...] = ()


class Knot(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Plumbing on an edge: a small mark that opens in place into its steps; the space for them is reserved.

    Attributes:
        tensor: the tensor that flows.
        x, y, width, height: the mark.
        shape: shape after the steps, beside the mark; ``None`` where it is not known.
        closer: where the mark stands while the steps are shown, upper left corner; of the same size.
        end: the same shape beside the steps, while they are shown.
        steps: the views and casts as boxes on the edge, in order; shown instead of the mark.
    """

    tensor: str
    x: float
    y: float
    width: float
    height: float
    shape: DrawnText | None = None
    closer: Point
    end: DrawnText | None = None
    steps: tuple[DrawnNode, ...]


class Drawing(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The diagram of one level: what is directly inside a node.

    Attributes:
        width, height: of the whole.
        nodes: boxes, in order of execution.
        edges: lines between them.
        knots: plumbing on the edges.
    """

    width: float
    height: float
    nodes: tuple[DrawnNode, ...]
    edges: tuple[DrawnEdge, ...]
    knots: tuple[Knot, ...] = ()


class Drawings(msgspec.Struct, frozen=True, kw_only=True):
    """All diagrams and formulas of one atlas.

    Attributes:
        format: ``DRAWING_FORMAT``.
        levels: by address of the enclosing node.
        formulas: HTML (KaTeX, with MathML) by LaTeX, for every formula and symbol of the atlas.
        notes: what could not be drawn or set, each with the reason.
    """

    format: int = DRAWING_FORMAT
    levels: dict[str, Drawing] = {}
    formulas: dict[str, str] = {}
    notes: tuple[str, ...] = ()
