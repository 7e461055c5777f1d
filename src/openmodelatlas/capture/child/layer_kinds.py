"""What kind of layer ran: the description by which two runs of layers are told apart or found alike.

The graph folds layers that do the same on the same things (:mod:`openmodelatlas.graph.fold`); this description is at
least as fine, so that the first layer of every fold is the first of its kind here.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_right
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from openmodelatlas.capture import encoded
from openmodelatlas.capture.child.calls import RunningCall
from openmodelatlas.capture.child.tensors import TensorTable
from openmodelatlas.capture.recording import Form, Operation, Parameter, Phase

Position = tuple[int, int]
"""A whole-number argument: number of the expression or call, and which of its arguments it is."""

_SETTINGS = (bool, float, str)
_INDEX = re.compile(r"(?<=\.)\d+(?=\.|$)|^\d+(?=\.|$)")
_LAYER_NUMBER = re.compile(r"layer|idx|index")


@functools.cache
def list_element(name: str) -> tuple[str, int] | None:
    """The outermost module list that a module lies in, and its index there; ``None`` outside lists."""
    parts = name.split(".")
    for place, part in enumerate(parts):
        if part.isdigit():
            return ".".join(parts[:place]), int(part)
    return None


@functools.cache
def _without_indices(name: str) -> str:
    return _INDEX.sub("*", name)


@dataclass(frozen=True, slots=True)
class LayerRun:
    """One run of one layer.

    Attributes:
        layers, index: the module list and the layer's place in it.
        call: the call of the layer's module.
        first_tensor, first_operation: what is made or done in the layer has these numbers or later ones.
        before: tensors with lower numbers were there before any layer of the list ran in this phase.
    """

    layers: str
    index: int
    call: RunningCall
    first_tensor: int
    first_operation: int
    before: int

    @property
    def phase(self) -> Phase:
        """Prefill or decode."""
        return self.call.phase


@dataclass(slots=True)
class LayerKinds:
    """Describes runs of layers.

    Attributes:
        tensors, operations, forms, calls: everything recorded so far.
        parameters: all parameters and buffers with their numbers.
        made: for each module list, the ranges of tensor numbers that its layers made, in order.
    """

    tensors: TensorTable
    operations: Sequence[Operation]
    forms: Sequence[Form]
    calls: Sequence[RunningCall]
    parameters: Mapping[int, Parameter]
    made: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    _interned: dict[Hashable, int] = field(default_factory=dict)
    _forms: list[_DescribedForm] = field(default_factory=list)

    def describe(self, run: LayerRun) -> tuple[Hashable, dict[Position, int]]:
        """The kind of a layer that just ended, and its whole-number arguments: they may count layers or set them apart.

        The kind says where the layer was called, which expressions and calls ran in it, with which arguments, on what:
        parameters by relative name and shape; tensors of the layer by the expression that made them; what other layers
        made by the argument it came by; arguments that were there before all layers, such as masks, by their number;
        all else by the expression that made it, since caches hold a tensor for each layer.

        How often an expression ran is no part of the kind, nor are the whole numbers of what ran several times: loops
        over experts depend on values.
        """
        arguments = {
            number: name
            for name, value in run.call.arguments.items()
            for number in encoded.tensors(value)
            if number >= 0
        }
        seen: dict[int, Sequence[Any] | None] = {}
        origins = _Origins(self, run, arguments)
        forms = self._described_forms()
        for operation in self.operations[run.first_operation :]:
            form = forms[cast(int, operation.form)]
            if form.is_plain:
                told = form.settings, tuple([origins[number] for number in operation.tensors])
            else:
                told = None, origins.of([encoded.numbered(value, operation.tensors) for value in form.values])
            self._note(seen, ("operation", form.maker, form.names, told), form.values)
            for number in operation.outputs:
                origins[number] = form.here
        for call in self.calls[run.call.index :]:
            values = list(call.arguments.values())
            key = (call.kind, call.name, call.code, call.site, tuple(call.arguments), origins.of(values))
            if run.index in values:
                values = [None if _is_own_number(*item, run.index) else item[1] for item in call.arguments.items()]
            self._note(seen, key, values)
        numbers = {
            (key, place): value
            for key, values in seen.items()
            for place, value in enumerate(values or ())
            if type(value) is int
        }
        return (run.layers, run.phase, self._way(run.call), frozenset(seen)), numbers

    def _described_forms(self) -> list[_DescribedForm]:
        """All forms so far."""
        self._forms += map(_DescribedForm, self.forms[len(self._forms) :])
        return self._forms

    def _note(self, seen: dict[int, Sequence[Any] | None], key: Hashable, values: Sequence[Any]) -> None:
        number = self._interned.setdefault(key, len(self._interned))
        seen[number] = None if number in seen else values

    def _way(self, call: RunningCall) -> tuple[int, ...]:
        """Where the layer was called, where that was called, and so on."""
        sites = [call.site]
        while call.parent >= 0:
            call = self.calls[call.parent]
            sites.append(call.site)
        return tuple(sites)

    def origin(self, number: int, run: LayerRun, arguments: Mapping[int, str]) -> Hashable:
        """What a tensor is to the layer."""
        parameter = self.parameters.get(number)
        if parameter is not None:
            inside = list_element(parameter.name)
            own = inside is not None and inside[0] == run.layers
            return _without_indices(parameter.name) if own else parameter.name, tuple(parameter.shape)
        if number >= run.first_tensor:
            return "here", self._maker(number)
        if self._made_in_layer(run.layers, number):
            return "carried", arguments.get(number)
        if number < run.before and number in arguments:
            return "before", number
        return "elsewhere", self._maker(number)

    def _maker(self, number: int) -> Hashable:
        tensor = self.tensors.description(number)
        if tensor.origin != "operation" or tensor.index >= len(self.operations):
            return tensor.origin, tensor.name
        return self._described_forms()[cast(int, self.operations[tensor.index].form)].maker

    def _made_in_layer(self, layers: str, number: int) -> bool:
        made = self.made.get(layers, [])
        place = bisect_right(made, (number, self.tensors.count)) - 1
        return place >= 0 and made[place][0] <= number < made[place][1]


class _DescribedForm:
    """What a form of operations adds to the description of a layer.

    Attributes:
        maker: where its operations stand and what they run.
        here: what their results are to the layer.
        names: of the arguments that have one.
        values: all arguments.
        is_plain: whether every argument is a tensor, or no collection and without one.
        settings: what is known of the arguments that are no tensors, if it is plain.
    """

    __slots__ = ("here", "is_plain", "maker", "names", "settings", "values")

    def __init__(self, form: Form) -> None:
        self.maker = (form.function, form.span)
        self.here = ("here", self.maker)
        self.names = tuple(form.keywords)
        self.values: list[Any] = [*form.arguments, *form.keywords.values()]
        self.is_plain = not any(map(_is_collection, self.values))
        self.settings: Hashable = None
        if self.is_plain:
            self.settings = tuple([None if _is_tensor(value) else _plain(value) for value in self.values])


def _is_tensor(value: Any) -> bool:
    return type(value) is dict and "tensor" in value


def _is_collection(value: Any) -> bool:
    if type(value) is not dict or "tensor" in value:
        return False
    return "list" in value or "dict" in value or next(encoded.tensors(value), None) is not None


class _Origins(dict[int, Hashable]):
    """What each tensor is to one layer, worked out when it is first asked for."""

    def __init__(self, kinds: LayerKinds, run: LayerRun, arguments: Mapping[int, str]) -> None:
        super().__init__()
        self._kinds = kinds
        self._run = run
        self._arguments = arguments

    def __missing__(self, number: int) -> Hashable:
        origin = self[number] = self._kinds.origin(number, self._run, self._arguments)
        return origin

    def of(self, values: Iterable[Any]) -> tuple[Hashable, ...]:
        """The description of each argument."""
        return tuple(
            [
                self[value["tensor"]] if type(value) is dict and "tensor" in value else self._of(value)
                for value in values
            ]
        )

    def _of(self, value: Any) -> Hashable:
        if type(value) is int:
            return "int"
        if type(value) is dict:
            if "tensor" in value:
                return self[value["tensor"]]
            if "list" in value:
                return "list", self._parts(value["list"]), _plain(value)
            if "slice" in value:
                return "slice", self.of(value["slice"])
        return _plain(value)

    def _parts(self, parts: Sequence[Any]) -> tuple[Hashable, ...]:
        """Elements of a collection; what a loop collected (one for each expert that was hit) counts once."""
        found: list[Hashable] = []
        for part in parts:
            described = self._of(part)
            if not (found and found[-1] == described and isinstance(described, tuple) and described[0] == "here"):
                found.append(described)
        return tuple(found)


def _plain(value: Any) -> Hashable:
    """An argument that is no tensor; of whole numbers only that they are numbers, of collections only the settings."""
    if value is None or isinstance(value, _SETTINGS):
        return type(value).__name__, value
    if not isinstance(value, dict):
        return type(value).__name__
    if "slice" in value:
        return "slice", tuple(map(_plain, value["slice"]))
    if "list" in value or "dict" in value:
        inside = value["dict"].items() if "dict" in value else enumerate(value["list"])
        return tuple((name, type(part).__name__, part) for name, part in inside if isinstance(part, _SETTINGS))
    return tuple((key, part if isinstance(part, str) else None) for key, part in value.items() if key != "module")


def _is_own_number(name: str, value: Any, index: int) -> bool:
    """Whether an argument tells a layer its own number."""
    return value == index and _LAYER_NUMBER.search(name) is not None
