"""Whether what a node is handed is computed with."""

from __future__ import annotations

from collections.abc import Mapping

from openmodelatlas.graph.document import Node, Port, TensorFact

_CALLS = ("layer group", "module", "function")


def is_read(node: Node, port: Port, nodes: Mapping[str, Node], inputs: Mapping[str, TensorFact]) -> bool:
    """Whether something inside a layer, module or function reads what it is handed, or it hands it on.

    Args:
        node: the layer, module or function; everything else reads all of its inputs.
        port: one of its inputs.
        nodes, inputs: those of the document.
    """
    inside = [child for child in node.children if nodes[child].kind != "tensor"]
    if node.kind not in _CALLS or not inside or port.source in ("parameter", "buffer"):
        return True
    if any(port.tensor == output.tensor for output in node.outputs):
        return True
    passed = (output.tensor for step in port.via if step in nodes for output in nodes[step].outputs)
    for tensor in (port.tensor, *passed):
        made = nodes.get(tensor)
        fact = inputs.get(tensor) if made is None else made.tensor
        if fact is not None and any(reader.startswith(f"{node.address}/") for reader in fact.consumers):
            return True
    return False
