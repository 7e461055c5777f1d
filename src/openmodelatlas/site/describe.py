"""The sober sentence on every page, made from facts alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from openmodelatlas.annotation.counting import in_layers
from openmodelatlas.annotation.operations import describe_operation
from openmodelatlas.graph.document import Node
from openmodelatlas.graph.outcomes import branches_of, outcome_for
from openmodelatlas.site.arguments import published_arguments
from openmodelatlas.site.words import crumb_label, name_within, one_line, split_condition

_SHOWN_STEPS = 8

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
    node: Node,
    nodes: Mapping[str, Node],
    *,
    operations: int,
    axes: Sequence[str] = (),
    layers: int = 0,
    with_steps: bool = True,
) -> str:
    """One or two sentences.

    Args:
        node: what to describe.
        nodes: all nodes by address.
        operations: number of operations inside, folded ones counted once.
        axes: the axes of the node's first input in words, one per axis.
        layers: number of layers inside, for the model.
        with_steps: whether the steps inside are named, which is too much after a sentence that says what the node is.
    """
    if not with_steps and node.kind in ("module", "function", "layer group", "loop"):
        bare = msgspec.structs.replace(node, children=(), members=())
        return describe_node(bare, nodes, operations=operations, axes=axes, layers=layers)
    if node.kind == "operation":
        return describe_operation(node.function or node.title, published_arguments(node), axes)
    if node.kind == "tensor":
        return _describe_tensor(node, nodes)
    if node.kind in ("model", "phase", "module", "function"):
        return _describe_call(node, nodes, operations, axes, layers)
    return _describe_structure(node, nodes)


def _describe_structure(node: Node, nodes: Mapping[str, Node]) -> str:
    """For layer groups, branches, loops and kernels."""
    if node.kind == "layer group":
        text = _describe_layers(node, nodes)
    elif node.kind == "branch":
        text = _describe_branch(node, nodes)
    elif node.kind == "loop":
        often = f": {node.repeat.note}" if node.repeat else ""
        round_of = node.repeat is not None and node.repeat.note.startswith("round")
        what = "Part of a loop" if round_of else "A loop"
        text = f"{what} in the model’s code{often}.{_steps(node, nodes, ' Each round: ')}"
    else:
        text = f"Runs the kernel `{node.function or node.title}`, which is recorded as one operation."
    return text


def _describe_layers(node: Node, nodes: Mapping[str, Node]) -> str:
    if node.class_name:
        text = f"Runs `{node.class_name}`{in_layers(node.members)}{_steps(node, nodes, ': ') or '.'}"
    elif node.count > 1 and any(nodes[address].members for address in node.children):
        text = f"{crumb_label(node)}, in order of execution{_steps(node, nodes, ': ') or '.'}"
    else:
        text = f"{crumb_label(node)}{in_layers(node.members)}." if node.members else ""
    _, test, outcome = split_condition(node.label)
    if test:
        text += (
            f" What tells them from other layers of the kind: `{one_line(test, 100)}` is {str(outcome).lower()} here."
        )
    return text


def _steps(node: Node, nodes: Mapping[str, Node], opening: str) -> str:
    """What is directly inside, in order of execution, plumbing and tensors left out; empty if there is nothing."""
    inside = [nodes[address] for address in node.children]
    steps = [name_within(child) for child in inside if child.kind not in ("tensor", "phase") and not child.plumbing]
    if not steps:
        return ""
    shown = steps if len(steps) <= _SHOWN_STEPS + 1 else steps[:_SHOWN_STEPS]
    rest = f", and {len(steps) - len(shown)} more" if len(shown) < len(steps) else ""
    return f"{opening}{', '.join(shown)}{rest}."


def _describe_branch(node: Node, nodes: Mapping[str, Node]) -> str:
    branches = branches_of(node, nodes)
    if not branches:
        return "A condition in the model’s code."
    outcome = outcome_for(branches[0], node)
    words = {"true": ", which is true here", "false": ", which is false here", "both": ", true and false in turn here"}
    runs = _steps(node, nodes, " Here it runs: ") or f" Here nothing is computed{_renamed(node)}."
    test = one_line(branches[0].test, 100)
    differ = f"{branches[0].by.capitalize()}s differ here"
    return f"{differ}: what runs depends on `{test}`{words.get(outcome or '', '')}.{runs}"


def _renamed(node: Node) -> str:
    """What an assignment that computes nothing gives a new name."""
    read = {port.tensor: port.name for port in node.inputs}
    pairs = [
        (port.name, read[port.tensor])
        for port in node.outputs
        if port.tensor in read and read[port.tensor] != port.name
    ]
    return ": " + ", ".join(f"`{new}` is `{old}`" for new, old in pairs) if pairs else ""


def _describe_call(node: Node, nodes: Mapping[str, Node], operations: int, axes: Sequence[str], layers: int) -> str:
    """For the model, phases, modules and functions."""
    inside = f" ({operations} operation{'' if operations == 1 else 's'})" if operations else ""
    if node.kind == "phase":
        return f"It runs {inside.strip(' ()')}." if inside else f"The {node.phase} step runs nothing that was recorded."
    name = node.class_name or node.function or node.title
    if node.kind == "model":
        depth = f", {layers} layers" if layers else ""
        return f"Runs `{name}`{inside}{depth}."
    if node.kind == "function":
        return f"Calls `{node.function or node.title}`{inside}{_steps(node, nodes, ': ') or '.'}"
    known = _MODULE_OPERATIONS.get(name)
    if known is not None:
        return f"Runs `{name}`. {describe_operation(known, published_arguments(node), axes)}"
    return f"Runs `{name}`{inside}{_steps(node, nodes, ': ') or '.'}"


def _describe_tensor(node: Node, nodes: Mapping[str, Node]) -> str:
    producer = nodes.get(node.tensor.producer) if node.tensor is not None and node.tensor.producer is not None else None
    if producer is None:
        return "Handed in from outside: no recorded operation computes it."
    if producer.kind in ("operation", "kernel") and producer.symbol is not None:
        return f"The result of `{one_line(producer.symbol.text, 100)}`."
    return f"What {crumb_label(producer)} gives."
