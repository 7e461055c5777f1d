"""What a call leaves to the next one: caches, which no argument names, as ports of what reads them."""

from __future__ import annotations

from collections import defaultdict

from openmodelatlas.graph.document import Document, Node, Port


class States:
    """Finds the tensors of another phase that are read inside a node without being handed to it.

    Args:
        document: the atlas.
    """

    def __init__(self, document: Document) -> None:
        self._read: dict[str, dict[str, str]] = defaultdict(dict)
        nodes = document.nodes
        for address, node in nodes.items():
            if node.tensor is None:
                continue
            for reader in node.tensor.consumers:
                if reader in nodes and nodes[reader].phase != node.phase:
                    self._note(nodes[reader], document, address, node.tensor.variable or "state")

    def _note(self, reader: Node, document: Document, tensor: str, name: str) -> None:
        """For all that encloses the reader, within its phase."""
        current = reader
        while current.parent is not None:
            current = document.nodes[current.parent]
            if current.phase != reader.phase:
                return
            self._read[current.address][tensor] = name

    def of(self, node: Node) -> tuple[Port, ...]:
        """The caches that ``node`` reads, in order of when they were made; those that it names itself aside."""
        named = {port.tensor for port in node.inputs}
        read = self._read.get(node.address, {})
        return tuple(Port(name=name, tensor=each, source="tensor") for each, name in read.items() if each not in named)
