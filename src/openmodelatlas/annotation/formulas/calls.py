"""The call that an operation node stands for: its arguments by name, tensors as references to what was read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from openmodelatlas.annotation.formulas.entry import Dtype, Entry, UnavailableError
from openmodelatlas.annotation.operations import name_arguments, operation_name
from openmodelatlas.graph.document import Document, Node

IGNORED = frozenset(
    [
        "device",
        "layout",
        "requires_grad",
        "pin_memory",
        "memory_format",
        "non_blocking",
        "copy",
        "generator",
        "_stacklevel",
        "inplace",
        "out",
        "__stacklevel",
    ]
)
"""Arguments that decide where and how a result is stored, not what it is."""


@dataclass(frozen=True)
class Operand:
    """A tensor that an operation reads.

    Attributes:
        name: address of the tensor node, true name of a parameter or buffer, or key of ``Document.inputs``.
        place: where it stands in the call: name or position of the argument, then positions within it.
        value: key of its captured value, ``None`` if there is none at hand.
    """

    name: str
    place: tuple[str | int, ...]
    value: str | None


@dataclass(frozen=True)
class Call:
    """One recorded call.

    Attributes:
        node: the node.
        name: the table's name of the function.
        entry: what the table knows of it.
        named: its arguments by name: :class:`Operand` for tensors, lists, :class:`slice`, ``...``, :class:`Dtype` and
            plain values.
        published: the plain ones as the published configuration has them, encoded (``Node.published``).
        operands: all tensors that it reads, in the order of the call.
        in_place: whether the result is written into the first input.
    """

    node: Node
    name: str
    entry: Entry
    named: Mapping[str, Any]
    published: Mapping[str, Any]
    operands: tuple[Operand, ...]
    in_place: bool


def entry_of(function: str) -> tuple[str, Entry | None, bool]:
    """The table's name of a function, what it knows of it, and whether this form writes into its first input."""
    from openmodelatlas.annotation.formulas.families import ENTRIES

    name, in_place = operation_name(function)
    own = function.rpartition(".")[2].strip("_")
    own = {"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "invert": "bitwise_not"}.get(own, own)
    if own.startswith("bitwise_") and own in ENTRIES:
        return own, ENTRIES[own], in_place
    return name, ENTRIES.get(name), in_place


def call_of(node: Node, document: Document) -> Call | None:
    """The call of an operation node; ``None`` if the table does not know its function."""
    if node.function is None or not is_operation(node):
        return None
    name, entry, in_place = entry_of(node.function)
    if entry is None:
        return None
    reader = _Reader(document)
    encoded = in_order({**node.arguments, **node.operands})
    read = {key: reader.read(value, (key,)) for key, value in encoded.items()}
    return Call(
        node=node,
        name=name,
        entry=entry,
        named={name: _together(value) for name, value in name_arguments(node.function, read).items()},
        published={
            name: value
            for name, value in name_arguments(node.function, _encoded_at_full_size(node)).items()
            if value is not None
        },
        operands=tuple(reader.operands),
        in_place=in_place,
    )


def _together(value: Any) -> Any:
    """Positions that ``name_arguments`` put into one list."""
    return value["list"] if isinstance(value, dict) else value


def named_call(node: Node, document: Document, signature: Sequence[str], entry: Entry) -> Call:
    """The call of a kernel, whose positional arguments are called as in ``signature``."""
    reader = _Reader(document)
    named: dict[str, Any] = {}
    for key, value in in_order({**node.arguments, **node.operands}).items():
        position = int(key) if key.isdecimal() else None
        if position is not None and position >= len(signature):
            named[key] = reader.read(value, (key,))
            continue
        named[signature[position] if position is not None else key] = reader.read(value, (key,))
    return Call(
        node=node,
        name=node.function or "",
        entry=entry,
        named=named,
        published={},
        operands=tuple(reader.operands),
        in_place=False,
    )


def _encoded_at_full_size(node: Node) -> dict[str, Any]:
    """All arguments encoded, with the published values of those that differ."""
    return in_order({**node.arguments, **node.operands, **node.published})


def is_operation(node: Node) -> bool:
    """Whether a node is one torch function: an operation, or a module of torch that runs one."""
    if node.kind == "operation":
        return True
    return node.kind == "module" and node.function is not None and node.function.startswith("torch.")


def in_order(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments as they were given: positions first, in order."""
    positions = sorted((key for key in arguments if key.isdecimal()), key=int)
    return {key: arguments[key] for key in (*positions, *(key for key in arguments if not key.isdecimal()))}


class _Reader:
    """Reads encoded arguments (see ``capture.recording``) and notes their tensors."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self.operands: list[Operand] = []

    def read(self, value: Any, place: tuple[str | int, ...]) -> Any:
        if not isinstance(value, dict):
            return value
        if "tensor" in value:
            operand = Operand(value["tensor"], place, self._value(value))
            self.operands.append(operand)
            return operand
        return self._plain(value, place)

    def _plain(self, value: dict[str, Any], place: tuple[str | int, ...]) -> Any:
        if "list" in value:
            items = [self.read(item, (*place, index)) for index, item in enumerate(value["list"])]
            return Cut(items) if value.get("length", len(items)) != len(items) else items
        if "slice" in value:
            return slice(*(self.read(part, (*place, index)) for index, part in enumerate(value["slice"])))
        if "float" in value:
            return float(value["float"])
        if "dtype" in value:
            return Dtype(value["dtype"])
        return ... if "ellipsis" in value else Unknown(value)

    def _value(self, tensor: Mapping[str, Any]) -> str | None:
        if "value" in tensor:
            return tensor["value"]  # type: ignore[no-any-return]
        node = self._document.nodes.get(tensor["tensor"])
        if node is not None and node.tensor is not None:
            return node.tensor.value
        given = self._document.inputs.get(tensor["tensor"])
        return given.value if given is not None else None


class Cut(list[Any]):
    """A list of which only the beginning was recorded."""


class Unknown:
    """A value that the recording does not hold."""

    def __init__(self, encoded: Mapping[str, Any]) -> None:
        self.encoded = encoded


def resolved(value: Any, tensors: Mapping[Operand, Any]) -> Any:
    """An argument with arrays in place of operands.

    Raises:
        UnavailableError: part of it was not recorded.
    """
    if isinstance(value, Operand):
        return tensors[value]
    if isinstance(value, Cut):
        raise UnavailableError("of a list among its arguments only the beginning was recorded")
    if isinstance(value, Unknown):
        raise UnavailableError("one of its arguments was not recorded")
    if isinstance(value, list):
        return [resolved(item, tensors) for item in value]
    if isinstance(value, slice):
        return slice(*(resolved(part, tensors) for part in (value.start, value.stop, value.step)))
    return value


def operands_in(value: Any) -> Iterator[Operand]:
    """The tensors in one argument, in order."""
    if isinstance(value, Operand):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from operands_in(item)
    elif isinstance(value, slice):
        for part in (value.start, value.stop, value.step):
            yield from operands_in(part)
