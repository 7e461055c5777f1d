"""How one node is spoken of from another's page: by the part of the model around it that the reader knows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from openmodelatlas.graph.document import Node
from openmodelatlas.site.fields import Crumb
from openmodelatlas.site.words import crumb_label, name_within

_CASTS = frozenset({"to", "type", "float", "half", "bfloat16", "double", "type_as"})


class Neighbours:
    """Names nodes as seen from others.

    Args:
        nodes: all nodes by address, in order of execution.
    """

    def __init__(self, nodes: Mapping[str, Node]) -> None:
        self._nodes = nodes
        self._order = {address: index for index, address in enumerate(nodes)}

    def crumb(self, address: str) -> Crumb:
        """A link that says what the node is called where one knows what it is in."""
        node = self._nodes.get(address)
        return Crumb(label=crumb_label(node) if node is not None else address, address=address)

    def step(self, address: str) -> Crumb:
        """A link to plumbing on an edge: a cast that changes the type says to which."""
        node = self._nodes.get(address)
        if node is None:
            return Crumb(label=address, address=address)
        label = crumb_label(node).lower()
        if (node.function or "").rpartition(".")[2] in _CASTS and len(node.outputs) == 1:
            made = self._dtype(node.outputs[0].tensor)
            read = self._dtype(node.inputs[0].tensor) if node.inputs and not node.inputs[0].via else None
            if made is not None:
                label = f"{label} (already {made})" if made == read else f"cast to {made}"
        return Crumb(label=label, address=address)

    def _dtype(self, address: str) -> str | None:
        node = self._nodes.get(address)
        return node.tensor.dtype if node is not None and node.tensor is not None else None

    def maker(self, node: Node, producer: str) -> Crumb:
        """The node that makes something ``node`` reads: the outermost that does not enclose ``node`` itself."""
        return self._seen(node, producer)

    def readers(self, node: Node, producer: str | None, consumers: Iterable[str]) -> tuple[Crumb, ...]:
        """The nodes that read something ``node`` gives (``producer`` computes it), each named once, in order."""
        made = self._order.get(producer if producer is not None else node.address, -1)
        found: dict[str, Crumb] = {}
        inside = f"{node.address}/"
        for address in consumers:
            if node.kind == "layer group" and address.startswith(inside):
                crumb = Crumb(label="the next of these layers", address=node.address)
            else:
                crumb = self._seen(node, address)
                if self._order.get(address, made + 1) <= made and self._nodes[crumb.address].parent in (
                    node.address,
                    node.parent,
                ):
                    reader = self._nodes[address]
                    later = "layer" if len(reader.members) > 1 and "layer group" in self._kinds(reader) else "round"
                    crumb = Crumb(label=f"{crumb.label} of a later {later}", address=crumb.address)
            found.setdefault(crumb.label + crumb.address, crumb)
        return self._told_apart(tuple(found.values()))

    def _told_apart(self, crumbs: tuple[Crumb, ...]) -> tuple[Crumb, ...]:
        """Links of equal names say what they are in."""
        labels = [crumb.label for crumb in crumbs]
        return tuple(
            Crumb(label=f"{crumb.label} in {around}", address=crumb.address)
            if labels.count(crumb.label) > 1 and (around := self._around_label(crumb.address))
            else crumb
            for crumb in crumbs
        )

    def _around_label(self, address: str) -> str:
        node = self._nodes.get(address)
        return crumb_label(self._nodes[node.parent]) if node is not None and node.parent is not None else ""

    def _kinds(self, node: Node) -> set[str]:
        kinds: set[str] = set()
        while node.parent is not None:
            node = self._nodes[node.parent]
            kinds.add(node.kind)
        return kinds

    def _seen(self, node: Node, target: str) -> Crumb:
        current = self._nodes.get(target)
        if current is None:
            return Crumb(label=target, address=target)
        around = self._around(node)
        while current.parent is not None and current.parent not in around:
            outer = self._nodes[current.parent]
            if outer.kind in ("phase", "model") or (outer.kind == "layer group" and node.kind != "layer group"):
                break
            current = outer
        label = name_within(current)
        if current.parent and current.parent not in around:
            label += f" in {crumb_label(self._nodes[current.parent])}"
        outer_kind = self._nodes[current.parent].kind if current.parent is not None else None
        if current.phase != node.phase and "phase" not in (current.kind, outer_kind):
            label += f" ({'decode step' if current.phase == 'decode' else current.phase})"
        return Crumb(label=label, address=current.address)

    def _around(self, node: Node) -> set[str]:
        around = {node.address}
        while node.parent is not None:
            around.add(node.parent)
            node = self._nodes[node.parent]
        return around
