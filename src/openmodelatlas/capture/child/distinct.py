"""Keeps values of distinct layers only: the 60th equal layer would add megabytes and nothing to check.

A layer is an element of a module list that lies in no other list; :mod:`.layer_kinds` says when two are alike. Of a
layer that is like an earlier one the values are forgotten when it ends, but for what it hands on, and for what an
operation reads whose own values are kept: without that it could not be computed again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

from openmodelatlas.capture import encoded
from openmodelatlas.capture.child.calls import RunningCall
from openmodelatlas.capture.child.layer_kinds import LayerKinds, LayerRun, Position, list_element
from openmodelatlas.capture.child.tensors import TensorTable
from openmodelatlas.capture.recording import Form, Operation, Parameter

MOST_SETTINGS = 8
"""Layers of one kind that are kept because their whole-number arguments differ (some depend on values)."""

_COUNTS_FROM = 4
"""Layers in a row whose numbers only grow, or only fall, before these are taken to count something."""


@dataclass(slots=True)
class _Trend:
    last: int
    direction: int = 0
    length: int = 1

    def counts(self, value: int) -> bool:
        """Whether the number has grown (or fallen) with every layer, for long enough."""
        direction = (value > self.last) - (value < self.last)
        steady = direction != 0 and (self.length == 1 or direction == self.direction)
        self.direction = direction if steady else 0
        self.length += 1
        self.last = value
        return steady and self.length >= _COUNTS_FROM


@dataclass(slots=True)
class _Family:
    """Layers of one kind, told apart by their whole-number arguments."""

    seen: list[dict[Position, int]] = field(default_factory=list)
    trends: dict[Position, _Trend] = field(default_factory=dict)

    def is_new(self, numbers: dict[Position, int]) -> bool:
        """Whether no earlier layer has these numbers, but for those that count layers."""
        settings: dict[Position, int] = {}
        for position, value in numbers.items():
            trend = self.trends.get(position)
            if trend is None:
                self.trends[position] = _Trend(value)
            elif trend.counts(value):
                continue
            settings[position] = value
        for earlier in self.seen:
            if all(earlier.get(position, value) == value for position, value in settings.items()):
                return False
        if len(self.seen) >= MOST_SETTINGS:
            return False
        self.seen.append(numbers)
        return True


class DistinctLayers:
    """Watches layers begin and end, and forgets the values of those that are like an earlier one.

    Args:
        tensors, operations, forms, calls: everything recorded so far.
        module_names: names of the model's modules by index.
        parameters: its parameters and buffers with their numbers.
    """

    def __init__(
        self,
        tensors: TensorTable,
        operations: Sequence[Operation],
        forms: Sequence[Form],
        calls: Sequence[RunningCall],
        module_names: Sequence[str],
        parameters: Sequence[Parameter],
    ) -> None:
        self._tensors = tensors
        self._operations = operations
        self._parameters = parameters
        self._kinds = LayerKinds(tensors, operations, forms, calls, {item.tensor: item for item in parameters})
        self._layers: dict[int, tuple[str, int]] = {}
        for index, name in enumerate(module_names):
            element = list_element(name)
            if element is not None and name == ".".join(filter(None, (element[0], str(element[1])))):
                self._layers[index] = element
        self._running: dict[int, LayerRun] = {}
        self._before: dict[tuple[str, str], int] = {}
        self._families: dict[Hashable, _Family] = {}
        self._ran: set[tuple[str, int]] = set()
        self._kept: set[tuple[str, int]] = set()
        self._dropped: list[tuple[int, int]] = []

    def begin(self, call: RunningCall) -> None:
        """A module's call begins."""
        element = self._layers.get(call.module)
        if element is not None:
            count = self._tensors.count
            before = self._before.setdefault((element[0], call.phase), count)
            self._running[call.index] = LayerRun(*element, call, count, len(self._operations), before)

    def end(self, call: RunningCall) -> None:
        """A module's call ended, with a result or an error."""
        run = self._running.pop(call.index, None)
        if run is None:
            return
        kind, numbers = self._kinds.describe(run)
        self._kinds.made.setdefault(run.layers, []).append((run.first_tensor, self._tensors.count))
        self._ran.add((run.layers, run.index))
        if self._families.setdefault(kind, _Family()).is_new(numbers):
            self._kept.add((run.layers, run.index))
            return
        handed_on = set(encoded.tensors(call.result))
        self._tensors.drop([n for n in range(run.first_tensor, self._tensors.count) if n not in handed_on])
        self._dropped.append((run.first_operation, len(self._operations)))

    def finish(self) -> None:
        """Forgets parameters of layers that were never kept, and keeps again what operations outside of those read."""
        for parameter in self._parameters:
            element = list_element(parameter.name)
            if element in self._ran and element not in self._kept and not parameter.aliases:
                self._tensors.drop([parameter.tensor])
        if not self._dropped:
            return
        read: set[int] = set()
        for index, operation in enumerate(self._operations):
            place = bisect_right(self._dropped, (index, len(self._operations))) - 1
            if place < 0 or index >= self._dropped[place][1]:
                read.update(operation.writes)
                read.update(operation.tensors)
        self._tensors.keep_again(read)
