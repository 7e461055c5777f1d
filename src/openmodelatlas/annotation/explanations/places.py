"""What happens at this place: the layers that come this way, what varies among them, code that none of them reaches."""

from __future__ import annotations

from collections.abc import Mapping

from openmodelatlas.annotation.knowledge import Statement
from openmodelatlas.annotation.material import Code, Drafts
from openmodelatlas.graph.document import Document, Lines, Node, Variation

_SHOWN_VALUES = 6
_LONGEST_QUOTE = 90


def layer_statements(node: Node, document: Document) -> list[Statement]:
    """Which layers a group stands for, out of how many, and what varies among them."""
    if node.kind != "layer group" or not node.members:
        return []
    every = {number for other in document.nodes.values() if other.parent == node.parent for number in other.members}
    around = document.nodes[node.parent] if node.parent is not None else None
    found: list[Statement] = []
    lines = (node.symbol.lines,) if node.symbol is not None else ()
    if node.class_name is not None and around is not None and 1 < len(node.members) < len(every):
        text = f"{len(node.members)} of {len(every)} layers run the same operations on the same shapes."
        found.append(Statement(text=text, lines=lines))
    named = _named_in_code(node)
    if named is not None:
        text = f"Layers are counted from 1 here, from 0 in the code: layer {node.members[0]} is `{named}`."
        found.append(Statement(text=text, lines=lines))
    found += [_variation(each, node) for each in node.variations]
    return found


def _named_in_code(node: Node) -> str | None:
    """What the code calls the first layer of a group, ``layers.0``, where it counts from 0."""
    parts = (node.module or "").split(".")
    number = node.members[0] - 1
    if len(parts) < 2 or parts[-1] not in ("*", str(number)):
        return None
    return f"{parts[-2]}.{number}"


def _variation(variation: Variation, node: Node) -> Statement:
    values = list(dict.fromkeys(variation.values))
    shown = ", ".join(values[:_SHOWN_VALUES])
    if len(values) > _SHOWN_VALUES:
        shown = f"{', '.join(values[: _SHOWN_VALUES - 1])}, …, {values[-1]}"
    lines = (node.symbol.lines,) if node.symbol is not None else ()
    return Statement(text=f"What differs among them: {variation.what} ({shown}).", lines=lines)


def position_statements(node: Node, document: Document, drafts: Drafts) -> list[Statement]:
    """Attention in which nothing is rotated, which a reader may take for granted."""
    if node.kind != "module" or node.code is None or drafts.nodes[node.address].role != "attention":
        return []
    inside = f"{node.address}/"
    for address in document.nodes:
        if address.startswith(inside) and "rota" in f"{drafts.nodes[address].role} {drafts.nodes[address].mechanism}":
            return []
    return [Statement(text="Nothing rotates queries or keys here: there is no rotary embedding.", lines=(node.code,))]


def repeat_statements(node: Node) -> list[Statement]:
    """How often a loop's body ran, where its page does not say how often it runs."""
    if node.kind != "loop" or node.repeat is None or node.repeat.note:
        return []
    lowest, highest = node.repeat.observed
    seen = f"{lowest}" if lowest == highest else f"{lowest} to {highest}"
    lines = (node.symbol.lines,) if node.symbol is not None else ()
    return [Statement(text=f"The body ran {seen} times in the probe.", lines=lines)]


def unreached_statements(node: Node, code: Code) -> list[Statement]:
    """Lines of the node's own code that no layer reached, with the condition that kept them out."""
    found = []
    for each in node.unreached:
        where = f"{_line_range(each.lines)}, {_quoted(each.lines, code)},"
        lines = [each.lines]
        if each.condition is None:
            text = f"{where} never ran."
        else:
            text = f"{where} never ran: the condition `{' '.join(each.condition.split())}` kept {_it(each.lines)} out."
            if each.condition_line is not None:
                lines.insert(0, Lines(file=each.lines.file, first=each.condition_line, last=each.condition_line))
        found.append(Statement(text=text, lines=tuple(lines)))
    return found


def _quoted(lines: Lines, code: Code) -> str:
    """The code in lines, on one line and cut where it gets long."""
    text = " ".join(" ".join(code.lines_of(lines.file)[lines.first - 1 : lines.last]).split())
    return f"`{text if len(text) <= _LONGEST_QUOTE else text[: _LONGEST_QUOTE - 1] + '…'}`"


def sharing_statements(node: Node, document: Document) -> list[Statement]:
    """Parameters of a module that other names share: tied weights."""
    if node.kind != "module":
        return []
    found = []
    for name in node.parameters:
        fact = document.parameters.get(name)
        if fact is None or not fact.aliases or fact.owner != node.address:
            continue
        others = " and ".join(f"`{alias}`" for alias in fact.aliases)
        found.append(Statement(text=f"`{fact.name}` is the same tensor as {others}; it counts once."))
    return found


def type_statements(node: Node, nodes: Mapping[str, Node]) -> list[Statement]:
    """Where the node's own statements leave one element type for another."""
    if node.kind not in ("module", "function"):
        return []
    changes: dict[tuple[str, str], list[Lines]] = {}
    for address in node.children:
        child = nodes[address]
        if child.kind != "operation" or child.symbol is None or len(child.outputs) != 1 or not child.inputs:
            continue
        before, after = _type_of(_read_by(child), nodes), _type_of(child.outputs[0].tensor, nodes)
        if child.plumbing and before is not None and after is not None and before != after:
            changes.setdefault((before, after), []).append(child.symbol.lines)
    return [
        Statement(text=f"Casts from {before} to {after}.", lines=tuple(lines))
        for (before, after), lines in changes.items()
    ]


def _read_by(node: Node) -> str:
    """The tensor that an operation itself reads, past no plumbing."""
    first = next(iter(node.operands.values()), None)
    return first["tensor"] if isinstance(first, Mapping) and "tensor" in first else node.inputs[0].tensor


def _type_of(tensor: str, nodes: Mapping[str, Node]) -> str | None:
    node = nodes.get(tensor)
    return node.tensor.dtype if node is not None and node.tensor is not None else None


def _line_range(lines: Lines) -> str:
    return f"Line {lines.first}" if lines.first == lines.last else f"Lines {lines.first}–{lines.last}"


def _it(lines: Lines) -> str:
    return "it" if lines.first == lines.last else "them"
