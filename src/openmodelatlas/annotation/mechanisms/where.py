"""The node that a place belongs to: the innermost one around its operations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from openmodelatlas.annotation.mechanisms.fit import Fit
from openmodelatlas.annotation.mechanisms.flow import Flow, is_operation
from openmodelatlas.catalogue.entry import Mechanism
from openmodelatlas.graph.document import Document, Node

_WHOLE = frozenset({"module", "function", "branch", "loop", "operation", "kernel"})
"""Kinds of nodes that can be a mechanism; groups of layers and the model hold them."""
_FILLED = frozenset({"zeros_like", "ones_like", "full_like", "new_zeros", "new_ones", "new_full"})
"""Operations whose results do not depend on the values that they read."""


def core_of(flow: Flow, fit: Fit, mechanism: Mechanism) -> frozenset[str]:
    """Addresses of the operations, plumbing included, between what a mechanism reads and what it gives.

    A pattern may cover more, to show that this is the mechanism.
    """
    inputs = {
        name
        for symbol in mechanism.arguments
        if symbol in fit.bound
        for name in (fit.bound[symbol].tensor, fit.bound[symbol].seen)
    }
    found: dict[str, None] = {}
    queue: list[str] = []
    for symbol in mechanism.outputs:
        operand = fit.bound.get(symbol)
        if operand is not None and operand.tensor is not None:
            here = operand.seen if operand.seen and not mechanism.front.symbols[symbol].at_source else operand.tensor
            queue.append(here)
    seen = set(queue)
    while queue:
        maker = flow.makers.get(queue.pop())
        if maker is None or not (maker in fit.operations or maker not in flow.operations):
            continue
        found[maker] = None
        for tensor in flow.read_by(maker):
            if tensor not in seen and (tensor not in inputs or flow.makers.get(tensor) in fit.operations):
                seen.add(tensor)
                queue.append(tensor)
    return frozenset(found)


def node_of(flow: Flow, core: frozenset[str], makers: frozenset[str]) -> Node:
    """The innermost node around operations; the call around it where it does nothing else.

    Where only a group of layers or the model holds them all, it is the node of those that give the outputs.
    """
    document = flow.document
    node = document.nodes[_common(document, core)]
    if node.kind not in _WHOLE and makers:
        node = document.nodes[_common(document, makers)]
    while node.parent is not None:
        parent = document.nodes[node.parent]
        if parent.kind not in ("module", "function"):
            break
        whole = set(computing(document, parent))
        if not whole <= core and whole != set(computing(document, node)):
            break
        node = parent
    return node


def is_it(flow: Flow, node: Node, fit: Fit, outputs: Iterable[str], inputs: Iterable[str]) -> bool:
    """Whether the node is the mechanism: it holds all of it and gives its outputs, from inputs from outside."""
    if node.kind not in _WHOLE or not all(_lies_in(address, node) for address in fit.operations):
        return False
    given = {flow.base(port.tensor) for port in node.outputs}
    if not any(fit.bound[name].tensor in given for name in outputs):
        return False
    return not any(_made_inside(flow, node, fit.bound[name].tensor) for name in inputs if name in fit.bound)


def _made_inside(flow: Flow, node: Node, tensor: str | None) -> bool:
    """Whether a tensor is computed inside the node from what comes in; positions and empty caches are not."""

    def inside(name: str) -> bool:
        made = flow.producers.get(name)
        if made is None:
            return False
        return _lies_in(made[0].address, node)

    if tensor is None or not inside(tensor):
        return False
    if flow.producers[tensor][0].name in _FILLED:  # takes its type from what comes in, nothing else
        return False
    return any(not inside(name) for name in flow.ancestors(tensor))


def _lies_in(address: str, node: Node) -> bool:
    return address == node.address or address.startswith(f"{node.address}/")


def computing(document: Document, node: Node) -> Iterator[str]:
    """Addresses of the operations inside a node that compute something."""
    if is_operation(document, node):
        if not node.plumbing:
            yield node.address
        return
    for child in node.children:
        yield from computing(document, document.nodes[child])


def _common(document: Document, addresses: Iterable[str]) -> str:
    chains = [list(_chain(document, address)) for address in addresses]
    common = chains[0]
    for chain in chains[1:]:
        kept = 0
        while kept < min(len(common), len(chain)) and common[kept] == chain[kept]:
            kept += 1
        common = common[:kept]
    return common[-1]


def _chain(document: Document, address: str) -> Iterator[str]:
    """Addresses from the model down to a node."""
    parent = document.nodes[address].parent
    if parent is not None:
        yield from _chain(document, parent)
    yield address
