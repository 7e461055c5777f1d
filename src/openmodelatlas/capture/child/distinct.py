"""Keeps values of distinct layers only: the 60th equal layer would add megabytes and nothing to check.

A layer is an element of a module list that lies in no other list. Two are alike if the same expressions ran in them,
with the same arguments that are no tensors, on the same tensors from before the list (a layer that reads another mask
is another layer). What they read of each other, such as hidden states or caches, says nothing of their kind.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

from openmodelatlas.capture.child.calls import RunningCall
from openmodelatlas.capture.child.tensors import TensorTable
from openmodelatlas.capture.recording import Operation, Parameter

ALIKE = "another layer of the same kind has it"


def list_element(name: str) -> tuple[str, int] | None:
    """The outermost module list that a module lies in, and its index there; ``None`` outside lists."""
    parts = name.split(".")
    for place, part in enumerate(parts):
        if part.isdigit():
            return ".".join(parts[:place]), int(part)
    return None


class DistinctLayers:
    """Watches layers begin and end, and forgets the values of those that are like an earlier one."""

    def __init__(self, tensors: TensorTable, operations: Sequence[Operation], module_names: Sequence[str]) -> None:
        self._tensors = tensors
        self._operations = operations
        self._layers: dict[int, tuple[str, int]] = {}
        for index, name in enumerate(module_names):
            element = list_element(name)
            if element is not None and name == f"{element[0]}.{element[1]}":
                self._layers[index] = element
        self._begun: dict[int, tuple[int, int]] = {}
        self._first: dict[tuple[str, str], int] = {}
        self._made: dict[str, list[tuple[int, int]]] = {}
        self._seen: set[Hashable] = set()
        self._alike: set[tuple[str, int]] = set()

    def begin(self, call: RunningCall) -> None:
        """A module's call begins."""
        element = self._layers.get(call.module)
        if element is not None:
            count = self._tensors.count
            self._begun[call.index] = (count, len(self._operations))
            self._first.setdefault((element[0], call.phase), count)

    def end(self, call: RunningCall) -> None:
        """A call ended."""
        begun = self._begun.pop(call.index, None)
        if begun is None:
            return
        element = self._layers[call.module]
        first_tensor, first_operation = begun
        kind = (element[0], call.phase, self._kind(element[0], call.phase, self._operations[first_operation:]))
        self._made.setdefault(element[0], []).append((first_tensor, self._tensors.count))
        if kind not in self._seen:
            self._seen.add(kind)
            return
        if call.phase == "prefill":
            self._alike.add(element)
        for number in range(first_tensor, self._tensors.count):
            self._tensors.values.pop(number, None)

    def _kind(self, layers: str, phase: str, operations: Sequence[Operation]) -> Hashable:
        first = self._first[layers, phase]
        expressions: set[Hashable] = set()
        outside: set[int] = set()
        for operation in operations:
            values = (*operation.arguments, *operation.keywords.values())
            expressions.add((operation.function, operation.span, tuple(map(_plain, values))))
            outside.update(number for number in _numbers(values) if number < first)
        read = frozenset(number for number in outside if not self._made_in_layer(layers, number))
        return frozenset(expressions), read

    def _made_in_layer(self, layers: str, number: int) -> bool:
        if self._tensors.is_held_by_model(number):
            return True
        made = self._made.get(layers, [])
        place = bisect_right(made, (number, self._tensors.count)) - 1
        return place >= 0 and made[place][0] <= number < made[place][1]

    def forget_parameters(self, parameters: Sequence[Parameter]) -> None:
        """Forgets the values of parameters of layers that were never the first of their kind."""
        for parameter in parameters:
            element = list_element(parameter.name)
            if element in self._alike and not parameter.aliases:
                self._tensors.values.pop(parameter.tensor, None)


def _plain(value: Any) -> Hashable:
    """An argument that is no tensor; of whole numbers only that they are numbers, since they may count layers."""
    if value is None or isinstance(value, bool | str | float):
        return value
    return type(value).__name__


def _numbers(values: Sequence[Any]) -> Iterator[int]:
    for value in values:
        if isinstance(value, dict):
            if "tensor" in value:
                yield value["tensor"]
            elif "list" in value:
                yield from _numbers(value["list"])
