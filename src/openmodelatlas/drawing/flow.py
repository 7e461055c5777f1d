"""Facts about the whole data flow that single levels draw on: residual additions, and state that phases hand on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from openmodelatlas.annotation.knowledge import Knowledge
from openmodelatlas.graph.document import Document, Node, Port
from openmodelatlas.graph.reading import is_read
from openmodelatlas.shapes.dimension import Dimension

_ADDITIONS = frozenset({"add", "add_", "__add__", "__iadd__", "__radd__"})


@dataclass(frozen=True)
class Addition:
    """An addition that joins an update to the residual stream.

    Attributes:
        address: of the operation.
        skip: tensor of the stream before it.
        result: tensor of the stream after it.
    """

    address: str
    skip: str
    result: str


@dataclass
class Flow:
    """Data flow of one atlas.

    Attributes:
        document: its facts.
        additions: residual additions by address.
        state_in: for each node, the tensors that it reads from another phase (caches), in order.
        state_out: for each node, the tensors in it that another phase reads.
    """

    document: Document
    additions: dict[str, Addition] = field(default_factory=dict)
    state_in: dict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))
    state_out: dict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))

    def ancestors(self, address: str) -> Iterator[Node]:
        """The node at ``address`` and those around it, from inside."""
        node = self.document.nodes.get(address)
        while node is not None:
            yield node
            node = None if node.parent is None else self.document.nodes[node.parent]

    def child_of(self, level: str, address: str) -> str | None:
        """The child of ``level`` that is ``address`` or encloses it, ``None`` if it is outside."""
        for node in self.ancestors(address):
            if node.parent == level:
                return node.address
        return None

    def producer(self, tensor: str) -> str | None:
        """Address of the node that computes ``tensor``."""
        node = self.document.nodes.get(tensor)
        return None if node is None or node.tensor is None else node.tensor.producer

    def shape(self, tensor: str) -> tuple[Dimension, ...] | None:
        """Dimensions of a tensor, model input or parameter, ``None`` if it is not known."""
        node = self.document.nodes.get(tensor)
        if node is not None and node.tensor is not None:
            return node.tensor.shape
        known = self.document.inputs.get(tensor)
        if known is not None:
            return known.shape
        parameter = self.document.parameters.get(tensor)
        return None if parameter is None else parameter.shape

    def is_read(self, node: Node, port: Port) -> bool:
        """Whether something inside ``node`` reads what it is handed, for which there is a line then."""
        return is_read(node, port, self.document.nodes, self.document.inputs)

    def crosses(self, tensor: str, node: Node) -> bool:
        """Whether ``tensor`` was made in another phase than that of ``node``."""
        made = self.document.nodes.get(tensor)
        return made is not None and made.phase != node.phase


def read_flow(document: Document, knowledge: Knowledge) -> Flow:
    """Finds residual additions (by role where there are roles, else from structure) and state between phases."""
    flow = Flow(document)
    for node in document.nodes.values():
        if node.kind == "tensor" and node.tensor is not None:
            _note_state(flow, node)
    roles = {
        address
        for address, known in knowledge.nodes.items()
        if known.role is not None and "residual addition" in known.role
    }
    for node in document.nodes.values():
        if node.kind == "operation" and _is_addition(flow, node):
            found = _residual(flow, node, known=node.address in roles)
            if found is not None:
                flow.additions[node.address] = found
    return flow


def _note_state(flow: Flow, node: Node) -> None:
    nodes = flow.document.nodes
    assert node.tensor is not None
    others = [nodes[each] for each in node.tensor.consumers if each in nodes and nodes[each].phase != node.phase]
    if not others or node.tensor.producer is None:
        return
    for around in flow.ancestors(node.tensor.producer):
        flow.state_out[around.address][node.address] = None
    for other in others:
        for around in flow.ancestors(other.address):
            flow.state_in[around.address][node.address] = None


def _is_addition(flow: Flow, node: Node) -> bool:
    name = (node.function or "").rpartition(".")[2]
    operands = [port for port in node.inputs if port.source in ("tensor", "input", "outside")]
    if name not in _ADDITIONS or len(operands) != 2 or len(node.outputs) != 1:
        return False
    shape = flow.shape(node.outputs[0].tensor)
    return shape is not None and len(shape) > 1 and all(flow.shape(port.tensor) is not None for port in operands)


def _residual(flow: Flow, node: Node, *, known: bool) -> Addition | None:
    """The addition at ``node`` if one operand by-passes what makes the other: something with an inside of its own."""
    scope = _scope(flow, node)
    first, second = node.inputs[0].tensor, node.inputs[1].tensor
    result = node.outputs[0].tensor
    for skip, update in ((first, second), (second, first)):
        if not known and (flow.shape(skip) != flow.shape(result) or flow.shape(update) != flow.shape(result)):
            continue
        if _by_passes(flow, scope, skip, update):
            return Addition(node.address, skip, result)
    return Addition(node.address, first, result) if known else None


def _scope(flow: Flow, node: Node) -> Node:
    """The node around ``node`` that is more than a branch."""
    around = list(flow.ancestors(node.address))[1:]
    return next((each for each in around if each.kind != "branch"), around[-1])


def _by_passes(flow: Flow, scope: Node, skip: str, update: str) -> bool:
    """Whether ``update`` is made from ``skip`` through nodes of ``scope``, one of them with an inside or parameters."""
    nodes = flow.document.nodes
    start = _inner(flow, scope.address, flow.producer(skip))
    stack = [_inner(flow, scope.address, flow.producer(update))]
    seen: set[str] = set()
    large = False
    reached = False
    while stack:
        address = stack.pop()
        if address is None or address in seen or address == start:
            continue
        seen.add(address)
        node = nodes[address]
        large |= bool(node.parameters) or any(nodes[child].kind != "tensor" for child in node.children)
        for port in node.inputs:
            if port.tensor == skip:
                reached = True
            elif port.source == "tensor":
                stack.append(_inner(flow, scope.address, flow.producer(port.tensor)))
    return reached and large


def _inner(flow: Flow, scope: str, address: str | None) -> str | None:
    """The node directly in ``scope`` (or in a branch directly in it) that is or encloses ``address``."""
    if address is None:
        return None
    below: Node | None = None
    for node in flow.ancestors(address):
        if node.address == scope:
            return None if below is None else below.address
        if node.kind != "branch" or below is None:
            below = node
    return None


def titles(document: Document, knowledge: Knowledge) -> Mapping[str, str]:
    """Titles of all nodes: of knowledge where it has one, else the automatic ones."""
    found = {address: node.title for address, node in document.nodes.items()}
    for address, known in knowledge.nodes.items():
        if known.title is not None:
            found[address] = known.title
    return found
