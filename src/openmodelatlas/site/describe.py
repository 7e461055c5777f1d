"""The sober sentence on every page, made from facts alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from openmodelatlas.annotation.operations import describe_operation
from openmodelatlas.evidence.branches import branches_of, outcome_for
from openmodelatlas.evidence.claims import layers_text
from openmodelatlas.graph.document import Node

# Modules of torch that are one operation.
_MODULE_OPERATIONS = {
    "torch.nn.Linear": "torch.nn.functional.linear",
    "torch.nn.Embedding": "torch.nn.functional.embedding",
    "torch.nn.LayerNorm": "torch.nn.functional.layer_norm",
    "torch.nn.RMSNorm": "torch.nn.functional.rms_norm",
    "torch.nn.Conv1d": "torch.nn.functional.conv1d",
    "torch.nn.Conv2d": "torch.nn.functional.conv2d",
    "torch.nn.SiLU": "torch.nn.functional.silu",
    "torch.nn.GELU": "torch.nn.functional.gelu",
    "torch.nn.ReLU": "torch.nn.functional.relu",
    "torch.nn.Sigmoid": "torch.nn.functional.sigmoid",
    "torch.nn.Tanh": "torch.nn.functional.tanh",
    "torch.nn.Softmax": "torch.nn.functional.softmax",
    "torch.nn.Dropout": "torch.nn.functional.dropout",
}


def describe_node(
    node: Node, nodes: Mapping[str, Node], *, operations: int, axes: Sequence[str] = (), layers: int = 0
) -> str:
    """One or two sentences.

    Args:
        node: what to describe.
        nodes: all nodes by address.
        operations: number of operations inside, folded ones counted once.
        axes: the axes of the node's first input in words, one per axis.
        layers: number of layers inside, for the model.
    """
    if node.kind == "operation":
        return describe_operation(node.function or node.title, node.arguments, axes)
    if node.kind == "tensor":
        return _describe_tensor(node, nodes)
    if node.kind in ("model", "phase", "module", "function"):
        return _describe_call(node, operations, axes, layers)
    return _describe_structure(node, nodes)


def _describe_structure(node: Node, nodes: Mapping[str, Node]) -> str:
    """For layer groups, branches, loops and kernels."""
    if node.kind == "layer group":
        inside = [nodes[address] for address in node.children]
        inside = [child for child in inside if child.kind != "tensor" and not child.plumbing]
        if node.class_name:
            text = f"Runs `{node.class_name}`{_standing_for(node)}: {', '.join(child.label for child in inside)}."
        elif node.count > 1 and inside and inside[0].members:
            text = f"{node.label}, in order of execution: {', '.join(child.label for child in inside)}."
        else:
            text = f"{node.label}{_standing_for(node)}."
    elif node.kind == "branch":
        text = _describe_branch(node, nodes)
    elif node.kind == "loop":
        text = f"A loop in the model's code{f': {node.repeat.note}' if node.repeat else ''}."
    else:
        text = f"Runs the kernel `{node.function or node.title}`, which is recorded as one operation."
    return text


def _describe_branch(node: Node, nodes: Mapping[str, Node]) -> str:
    branches = branches_of(node, nodes)
    if not branches:
        return "A condition in the model's code."
    outcome = outcome_for(branches[0], node)
    words = {"true": ", which is true here", "false": ", which is false here", "both": ", true and false in turn here"}
    steps = [nodes[address].label for address in node.children if nodes[address].kind != "tensor"]
    runs = f" Here it runs: {', '.join(steps)}." if steps else " Here nothing is computed."
    test = _one_line(branches[0].test)
    return f"Layers differ here: what runs depends on `{test}`{words.get(outcome or '', '')}.{runs}"


def _describe_call(node: Node, operations: int, axes: Sequence[str], layers: int) -> str:
    """For the model, phases, modules and functions."""
    inside = f" ({operations} operation{'' if operations == 1 else 's'})" if operations else ""
    if node.kind == "phase":
        return f"What runs in the {node.phase} step{inside}."
    name = node.class_name or node.function or node.title
    if node.kind == "model":
        depth = f", {layers} layers" if layers else ""
        return f"Runs `{name}`{inside}{depth}."
    if node.kind == "function":
        return f"Calls `{node.function or node.title}`{inside}."
    known = _MODULE_OPERATIONS.get(name)
    if known is not None:
        return f"Runs `{name}`. {describe_operation(known, node.arguments, axes)}"
    return f"Runs `{name}`{inside}."


def _describe_tensor(node: Node, nodes: Mapping[str, Node]) -> str:
    producer = nodes.get(node.tensor.producer) if node.tensor is not None and node.tensor.producer is not None else None
    if producer is None:
        return "Handed in from outside: no recorded operation computes it."
    if producer.kind in ("operation", "kernel") and producer.symbol is not None:
        return f"The result of `{_one_line(producer.symbol.text)}`."
    return f"What {producer.label or producer.title} gives."


def _standing_for(node: Node) -> str:
    return f" in {layers_text(node.members)}" if node.members else ""


def _one_line(text: str) -> str:
    joined = " ".join(text.split())
    return joined if len(joined) <= 100 else f"{joined[:99]}…"
