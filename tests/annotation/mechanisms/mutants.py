"""Mutants of an atlas: one operation of a place does something else, and all values after it follow.

This is what a change of the model's source would give: another sign, another order, a swapped half, another tensor
picked. The operations are evaluated in float64 by ``annotation.formulas``, as the capture would have done in float32.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from openmodelatlas.annotation.formulas.calls import call_of
from openmodelatlas.annotation.formulas.entry import UnavailableError
from openmodelatlas.annotation.formulas.evaluate import as_list, evaluated
from openmodelatlas.annotation.material import Code, Material
from openmodelatlas.annotation.mechanisms.evaluate import relative_error
from openmodelatlas.annotation.mechanisms.fit import Place
from openmodelatlas.annotation.mechanisms.flow import Flow, Operand, is_operation
from openmodelatlas.annotation.operations import operation_name
from openmodelatlas.annotation.values import array
from openmodelatlas.graph.document import Document, Node

REPLACED = {
    "add": "torch.Tensor.sub", "subtract": "torch.Tensor.add", "multiply": "torch.Tensor.add",
    "divide": "torch.Tensor.mul", "rsqrt": "torch.Tensor.sqrt", "sqrt": "torch.Tensor.abs", "exp": "torch.Tensor.abs",
    "mean": "torch.Tensor.sum", "sum": "torch.Tensor.mean", "silu": "torch.Tensor.sigmoid",
    "gelu": "torch.Tensor.sigmoid", "sigmoid": "torch.Tensor.tanh", "tanh": "torch.Tensor.sigmoid",
    "softmax": "torch.Tensor.sigmoid", "softplus": "torch.Tensor.relu", "cos": "torch.Tensor.sin",
    "sin": "torch.Tensor.cos", "le": "torch.Tensor.lt", "lt": "torch.Tensor.le", "gt": "torch.Tensor.ge",
    "ge": "torch.Tensor.gt", "neg": "torch.Tensor.abs", "square": "torch.Tensor.abs", "tril": "torch.Tensor.triu",
    "triu": "torch.Tensor.tril", "logical_and": "torch.Tensor.logical_or", "log": "torch.Tensor.abs",
    "rsub": "torch.Tensor.add", "logical_not": "torch.Tensor.bool", "cumsum": "torch.Tensor.cumprod",
}  # fmt: skip
"""Another operation in place of one, by the table's name."""

SWAPPED = frozenset({"subtract", "divide", "matmul", "le", "gt", "pow", "cat", "stack", "gather", "where", "copy"})
"""Operations whose operands are not alike."""


@dataclass(frozen=True)
class Mutant:
    """One change.

    Attributes:
        what: what was changed, in words.
        material: the atlas with it.
        changed: whether any output of the place has another value.
    """

    what: str
    material: Material
    changed: bool


class _Code:
    """Values of an atlas, some of them replaced."""

    def __init__(self, code: Code, replaced: Mapping[str, Any]) -> None:
        self._code = code
        self._replaced = replaced

    def value(self, key: str) -> Any:
        return self._replaced.get(key) or self._code.value(key)

    def lines_of(self, file: str) -> Any:
        return self._code.lines_of(file)


@dataclass(frozen=True)
class _Value:
    dtype: str
    shape: tuple[int, ...]
    data: bytes


def mutants(material: Material, flow: Flow, place: Place, inside: str) -> Iterator[Mutant]:
    """Every mutant of the operations of ``place``; ``inside`` is the address below which values follow."""
    document = material.document
    for address in sorted(place.fit.operations):
        for what, changes in _changes(document, flow, document.nodes[address], place):
            found = _propagated(material, flow, changes, inside)
            if found is not None:
                mutated, arrays = found
                changed = any(_differs(material, flow, arrays, place, name) for name in place.outputs)
                yield Mutant(f"{address}: {what}", mutated, changed)


def _changes(document: Document, flow: Flow, node: Node, place: Place) -> Iterator[tuple[str, dict[str, Node]]]:
    """Nodes that stand for the changed ones, by address."""
    name = operation_name(node.function or "")[0]
    other = REPLACED.get(name)
    if other is not None:
        arguments = {key: value for key, value in node.arguments.items() if not (name in _UNARY and key != "0")}
        yield (
            f"{name} becomes {other.rpartition('.')[2]}",
            {node.address: msgspec.structs.replace(node, function=other, arguments=arguments)},
        )
    if name in SWAPPED:
        swapped = _swapped(node)
        if swapped is not None:
            yield "operands are swapped", {node.address: swapped}
    if name == "getitem":
        for index in _other_indices(node.arguments.get("1")):
            yield (
                "another part is taken",
                {node.address: msgspec.structs.replace(node, arguments={**node.arguments, "1": index})},
            )
    if len(node.outputs) > 1:
        yield (
            "results are swapped",
            {
                node.address: msgspec.structs.replace(
                    node, outputs=(node.outputs[1], node.outputs[0], *node.outputs[2:])
                )
            },
        )
    for key, value in node.arguments.items():
        if _is_constant(value, key) and not _is_bound(place, node.address, value):
            changed = {**node.arguments, key: value * 2 + 1}
            yield f"{value} becomes {value * 2 + 1}", {node.address: msgspec.structs.replace(node, arguments=changed)}
    yield from _other_operands(document, flow, node, place)
    yield from _other_order(document, flow, node, place)


_UNARY = frozenset({"softmax", "silu", "gelu", "softplus", "rsqrt"})


def _swapped(node: Node) -> Node | None:
    """The first two operands change places."""
    merged = {**node.arguments, **node.operands}
    keys = [key for key in merged if key.isdecimal()]
    if len(keys) >= 2 and ("0" in node.operands and "1" in node.operands):
        operands = {**node.operands, "0": node.operands["1"], "1": node.operands["0"]}
        return msgspec.structs.replace(node, operands=operands)
    first = node.operands.get("0", node.operands.get("tensors"))
    if isinstance(first, dict) and isinstance(first.get("list"), list) and len(first["list"]) > 1:
        turned = {"list": [first["list"][1], first["list"][0], *first["list"][2:]]}
        return msgspec.structs.replace(node, operands={**node.operands, "0": turned})
    return None


def _other_indices(index: Any) -> Iterator[Any]:
    """An index that takes another half or the other neighbours."""
    items = index.get("list") if isinstance(index, dict) else None
    if not isinstance(items, list) or not isinstance(items[-1], dict) or "slice" not in items[-1]:
        return
    start, stop, step = items[-1]["slice"]
    if step == 2:
        yield {"list": [*items[:-1], {"slice": [1 if not start else None, stop, step]}]}
    elif start is None and isinstance(stop, int) and stop > 0:
        yield {"list": [*items[:-1], {"slice": [stop, None, step]}]}
    elif stop is None and isinstance(start, int) and start > 0:
        yield {"list": [*items[:-1], {"slice": [None, start, step]}]}


def _is_constant(value: Any, key: str) -> bool:
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and key not in ("dim", "-1", "dtype", "k")
        and (key in ("1", "alpha", "beta", "other"))
    )


def _is_bound(place: Place, address: str, value: Any) -> bool:
    """Whether a number is a symbol here: with another number it is the same mechanism."""
    return any(
        operand.reader == address and operand.tensor is None and operand.number == value
        for operand in place.fit.bound.values()
    )


def _other_operands(document: Document, flow: Flow, node: Node, place: Place) -> Iterator[tuple[str, dict[str, Node]]]:
    """One operand becomes another tensor of the place of the same shape, made before.

    An input that is read once is left out: reading something else there is the same mechanism of another input.
    """
    operation = flow.operations.get(node.address)
    if operation is None:
        return
    order = {address: number for number, address in enumerate(document.nodes)}
    made_inside = {
        result for one in place.fit.operations & flow.operations.keys() for result in flow.operations[one].results
    }
    names = dict.fromkeys(operand.seen for operand in place.fit.bound.values() if operand.seen is not None)
    inputs = {operand.tensor for name, operand in place.fit.bound.items() if name not in place.outputs}
    reads = [operand.tensor for one in place.fit.operations for operand in _read(flow, one)]
    for key, encoded in node.operands.items():
        if not isinstance(encoded, dict) or "tensor" not in encoded:
            continue
        base = flow.base(encoded["tensor"])
        if base in inputs - made_inside and reads.count(base) < 2:
            continue
        fact = flow.fact(encoded["tensor"]) or document.parameters.get(encoded["tensor"])
        for name in names:
            candidate = flow.fact(name) or document.parameters.get(name)
            made = flow.producers.get(flow.base(name))
            if candidate is None or fact is None or flow.base(name) == flow.base(encoded["tensor"]):
                continue
            if not made_inside & {flow.base(name), flow.base(encoded["tensor"])}:
                continue
            if candidate.shape != fact.shape or (made is not None and order[made[0].address] >= order[node.address]):
                continue
            value = candidate.value
            other = {"tensor": name} if value is None else {"tensor": name, "value": value}
            yield (
                f"reads {name} instead of {encoded['tensor']}",
                {node.address: msgspec.structs.replace(node, operands={**node.operands, key: other})},
            )
            break


def _read(flow: Flow, address: str) -> tuple[Operand, ...]:
    operation = flow.operations.get(address)
    return operation.tensors if operation is not None else ()


_ELEMENTWISE = frozenset(
    {"add", "multiply", "divide", "subtract", "rsqrt", "sigmoid", "silu", "exp", "softplus", "tanh"}
)


def _other_order(document: Document, flow: Flow, node: Node, place: Place) -> Iterator[tuple[str, dict[str, Node]]]:
    """Two element-wise operations, one after the other, change places."""
    if operation_name(node.function or "")[0] not in _ELEMENTWISE:
        return
    encoded = node.operands.get("0")
    if not isinstance(encoded, dict) or "tensor" not in encoded:
        return
    made = flow.producers.get(encoded["tensor"])
    if made is None or made[0].address not in place.fit.operations or made[0].name not in _ELEMENTWISE:
        return
    before = document.nodes[made[0].address]
    if "0" not in before.operands or len(flow.consumers.get(encoded["tensor"], ())) > 1:
        return
    inner = msgspec.structs.replace(
        before,
        function=node.function,
        arguments=node.arguments,
        operands={**node.operands, "0": before.operands["0"]},
    )
    outer = msgspec.structs.replace(
        node,
        function=before.function,
        arguments=before.arguments,
        operands={**before.operands, "0": encoded},
    )
    if inner.function == node.function and outer.function == inner.function:
        return
    yield "order with the operation before is changed", {before.address: inner, node.address: outer}


def _propagated(
    material: Material, flow: Flow, changes: Mapping[str, Node], inside: str
) -> tuple[Material, dict[str, np.ndarray[Any, Any]]] | None:
    """The atlas with these nodes and all values that follow; ``None`` if it cannot be evaluated."""
    document = material.document
    nodes = {**document.nodes, **changes}
    new: dict[str, np.ndarray[Any, Any]] = {}

    def read(name: str, key: str | None) -> Any:
        if name in new:
            return new[name]
        value = material.code.value(key) if key is not None else None
        if value is None:
            raise UnavailableError(f"{name} is not at hand")
        found = array(value)
        return found.astype(np.float64) if found.dtype.kind == "f" else found

    for address, before in document.nodes.items():
        node = nodes[address]
        if not is_operation(document, before) or not (
            address == inside or address.startswith(f"{inside}/") or not inside
        ):
            continue
        call = call_of(node, msgspec.structs.replace(document, nodes=nodes))
        if call is None:
            if address in changes:
                return None
            continue
        if address not in changes and not any(operand.name in new for operand in call.operands):
            continue
        try:
            results = as_list(
                evaluated(call, {operand: read(operand.name, operand.value) for operand in call.operands})
            )
        except UnavailableError:
            return None
        for port, result in zip(node.outputs, results, strict=False):
            fact = flow.fact(port.tensor)
            if fact is None or len(fact.shape) != result.ndim:
                return None
            new[port.tensor] = result
    replaced: dict[str, _Value] = {}
    for name, result in new.items():
        with np.errstate(over="ignore"):
            kept = np.ascontiguousarray(result.astype(np.float32) if result.dtype.kind == "f" else result)
        key = f"mutant-{len(replaced)}"
        replaced[key] = _Value(dtype=str(kept.dtype), shape=kept.shape, data=kept.tobytes())
        tensor = nodes[name]
        assert tensor.tensor is not None
        nodes[name] = msgspec.structs.replace(tensor, tensor=msgspec.structs.replace(tensor.tensor, value=key))
    for address, node in list(nodes.items()):
        if node.operands and not new.keys().isdisjoint(flow.read_by(address)):
            nodes[address] = msgspec.structs.replace(node, operands=_without_old_values(node.operands, new))
    for address in changes:
        node = nodes[address]
        nodes[address] = msgspec.structs.replace(node, outputs=document.nodes[address].outputs)
    mutated = msgspec.structs.replace(document, nodes=nodes)
    return Material(document=mutated, code=_Code(material.code, replaced)), new


def _without_old_values(encoded: Any, new: Mapping[str, Any]) -> Any:
    if isinstance(encoded, dict):
        if encoded.get("tensor") in new:
            return {"tensor": encoded["tensor"]}
        return {key: _without_old_values(value, new) for key, value in encoded.items()}
    if isinstance(encoded, list):
        return [_without_old_values(value, new) for value in encoded]
    return encoded


def _differs(material: Material, flow: Flow, new: Mapping[str, np.ndarray[Any, Any]], place: Place, name: str) -> bool:
    tensor = place.fit.bound[name].tensor or ""
    key = flow.key(tensor)
    value = material.code.value(key) if key is not None else None
    if tensor not in new or value is None:
        return False
    old = array(value)
    return relative_error(new[tensor], old) > 1e-5
