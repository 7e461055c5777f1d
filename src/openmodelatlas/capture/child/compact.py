"""Keep of a recording what took part: of the true-size run, 896 experts a layer that nobody called are left out."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from openmodelatlas.capture import encoded
from openmodelatlas.capture.encoded import numbered
from openmodelatlas.capture.recording import Recording, Tensor


def is_worth_it(recording: Recording) -> bool:
    """Whether parameters are a large part of the recording; looking through it takes as long as writing it."""
    return 2 * len(recording.parameters) > len(recording.tensors)


def compact(recording: Recording) -> Recording:
    """Drop modules that never ran (and hold none that did), parameters that no operation read, and their tensors.

    Numbers that refer to what remains are rewritten; order is kept. :class:`Summary` lists all parameters.
    """
    names = _with_parents({recording.modules[call.module].name for call in recording.calls if call.module >= 0})
    kept = [number for number, module in enumerate(recording.modules) if module.name in names]
    if len(kept) < len(recording.modules):
        modules = {old: new for new, old in enumerate(kept)}
        recording = msgspec.structs.replace(
            recording,
            modules=[recording.modules[old] for old in kept],
            calls=[
                msgspec.structs.replace(call, module=modules[call.module]) if call.module >= 0 else call
                for call in recording.calls
            ],
        )
    referenced = _referenced(recording)
    kept = [
        number
        for number, tensor in enumerate(recording.tensors)
        if tensor.origin not in ("parameter", "buffer") or number in referenced
    ]
    return recording if len(kept) == len(recording.tensors) else _renumbered(recording, kept)


def _renumbered(recording: Recording, kept: list[int]) -> Recording:
    """The recording with these of its tensors only."""
    tensors = {old: new for new, old in enumerate(kept)}
    parameters = {
        old: new for new, old in enumerate(i for i, p in enumerate(recording.parameters) if p.tensor in tensors)
    }
    return msgspec.structs.replace(
        recording,
        parameters=[
            msgspec.structs.replace(recording.parameters[old], tensor=tensors[recording.parameters[old].tensor])
            for old in parameters
        ],
        tensors=[_tensor(recording.tensors[old], tensors, parameters) for old in kept],
        calls=[
            msgspec.structs.replace(
                call,
                arguments={name: numbered(value, tensors) for name, value in call.arguments.items()},
                result=numbered(call.result, tensors),
            )
            for call in recording.calls
        ],
        operations=[
            msgspec.structs.replace(
                operation,
                tensors=[tensors[number] for number in operation.tensors],
                result=numbered(operation.result, tensors),
                outputs=[tensors[number] for number in operation.outputs],
                writes=[tensors[number] for number in operation.writes] if operation.writes else operation.writes,
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


def _referenced(recording: Recording) -> set[int]:
    """Numbers of all tensors that events read, and of those that they or tensors of operations are views of."""
    found: set[int] = set()
    for operation in recording.operations:
        found.update(operation.writes)
        found.update(operation.tensors)
        found.update(encoded.tensors(operation.result))
    for call in recording.calls:
        for value in (*call.arguments.values(), call.result):
            found.update(encoded.tensors(value))
    for number, tensor in enumerate(recording.tensors):
        if tensor.base >= 0 and (number in found or tensor.origin not in ("parameter", "buffer")):
            found.add(tensor.base)
    return found
