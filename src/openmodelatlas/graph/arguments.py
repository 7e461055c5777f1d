"""What the arguments of an event are: the tensors that it reads, and what else it is given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from openmodelatlas.capture.recording import Call, Form, Operation, Recording, Value

Scalar = Any
_TENSOR = ("tensor",)


class Reading(NamedTuple):
    """The arguments of one event.

    Attributes:
        tensors: numbers of the tensors among them, in the order of its code; of a call's arguments only tensors and
            flat collections of tensors count: what a cache carries along is no argument.
        scalars: what tells arguments apart that are no tensors, for each argument; see :func:`scalar`.
        names: for each tensor the name of the argument that it is or is in; empty for operations.
    """

    tensors: Sequence[int]
    scalars: tuple[Scalar, ...]
    names: Sequence[str] = ()


class Readings(dict[int, Reading]):
    """The readings of one recording by event, found as they are asked for."""

    def __init__(self, recording: Recording) -> None:
        super().__init__()
        self._recording = recording
        self._forms: dict[int, _FormReading] = {}

    def __missing__(self, event: int) -> Reading:
        if event >= 0:
            reading = self._read_operation(self._recording.operations[event])
        else:
            reading = _read_call(self._recording.calls[~event])
        self[event] = reading
        return reading

    def _read_operation(self, operation: Operation) -> Reading:
        form = self._forms.get(id(operation.form))  # which the recording holds
        if form is None:
            form = self._forms[id(operation.form)] = _read_form(operation.form)
        tensors = operation.tensors
        if len(form.places) < len(tensors):
            tensors = [tensors[place] for place in form.places]
        return Reading(tensors, form.scalars)


class _FormReading(NamedTuple):
    """What the readings of all operations of a form have in common: the places of the tensors that count, in order."""

    places: list[int]
    scalars: tuple[Scalar, ...]


def _read_form(form: Form) -> _FormReading:
    values = [*form.arguments, *form.keywords.values()]
    places = [place for value in values for _, place in tensors_in(value, 2)]
    return _FormReading(places, tuple([int if type(value) is int else scalar(value) for value in values]))


def _read_call(call: Call) -> Reading:
    tensors: list[int] = []
    names: list[str] = []
    scalars: list[Scalar] = []
    for name, value in call.arguments.items():
        if type(value) is dict:
            elements = (value,) if "tensor" in value else value.get("list") or value.get("dict", {}).values()
            found = [element["tensor"] for element in elements if type(element) is dict and "tensor" in element]
            tensors += found
            names += [name] * len(found)
        scalars.append(scalar(value))
    return Reading(tensors, tuple(scalars), names)


def tensors_in(value: Any, depth: int, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], int]]:
    """Tensor numbers in an encoded value (see ``capture.recording``), each with its path, at most ``depth`` deep."""
    if not isinstance(value, dict):
        return
    if "tensor" in value:
        yield path, value["tensor"]
    elif len(path) < depth and "list" in value:
        for index, element in enumerate(value["list"]):
            yield from tensors_in(element, depth, (*path, str(index)))
    elif len(path) < depth and "dict" in value:
        for name, element in value["dict"].items():
            yield from tensors_in(element, depth, (*path, name))


def scalar(value: Value) -> Scalar:
    """What tells arguments apart that are no tensors.

    Of whole numbers only that they are numbers, since those may count layers; of collections, which may grow with
    depth, only the settings among their elements.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        return int
    if value is None or isinstance(value, bool | float | str):
        return type(value), value  # 1.0 == True, but they are not the same argument
    if not isinstance(value, dict):
        return type(value)
    if "tensor" in value:
        return _TENSOR
    if "slice" in value:
        return "slice", tuple(map(scalar, value["slice"]))
    if "list" in value or "dict" in value:
        inside = value["dict"].items() if "dict" in value else enumerate(value["list"])
        return tuple((name, type(part), part) for name, part in inside if isinstance(part, bool | float | str))
    return value.get("dtype") or value.get("float") or tuple(sorted(value))
