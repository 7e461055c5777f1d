"""A diagram as SVG with selectable text: inside a page, or as a file of its own.

Colours and fonts are CSS custom properties with defaults for light and dark (:data:`STYLE`); elements have classes and
presentation attributes only, since pages forbid inline styles. ``web/README.md`` describes elements and attributes.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from xml.sax.saxutils import escape, quoteattr

from openmodelatlas.drawing.drawing import Axis, Drawing, DrawnEdge, DrawnNode, DrawnText, Knot, Run
from openmodelatlas.drawing.lines import drawn_once, partings, path, px
from openmodelatlas.drawing.metrics import run_size
from openmodelatlas.drawing.style import STYLE

Href = Callable[[str], str]

_BASELINE = 0.78
"""Where the baseline is within a line of text, from its top."""

_SHIFT = {1: -0.34, -1: 0.27}
"""How far super- and subscripts stand from the baseline, relative to the font size."""


def svg(
    drawing: Drawing, *, href: Href | None, inline: bool, title: str = "Diagram", selected: str | None = None
) -> str:
    """The diagram as SVG.

    Args:
        drawing: what to draw.
        href: gives the link to the page of a node, tensor or parameter by address; ``None`` for no links.
        inline: whether it stands in an HTML page (which has :data:`STYLE` in its style sheet); else it is a file of its
            own, with the style sheet inside.
        title: what a screen reader says it is.
        selected: address of the box to mark, ``None`` for none.
    """
    return _Writer(drawing, href, inline=inline, title=title, selected=selected).text()


class _Writer:
    def __init__(self, drawing: Drawing, href: Href | None, *, inline: bool, title: str, selected: str | None) -> None:
        self.drawing = drawing
        self.href = href
        self.inline = inline
        self.title = title
        self.selected = selected
        self.by_id: Mapping[str, DrawnNode] = {node.id: node for node in drawing.nodes}
        self.owner = _owners(drawing)
        self.drawn = drawn_once(drawing.edges)
        self.linked = {end for edge in drawing.edges for end in (edge.source, edge.target)}
        self.named: set[str] = set()
        self.prefix = "d" + hashlib.sha256(repr(drawing).encode()).hexdigest()[:8]

    def text(self) -> str:
        """The whole."""
        drawing = self.drawing
        width, height = px(drawing.width), px(drawing.height)
        size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        space = "" if self.inline else ' xmlns="http://www.w3.org/2000/svg"'
        parts = [f'<svg{space} class="diagram" {size} role="img" aria-labelledby="{self.prefix}">']
        parts.append(f'<title id="{self.prefix}">{_escaped(self.title)}</title>')
        if not self.inline:
            parts.append(f"<style>{STYLE}</style>")
            parts.append('<rect class="paper" width="100%" height="100%"/>')
        parts.append(self._heads())
        parts += [self._edge(number, edge) for number, edge in enumerate(drawing.edges)]
        parts += self._joints()
        parts += [self._opened(number, knot) for number, knot in enumerate(drawing.knots)]
        parts += [self._node(node) for node in drawing.nodes]
        parts.append("</svg>")
        return "".join(parts)

    def _heads(self) -> str:
        kinds = ("data", "residual", "state")
        shape = '<path d="M0.5 0.8 8 4 0.5 7.2z"/>'
        box = 'viewBox="0 0 8 8" refX="7.6" refY="4" markerWidth="8" markerHeight="8" markerUnits="userSpaceOnUse"'
        box += ' orient="auto"'
        heads = "".join(
            f'<marker id="{self.prefix}-{kind}" class="head kind-{kind}" {box}>{shape}</marker>' for kind in kinds
        )
        return f"<defs>{heads}</defs>"

    def _edge(self, number: int, edge: DrawnEdge) -> str:
        source, target = self.by_id[edge.source], self.by_id[edge.target]
        route, drawn = path(edge.points), path(self.drawn[number])
        own = [knot for index, knot in enumerate(self.drawing.knots) if self.owner[index] == number]
        plumbing = f" data-plumbing={_attribute(_stretch(edge, target))}" if own else ""
        parts = [
            f'<g{self._id(edge.tensor)} class="edge kind-{edge.kind}" data-tensor={_attribute(edge.tensor)} '
            f"data-source={_attribute(source.address)} data-target={_attribute(target.address)}{plumbing}>",
            f"<title>{_escaped(_edge_title(edge, source, target))}</title>",
            f'<path class="hit" d="{route}"/>',
            f'<path class="line" d="{drawn}" marker-end="url(#{self.prefix}-{edge.kind})"/>',
        ]
        parts += [self._mark(knot) for knot in own]
        label = "".join(
            _on_paper(text, name) for text, name in ((edge.label, "label"), (edge.shape, "shape")) if text is not None
        )
        link = self._link(edge.tensor)
        parts.append(f"<a href={_attribute(link)}>{label}</a>" if label and link is not None else label)
        return "".join([*parts, "</g>"])

    def _mark(self, knot: Knot) -> str:
        steps = ", ".join(step.title.full or step.title.text for step in knot.steps)
        dots = "".join(
            f'<circle cx="{px(knot.x + knot.width / 2 + offset)}" cy="{px(knot.y + knot.height / 2)}" r="1.3"/>'
            for offset in (-5, 0, 5)
        )
        shape = "" if knot.shape is None else f'<g class="closed">{_on_paper(knot.shape, "shape")}</g>'
        return (
            f'<g class="plumbing-sign closed"><title>{_escaped(steps)}</title>'
            f"{_pill(knot, knot.x, knot.y)}{dots}</g>{shape}"
            f'<g class="plumbing-sign closer"><title>Close</title>{_pill(knot, *knot.closer)}'
            f'<path d="M{px(knot.closer[0] + knot.width / 2 - 4)} {px(knot.closer[1] + knot.height / 2)}h8"/></g>'
        )

    def _opened(self, number: int, knot: Knot) -> str:
        edge = self.drawing.edges[self.owner[number]]
        boxes = "".join(self._node(step) for step in knot.steps)
        boxes += "" if knot.end is None else _text(knot.end, "shape", fill_axes=True)
        return f'<g class="opened" data-opened={_attribute(_stretch(edge, self.by_id[edge.target]))}>{boxes}</g>'

    def _joints(self) -> Iterator[str]:
        """A dot where lines of one tensor part."""
        for kind, x, y in partings(self.drawing):
            yield f'<circle class="joint kind-{kind}" cx="{px(x)}" cy="{px(y)}" r="2.4"/>'

    def _node(self, node: DrawnNode) -> str:
        classes = ["node", f"role-{node.role}"]
        if node.family is not None:
            classes.insert(1, f"family-{node.family}")
        if node.note is not None and node.role == "node":
            classes.append("is-branch")
        if node.role == "node" and node.id not in self.linked:
            classes.append("idle")
        if node.address == self.selected and node.role in ("node", "addition", "step"):
            classes.append("selected")
        opens = " data-opens" if node.opens and self.inline else ' data-opens=""' if node.opens else ""
        link = self._link(node.link)
        inner = "".join(
            [f"<title>{_escaped(_node_title(node))}</title>", *_frame(node), *_texts(node)],
        )
        if link is not None:
            inner = f"<a href={_attribute(link)}>{inner}</a>"
        name, place = self._id(node.address), _attribute(node.address)
        return f'<g{name} class="{" ".join(classes)}" data-address={place}{opens}>{inner}</g>'

    def _id(self, address: str) -> str:
        """What ``diagram.svg#<address>`` marks, in files alone, since pages have names of their own; each once."""
        if self.inline or not address or address in self.named:
            return ""
        self.named.add(address)
        return f" id={_attribute(address)}"

    def _link(self, address: str | None) -> str | None:
        return None if self.href is None or address is None else self.href(address)


def _owners(drawing: Drawing) -> dict[int, int]:
    """For each knot the first edge that passes it, in which its mark stands."""
    owner: dict[int, int] = {}
    for number, edge in enumerate(drawing.edges):
        for knot in edge.knots:
            owner.setdefault(knot, number)
    return owner


def _stretch(edge: DrawnEdge, target: DrawnNode) -> str:
    return f"{edge.tensor} {target.address}"


def _pill(knot: Knot, x: float, y: float) -> str:
    return _rect("", x, y, knot.width, knot.height, knot.height / 2)


def _rect(name: str, x: float, y: float, width: float, height: float, radius: float) -> str:
    kind = f' class="{name}"' if name else ""
    size = f'width="{px(width)}" height="{px(height)}" rx="{px(radius)}"'
    return f'<rect{kind} x="{px(x)}" y="{px(y)}" {size}/>'


def _frame(node: DrawnNode) -> Iterator[str]:
    x, y, width, height = node.x, node.y, node.width, node.height
    if node.role == "addition":
        middle, centre = x + width / 2, y + height / 2
        yield f'<circle class="frame" cx="{px(middle)}" cy="{px(centre)}" r="{px(width / 2 - 1)}"/>'
        yield (
            f'<path class="plus" d="M{px(middle - 5)} {px(centre)}H{px(middle + 5)}'
            f'M{px(middle)} {px(centre - 5)}V{px(centre + 5)}"/>'
        )
        return
    radius = {"node": 7.0, "step": height / 2}.get(node.role, 14.0)
    if node.count > 1 and node.badge is not None:
        yield _rect("behind", x + 4, y + 4, width, height, radius)
    yield _rect("frame", x, y, width, height, radius)
    if node.badge is not None:
        badge = node.badge
        yield _rect(
            "badge-frame", badge.x - 6, badge.y - 1.5, badge.width + 12, badge.height + 3, badge.height / 2 + 1.5
        )
    if node.opens:
        right, middle = x + width - 13, node.title.y + node.title.height / 2
        yield f'<g class="opener"><path d="M{px(right)} {px(middle - 3.5)}l3.5 3.5-3.5 3.5"/></g>'


def _texts(node: DrawnNode) -> Iterator[str]:
    yield _text(node.title, "title")
    if node.title_end is not None:
        yield _text(node.title_end, "title")
    if node.badge is not None:
        yield _text(node.badge, "badge")
    if node.formula is not None:
        yield _text(node.formula, "formula")
    if node.note is not None:
        yield _text(node.note, "note")
    if node.shape is not None:
        yield _text(node.shape, "shape", fill_axes=True)


def _on_paper(text: DrawnText, name: str) -> str:
    """A text beside a line, on a ground of its own: an outline of its letters would cut into those before it."""
    ground = f'x="{px(text.x)}" y="{px(text.y)}" width="{px(text.width)}" height="{px(text.height)}"'
    return f'<rect class="ground" {ground}/>{_text(text, name, fill_axes=name == "shape")}'


def _text(text: DrawnText, name: str, *, fill_axes: bool = False) -> str:
    x = text.x + text.width / 2 if text.middle else text.x
    anchor = ' text-anchor="middle"' if text.middle else ""
    fit = f' data-fit="{px(text.width)}"' if fill_axes else ""
    full = f"<title>{_escaped(text.full)}</title>" if text.full is not None else ""
    y = text.y + text.height * _BASELINE
    return (
        f'<text class="{name}" x="{px(x)}" y="{px(y)}" font-size="{px(text.size)}"{anchor}{fit}>'
        f"{full}{_runs(text)}</text>"
    )


def _runs(text: DrawnText) -> str:
    parts: list[str] = []
    axis: int | None = None
    lowered = 0.0
    for run in text.runs:
        if run.axis != axis:
            if axis is not None:
                parts.append("</tspan>")
            if run.axis is not None:
                parts.append(_axis_start(text.axes[run.axis]) if run.axis < len(text.axes) else "<tspan>")
            axis = run.axis
        piece, lowered = _run(run, text.size, lowered)
        parts.append(piece)
    if axis is not None:
        parts.append("</tspan>")
    return "".join(parts)


def _run(run: Run, size: float, lowered: float) -> tuple[str, float]:
    """A run, and how far below the baseline the next one starts from."""
    wanted = _SHIFT.get(run.level, 0.0) * size
    attributes = "" if run.style == "plain" else f' class="{run.style}"'
    if wanted != lowered:
        attributes += f' dy="{px(wanted - lowered)}"'
    if run.level:
        attributes += f' font-size="{px(run_size(run, size))}"'
    text = _escaped(run.text)
    return (f"<tspan{attributes}>{text}</tspan>" if attributes else text), wanted


def _axis_start(axis: Axis) -> str:
    attributes = "".join(
        f" data-{name}={_attribute(str(value))}"
        for name, value in (
            ("expression", axis.expression),
            ("symbol", axis.symbol),
            ("name", axis.name),
            ("value", axis.value),
        )
        if value is not None
    )
    return f'<tspan class="dim {axis.kind}"{attributes}>'


def _node_title(node: DrawnNode) -> str:
    parts = [_whole_title(node)]
    parts += [text.full or text.text for text in (node.badge, node.formula, node.note, node.shape) if text is not None]
    return " · ".join(parts)


def _whole_title(node: DrawnNode) -> str:
    title = node.title.full or node.title.text
    return title if node.title_end is None or node.title.full is not None else f"{title} {node.title_end.text}"


def _edge_title(edge: DrawnEdge, source: DrawnNode, target: DrawnNode) -> str:
    start, end = (_whole_title(node) for node in (source, target))
    name = f"{edge.name}: " if edge.name else ""
    return f"{name}{start} → {end}"


def _escaped(text: str) -> str:
    return escape(_visible(text))


def _attribute(text: str) -> str:
    return quoteattr(_visible(text))


def _visible(text: str) -> str:
    """Without what would steer the reader's view: control characters and marks that turn the direction of writing."""
    if text.isprintable():
        return text
    return "".join("\ufffd" if unicodedata.category(sign) in ("Cc", "Cf", "Cs", "Co") else sign for sign in text)
