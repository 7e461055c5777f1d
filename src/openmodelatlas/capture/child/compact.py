"""Keep of a recording what took part: of the true-size run, 896 experts a layer that nobody called are left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from openmodelatlas.capture.recording import Recording, Tensor


def compact(recording: Recording) -> Recording:
    """Drop modules that never ran (and hold none that did), parameters that no operation read, and their tensors.

    Numbers that refer to what remains are rewritten; order is kept. :class:`Summary` lists all parameters.
    """
    names = _with_parents({recording.modules[call.module].name for call in recording.calls if call.module >= 0})
    modules = {old: new for new, old in enumerate(i for i, m in enumerate(recording.modules) if m.name in names)}
    referenced = _tensors(recording)
    parameters = {
        old: new for new, old in enumerate(i for i, p in enumerate(recording.parameters) if p.tensor in referenced)
    }
    kept = [
        number
        for number, tensor in enumerate(recording.tensors)
        if tensor.origin not in ("parameter", "buffer") or number in referenced
    ]
    tensors = {old: new for new, old in enumerate(kept)}
    encoded = _Renumbering(tensors)
    return msgspec.structs.replace(
        recording,
        modules=[recording.modules[old] for old in modules],
        parameters=[
            msgspec.structs.replace(recording.parameters[old], tensor=tensors[recording.parameters[old].tensor])
            for old in parameters
        ],
        tensors=[_tensor(recording.tensors[old], tensors, parameters) for old in kept],
        calls=[
            msgspec.structs.replace(
                call,
                module=modules.get(call.module, -1),
                arguments=encoded.value(call.arguments),
                result=encoded.value(call.result),
            )
            for call in recording.calls
        ],
        operations=[
            msgspec.structs.replace(
                operation,
                arguments=encoded.value(operation.arguments),
                keywords=encoded.value(operation.keywords),
                result=encoded.value(operation.result),
                outputs=[tensors[number] for number in operation.outputs],
                writes=[tensors[number] for number in operation.writes],
            )
            for operation in recording.operations
        ],
    )


def _with_parents(names: set[str]) -> set[str]:
    result = {""}
    for name in names:
        parts = name.split(".")
        result.update(".".join(parts[:depth]) for depth in range(1, len(parts) + 1))
    return result


def _tensor(tensor: Tensor, tensors: Mapping[int, int], parameters: Mapping[int, int]) -> Tensor:
    index = parameters[tensor.index] if tensor.origin in ("parameter", "buffer") else tensor.index
    return msgspec.structs.replace(tensor, index=index, base=tensors.get(tensor.base, -1))


def _tensors(recording: Recording) -> set[int]:
    """Numbers of all tensors that events or other tensors refer to."""
    found: set[int] = set()
    for operation in recording.operations:
        found.update(operation.outputs)
        found.update(operation.writes)
        for value in (operation.arguments, operation.keywords, operation.result):
            found.update(_numbers(value))
    for call in recording.calls:
        found.update(_numbers(call.arguments))
        found.update(_numbers(call.result))
    for number, tensor in enumerate(recording.tensors):
        if tensor.base >= 0 and (number in found or tensor.origin not in ("parameter", "buffer")):
            found.add(tensor.base)
    return found


def _numbers(value: Any) -> Iterator[int]:
    if isinstance(value, dict):
        number = value.get("tensor")
        if isinstance(number, int) and len(value) == 1:
            yield number
        else:
            for item in value.values():
                yield from _numbers(item)
    elif isinstance(value, list):
        for item in value:
            yield from _numbers(item)


class _Renumbering:
    def __init__(self, tensors: Mapping[int, int]) -> None:
        self.tensors = tensors

    def value(self, value: Any) -> Any:
        if isinstance(value, dict):
            number = value.get("tensor")
            if isinstance(number, int) and not isinstance(number, bool) and len(value) == 1:
                return {"tensor": self.tensors[number]}
            return {key: self.value(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.value(item) for item in value]
        return value
