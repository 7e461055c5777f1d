"""What must hold of every document, as one table, checked before anything is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from openmodelatlas.capture import encoded
from openmodelatlas.errors import GraphError
from openmodelatlas.graph.document import Document, Node
from openmodelatlas.shapes.dimension import DataDependent

_SEGMENT = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
Fault = tuple[str, str]
"""Address and sentence."""


def _addresses(document: Document) -> Iterator[Fault]:
    for address, node in document.nodes.items():
        if node.address != address:
            yield address, f"the node calls itself {node.address!r}"
        if address and not all(_SEGMENT.fullmatch(segment) for segment in address.split("/")):
            yield address, "an address segment has other characters than a-z, 0-9 and hyphens"


def _tree(document: Document) -> Iterator[Fault]:
    seen: dict[str, str] = {}
    for address, node in document.nodes.items():
        for child in node.children:
            if child not in document.nodes:
                yield address, f"its child {child!r} does not exist"
            elif document.nodes[child].parent != address:
                yield address, f"its child {child!r} names {document.nodes[child].parent!r} as parent"
            if child in seen:
                yield address, f"its child {child!r} is also a child of {seen[child]!r}"
            seen[child] = address
    for address, node in document.nodes.items():
        if address and address not in seen:
            yield address, f"no node has it as a child (parent {node.parent!r})"


def _ports(document: Document) -> Iterator[Fault]:
    for address, node in document.nodes.items():
        for port in (*node.inputs, *node.outputs):
            for tensor in (port.tensor, *port.others):
                known = tensor in document.parameters or tensor in document.inputs
                if not known and (tensor not in document.nodes or document.nodes[tensor].kind != "tensor"):
                    yield address, f"port {port.name!r} leads to {tensor!r}, which is no tensor"
            for step in port.via:
                if step not in document.nodes or not document.nodes[step].plumbing:
                    yield address, f"port {port.name!r} passes {step!r}, which is no plumbing"


def _operands(document: Document) -> Iterator[Fault]:
    for address, node in document.nodes.items():
        for tensor in (name for value in node.operands.values() for name in encoded.tensors(value)):
            if not (tensor in document.nodes or tensor in document.parameters or tensor in document.inputs):
                yield address, f"it reads {tensor!r}, which is no tensor"


def _producers(document: Document) -> Iterator[Fault]:
    made: dict[str, str] = {}
    for address, node in document.nodes.items():
        if node.tensor is None:
            if node.kind == "tensor":
                yield address, "a tensor node has no facts"
            continue
        producer = node.tensor.producer
        if producer is None or producer not in document.nodes:
            yield address, f"its producer {producer!r} does not exist"
        if address in made:
            yield address, f"it has two producers, {made[address]!r} and {producer!r}"
        made[address] = producer or ""
        for consumer in node.tensor.consumers:
            if consumer not in document.nodes:
                yield address, f"its consumer {consumer!r} does not exist"
        for dimension in node.tensor.shape:
            if isinstance(dimension, DataDependent) and not dimension.depends_on:
                yield address, "a size depends on values, but on nothing that is named"


def _members(document: Document) -> Iterator[Fault]:
    for address, node in document.nodes.items():
        groups = [document.nodes[child] for child in node.children if document.nodes[child].kind == "layer group"]
        if node.kind != "layer group" or not groups or any(group.count == 1 and not group.members for group in groups):
            continue
        if {child.address for child in groups} != {c for c in node.children if document.nodes[c].kind != "tensor"}:
            continue
        nested = any(group.rounds != node.rounds for group in groups)  # a list of modules within a layer
        numbers = [number for group in groups for number in (group.rounds if nested else group.members)]
        if len(numbers) != len(set(numbers)):
            yield address, f"a {'round' if nested else 'layer'} is in two variants"
        layers = {number for group in groups for number in group.members}
        if layers != set(node.members):
            yield address, "the variants do not hold all layers"


def _parameters(document: Document) -> Iterator[Fault]:
    total = sum(fact.each * fact.count for fact in document.parameters.values() if fact.kind == "parameter")
    root = document.nodes[""]
    if root.parameter_count != total:
        yield "", f"the model counts {root.parameter_count:,} parameters, its parameters add up to {total:,}"
    for name, fact in document.parameters.items():
        if fact.owner not in document.nodes:
            yield fact.owner, f"it owns {name!r}, but does not exist"
    for address, node in document.nodes.items():
        for name in node.parameters:
            if name not in document.parameters:
                yield address, f"its parameter {name!r} does not exist"


def _files(document: Document) -> Iterator[Fault]:
    def cited(node: Node) -> Iterator[str]:
        if node.symbol is not None:
            yield node.symbol.lines.file
        if node.code is not None:
            yield node.code.file

    for address, node in document.nodes.items():
        for path in cited(node):
            if path not in document.files:
                yield address, f"it cites {path!r}, which is not among the files"


INVARIANTS: dict[str, Callable[[Document], Iterator[Fault]]] = {
    "addresses are readable and unique": _addresses,
    "nodes form one tree": _tree,
    "ports lead to tensors, past plumbing only": _ports,
    "operations read tensors that are there": _operands,
    "every tensor has one producer": _producers,
    "every layer is in exactly one variant": _members,
    "parameters add up to the model’s total": _parameters,
    "every cited file is in the bundle": _files,
}


def check_events(document: Document, recorded: int) -> None:
    """Every recorded operation of the first probe is in exactly one node.

    Raises:
        GraphError: the nodes account for more or fewer operations.
    """
    counted = sum(node.events for node in document.nodes.values())
    if counted != recorded:
        raise GraphError(f"The nodes account for {counted:,} of {recorded:,} recorded operations.", where="the model")


def check(document: Document) -> None:
    """Checks every invariant.

    Raises:
        GraphError: one does not hold; names the node, and how many more faults there are.
    """
    for rule, find in INVARIANTS.items():
        faults = list(find(document))
        if faults:
            address, fault = faults[0]
            more = f" ({len(faults) - 1} more like it)" if len(faults) > 1 else ""
            raise GraphError(f"Not so: {rule}: {fault}{more}.", where=address or "the model")
