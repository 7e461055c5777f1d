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
        maker = producer if producer is not None else node.address
        made = self._order.get(maker, -1)
        found: dict[str, Crumb] = {}
        for address in consumers:
            goes_round = self._order.get(address, made + 1) <= made
            around = self._carrier(maker, address) if goes_round else None
            within = node.kind != "tensor" and address.startswith(f"{node.address}/")
            if within and (around is None or not _encloses(around, node)):
                continue  # it does not leave the node
            if within and around is not None and around.address == node.address and node.kind == "layer group":
                crumb = Crumb(label="the next of these layers", address=node.address)
            else:
                crumb = self._seen(node, address)
                if around is not None and _encloses(around, node):
                    later = "layer" if around.kind == "layer group" else "round"
                    crumb = Crumb(label=f"{crumb.label} of a later {later}", address=crumb.address)
            found.setdefault(crumb.label + crumb.address, crumb)
        return self._told_apart(tuple(found.values()))

    def _carrier(self, producer: str, consumer: str) -> Node | None:
        """What goes round between a tensor and one that reads it earlier in the order: a loop, or layers in a group."""
        above = self._around(self._nodes[producer]) if producer in self._nodes else set()
        current = self._nodes.get(consumer)
        while current is not None:
            if current.address in above and (
                current.kind == "loop" or (current.kind == "layer group" and len(current.members) > 1)
            ):
                return current
            current = self._nodes.get(current.parent) if current.parent is not None else None
        return None

    def rounds_of(self, node: Node, tensors: Iterable[str]) -> bool:
        """Whether later rounds of the loop that ``node`` is or lies in read ``tensors``, and not other layers."""
        current: Node | None = node
        while current is not None and current.kind != "loop":
            current = self._nodes.get(current.parent) if current.parent is not None else None
        return current is not None and all(tensor.startswith(f"{current.address}/") for tensor in tensors)

    def layers_around(self, node: Node) -> str | None:
        """Address of the innermost group of layers that ``node`` is or lies in."""
        current: Node | None = node
        while current is not None and current.kind != "layer group":
            current = self._nodes.get(current.parent) if current.parent is not None else None
        return None if current is None else current.address

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


def _encloses(outer: Node, node: Node) -> bool:
    return node.address == outer.address or node.address.startswith(f"{outer.address}/")
