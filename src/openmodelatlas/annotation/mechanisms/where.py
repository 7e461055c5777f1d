"""The node that a place belongs to: the innermost one around its operations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from openmodelatlas.annotation.mechanisms.flow import Flow, is_operation
from openmodelatlas.annotation.mechanisms.match import Fit
from openmodelatlas.graph.document import Document, Node

_OUTER = frozenset({"model", "phase"})


def node_of(flow: Flow, fit: Fit) -> Node:
    """The innermost node around the operations of ``fit``; the call around it where it does nothing else."""
    document = flow.document
    addresses = fit.operations or {flow.producers[flow.base(fit.root)][0].address}
    node = document.nodes[_common(document, addresses)]
    while node.parent is not None:
        parent = document.nodes[node.parent]
        if parent.kind not in ("module", "function"):
            break
        whole = set(computing(document, parent))
        if not whole <= addresses and whole != set(computing(document, node)):
            break
        node = parent
    return node


def is_it(flow: Flow, node: Node, fit: Fit, outputs: Iterable[str], inputs: Iterable[str]) -> bool:
    """Whether the node is the mechanism: it gives the outputs, from inputs that come from outside it."""
    if node.kind in _OUTER:
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
        return made[0].address == node.address or made[0].address.startswith(f"{node.address}/")

    if tensor is None or not inside(tensor):
        return False
    return any(not inside(name) for name in flow.ancestors(tensor))


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
