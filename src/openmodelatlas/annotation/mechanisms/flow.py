"""The data flow of an atlas as patterns see it: operations with operands, plumbing passed over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from openmodelatlas.annotation.operation_table import OPERATIONS
from openmodelatlas.annotation.operations import name_arguments, operation_name
from openmodelatlas.capture import encoded
from openmodelatlas.graph.document import Document, Node, TensorFact

_PASSED = frozenset({"dropout", "contiguous", "clone", "detach", "alias"})


@dataclass(frozen=True)
class Operand:
    """What an operation reads: a tensor, or a value that is none.

    Attributes:
        tensor: the tensor before the plumbing on the way, by its address or true name; ``None`` for other values.
        seen: the tensor that the operation itself reads.
        value: key of the captured value of ``seen``, ``None`` if it is not recorded.
        number: the encoded value where it is no tensor, as in the probe.
        published: the same at the published configuration.
        reader: address of the operation that reads it; empty for results.
        text: what the code calls it, ``None`` where it has no name.
    """

    tensor: str | None
    seen: str | None = None
    value: str | None = None
    number: Any = None
    published: Any = None
    reader: str = ""
    text: str | None = None


@dataclass(frozen=True)
class Operation:
    """One operation or kernel.

    Attributes:
        address: of its node.
        name: as the operation table calls it; for kernels the function's own name.
        operands: tensors and other values in the order of the signature; lists of tensors are opened.
        named: all of them by name, where the signature or the code names them.
        results: base names of its results.
    """

    address: str
    name: str
    operands: tuple[Operand, ...]
    named: Mapping[str, Operand]
    results: tuple[str, ...]

    @cached_property
    def tensors(self) -> tuple[Operand, ...]:
        """Operands that are tensors."""
        return tuple(operand for operand in self.operands if operand.tensor is not None)


class Flow:
    """Operations of an atlas, found by name and by what they give or read."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self._plumbing: dict[str, str] = {}
        self.producers: dict[str, tuple[Operation, int]] = {}
        self.consumers: dict[str, list[Operation]] = {}
        self.by_name: dict[str, list[Operation]] = {}
        self.operations: dict[str, Operation] = {}
        self.passed: dict[str, Operation] = {}
        self.makers: dict[str, str] = {}
        self._results: dict[str, Operand] = {}
        self._ancestors: dict[str, dict[str, None]] = {}
        nodes = [node for node in document.nodes.values() if is_operation(document, node)]
        for node in nodes:
            for port in node.outputs:
                self.makers.setdefault(port.tensor, node.address)
            self._pass_over(node)
        for node in nodes:
            self._add(node)

    @cached_property
    def order(self) -> dict[str, int]:
        """Where each node stands among all, in order of execution."""
        return {address: number for number, address in enumerate(self.document.nodes)}

    @cached_property
    def names_passed(self) -> frozenset[str]:
        """Names of the operations that are passed over somewhere."""
        return frozenset(operation.name for operation in self.passed.values())

    @cached_property
    def returned(self) -> frozenset[str]:
        """What the model and its phases give."""
        nodes = (node for node in self.document.nodes.values() if node.kind in ("model", "phase"))
        return frozenset(self.base(port.tensor) for node in nodes for port in node.outputs)

    def base(self, tensor: str) -> str:
        """The tensor before any plumbing."""
        while tensor in self._plumbing:
            tensor = self._plumbing[tensor]
        return tensor

    def fact(self, tensor: str) -> TensorFact | None:
        """What is known of a tensor or input; ``None`` for parameters."""
        node = self.document.nodes.get(tensor)
        return node.tensor if node is not None else self.document.inputs.get(tensor)

    def key(self, tensor: str) -> str | None:
        """Key of the captured value of a tensor, input, parameter or buffer."""
        fact = self.fact(tensor)
        if fact is not None:
            return fact.value
        parameter = self.document.parameters.get(tensor)
        return parameter.value if parameter is not None else None

    def read_by(self, address: str) -> list[str]:
        """Tensors that a node reads itself, past no plumbing."""
        return [name for _, name, _ in _tensors(self.document.nodes[address])]

    def result(self, tensor: str) -> Operand:
        """The tensor as a result."""
        found = self._results.get(tensor)
        if found is None:
            found = self._results[tensor] = Operand(tensor=self.base(tensor), seen=tensor, value=self.key(tensor))
        return found

    @cached_property
    def made_by(self) -> dict[str, list[str]]:
        """Results by the name of the operation that computes them."""
        found: dict[str, list[str]] = {}
        for tensor, (operation, _) in self.producers.items():
            found.setdefault(operation.name, []).append(tensor)
        return found

    def ancestors(self, tensor: str, limit: int = 400) -> dict[str, None]:
        """Tensors that it is computed from, nearest first, itself included; at most about ``limit``."""
        known = self._ancestors.get(tensor)
        if known is not None:
            return known
        found: dict[str, None] = {tensor: None}
        queue = [tensor]
        for current in queue:
            made = self.producers.get(current)
            if made is None or len(found) > limit:
                continue
            for operand in made[0].tensors:
                assert operand.tensor is not None
                if operand.tensor not in found:
                    found[operand.tensor] = None
                    queue.append(operand.tensor)
        self._ancestors[tensor] = found
        return found

    def between(self, origin: str, tensor: str) -> set[str]:
        """Addresses of the operations on the ways from ``origin`` to ``tensor``."""
        reached: dict[str, bool] = {origin: True}
        ways: set[str] = set()

        def reaches(current: str) -> bool:
            if current not in reached:
                reached[current] = False
                made = self.producers.get(current)
                if made is not None and current in within:
                    inner = [reaches(operand.tensor) for operand in made[0].tensors if operand.tensor is not None]
                    reached[current] = any(inner)
                    if reached[current]:
                        ways.add(made[0].address)
            return reached[current]

        within = self.ancestors(tensor)
        reaches(tensor)
        return ways

    def _name(self, node: Node) -> str:
        return operation_name(node.function or "")[0]

    def _is_passed(self, node: Node) -> bool:
        """Whether a node gives the elements that it reads: plumbing, dropout at evaluation, an index of everything."""
        name = self._name(node)
        return node.plumbing or name in _PASSED or (name == "getitem" and _takes_all(node.arguments.get("1", ...)))

    def _pass_over(self, node: Node) -> None:
        """Notes the way through a piece of plumbing."""
        if not self._is_passed(node):
            return
        read = [name for _, name, _ in _tensors(node)]
        for port in node.outputs:
            if read and port.tensor != read[0]:
                self._plumbing[port.tensor] = read[0]

    def _add(self, node: Node) -> None:
        operands, named = self._operands(node)
        operation = Operation(
            address=node.address,
            name=self._name(node),
            operands=operands,
            named=named,
            results=tuple(port.tensor for port in node.outputs),
        )
        if self._is_passed(node):
            self.passed.update(dict.fromkeys(operation.results, operation))
            if not node.plumbing:
                self.by_name.setdefault(operation.name, []).append(operation)
            return
        self.operations[node.address] = operation
        self.by_name.setdefault(operation.name, []).append(operation)
        for index, result in enumerate(operation.results):
            self.producers.setdefault(result, (operation, index))
        for tensor in dict.fromkeys(operand.tensor for operand in operation.tensors):
            assert tensor is not None
            self.consumers.setdefault(tensor, []).append(operation)

    def _operands(self, node: Node) -> tuple[tuple[Operand, ...], dict[str, Operand]]:
        encoded = name_arguments(node.function or "", _merged(node.arguments, node.operands))
        published = name_arguments(node.function or "", _merged(node.arguments | node.published, node.operands))
        entry = OPERATIONS.get(self._name(node))
        signature = [name.strip("*") for name in entry[0].split()] if entry is not None else []
        order = sorted(encoded, key=lambda name: (_rank(name, signature), list(encoded).index(name)))
        texts = {name: port.name for port, (_, name, _) in zip(node.inputs, _tensors(node), strict=False)}
        operands: list[Operand] = []
        named: dict[str, Operand] = {}
        for name in order:
            value = encoded[name]
            items = value["list"] if _is_list_of_tensors(value) else [value]
            for item in items:
                operand = self._operand(item, published.get(name), node, texts)
                operands.append(operand)
                named.setdefault(name, operand)
        return tuple(operands), named

    def _operand(self, item: Any, published: Any, node: Node, texts: Mapping[str, str]) -> Operand:
        if isinstance(item, dict) and "tensor" in item:
            seen = item["tensor"]
            return Operand(
                tensor=self.base(seen),
                seen=seen,
                value=item["value"] if "value" in item else self.key(seen),
                reader=node.address,
                text=texts.get(seen),
            )
        return Operand(tensor=None, number=item, published=published, reader=node.address)


def is_operation(document: Document, node: Node) -> bool:
    """Whether a node is one operation: an operation, a kernel, or a module that is nothing but one."""
    if node.kind in ("operation", "kernel"):
        return True
    if node.kind not in ("module", "function") or not node.operands:
        return False
    return not any(document.nodes[child].kind != "tensor" for child in node.children)


def _takes_all(index: Any) -> bool:
    """Whether an encoded index takes every element, at most adding axes."""
    items = index["list"] if isinstance(index, dict) and "list" in index else [index]
    return all(
        item is None
        or (
            isinstance(item, dict)
            and (item.get("slice") in ([None, None, None], [0, None, None], [0, None, 1]) or "ellipsis" in item)
        )
        for item in items
    )


def _merged(arguments: Mapping[str, Any], operands: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments and operands in the order of the call: positions first."""
    merged = {**arguments, **operands}
    positions = sorted((key for key in merged if key.isdecimal()), key=int)
    return {key: merged[key] for key in (*positions, *(key for key in merged if not key.isdecimal()))}


def _rank(name: str, signature: list[str]) -> int:
    if name in signature:
        return signature.index(name)
    return int(name) if name.isdecimal() else len(signature) + 100


def _is_list_of_tensors(value: Any) -> bool:
    items = value.get("list") if isinstance(value, dict) else None
    return isinstance(items, list) and any(isinstance(item, dict) and "tensor" in item for item in items)


def _tensors(node: Node) -> Iterator[tuple[str, str, str | None]]:
    """Argument, name and value key of every tensor among the operands, in the order of the call."""
    for name, value in _merged({}, node.operands).items():
        yield from ((name, tensor["tensor"], tensor.get("value")) for tensor in encoded.references(value))
