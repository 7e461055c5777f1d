"""The events of one recording as a tree, with keys that name the same place of the code in every recording.

An *event* is an integer: operation ``i`` is ``i``, call ``j`` is ``~j``; so a list of events needs no objects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from openmodelatlas.capture.recording import Operation, Recording
from openmodelatlas.graph.arguments import Readings
from openmodelatlas.graph.syntax import FileSyntax, FunctionSyntax, Loop, Position, count_before

Key = int
Shapes = tuple[tuple[int, ...], ...]
"""Of each result of an operation, the sizes in elements."""
Place = tuple[str, int, int, int, int]
"""File path, line, column, end line, end column."""


def starred(name: str) -> str:
    """A module or parameter name with every index replaced: ``model.layers.*.mlp``."""
    return ".".join(["*" if part.isdecimal() else part for part in name.split(".")])


class Keys:
    """Interns the descriptions of places, so that equal places of all recordings compare as integers."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Any, ...], Key] = {}
        self._descriptions: list[tuple[Any, ...]] = []
        self._relative: dict[Key, Key] = {}

    def number(self, *description: Any) -> Key:
        """The number of a description; the same for equal ones."""
        number = self._numbers.get(description)
        if number is None:
            number = self._numbers[description] = len(self._descriptions)
            self._descriptions.append(description)
        return number

    def relative(self, key: Key) -> Key:
        """The number of the same place without the indices of the modules it runs."""
        relative = self._relative.get(key)
        if relative is None:
            described = self._descriptions[key]
            relative = key
            if described[0] == "module":
                relative = self.number(described[0], described[1], starred(described[2]), *described[3:])
            self._relative[key] = relative
        return relative

    def shapes(self, key: Key) -> Shapes:
        """What a number of :attr:`Tree.result_keys` stands for."""
        shapes: Shapes = self._descriptions[key][1]
        return shapes

    def describe(self, key: Key) -> tuple[Any, ...]:
        """The description that a number stands for."""
        return self._descriptions[key]


@dataclass(frozen=True, slots=True)
class LoopRun:
    """A loop statement that ran: its iterations, each a list of events and inner loop runs.

    Attributes:
        key: the number of the statement.
        loop: the statement, or ``None`` for children of a container such as ``nn.Sequential``.
    """

    key: Key
    loop: Loop | None
    iterations: list[list[Item]]


Item = int | LoopRun


@dataclass
class Tree:
    """One recording with its hierarchy.

    Attributes:
        recording: the recording.
        syntax: parsed files by shown path, shared by all trees.
        keys: the shared interner.
        children: events directly inside each call, in order.
        roots: the calls of the model itself (prefill, decode).
        event_keys, relative_keys: the place of each event, and the same without the indices of modules. Both are
            indexed by the event: operations from the beginning, calls from the end.
        paths: files in which operations stand.
    """

    recording: Recording
    syntax: dict[str, FileSyntax]
    keys: Keys
    children: list[list[int]] = field(default_factory=list)
    roots: list[int] = field(default_factory=list)
    event_keys: list[Key] = field(default_factory=list)
    relative_keys: list[Key] = field(default_factory=list)
    paths: set[str] = field(default_factory=set)
    _places: list[Place] = field(default_factory=list)
    _functions: dict[int, FunctionSyntax | None] = field(default_factory=dict)
    _items: dict[int, list[Item]] = field(default_factory=dict)

    @cached_property
    def made_by(self) -> list[int]:
        """For each tensor the operation that made it; -1 for inputs, parameters, buffers and others."""
        return [tensor.index if tensor.origin == "operation" else -1 for tensor in self.recording.tensors]

    @cached_property
    def outside(self) -> list[int]:
        """Numbers of the tensors that no operation made."""
        return [number for number, operation in enumerate(self.made_by) if operation < 0]

    @cached_property
    def lines_run(self) -> list[set[int]]:
        """For each function the lines that ran."""
        lines = [set[int]() for _ in self.recording.codes]
        for call in self.recording.calls:
            if call.code >= 0:
                lines[call.code].update(call.trace)
        return lines

    @cached_property
    def result_keys(self) -> list[Key]:
        """For every event, like ``event_keys``, the number for the shapes of its results; calls have none.

        See :meth:`Keys.shapes`.
        """
        known: dict[tuple[int, ...], Key] = {}
        keys: list[Key] = []
        for tensor in self.recording.tensors:
            shape = tuple(tensor.shape)
            key = known.get(shape)
            if key is None:
                key = known[shape] = self.keys.number("shapes", (shape,))
            keys.append(key)
        results = [
            keys[operation.outputs[0]] if len(operation.outputs) == 1 else self._key_of_several(operation.outputs)
            for operation in self.recording.operations
        ]
        return results + [self.keys.number("shapes", ())] * len(self.recording.calls)

    def _key_of_several(self, tensors: Sequence[int]) -> Key:
        return self.keys.number("shapes", tuple(tuple(self.recording.tensors[number].shape) for number in tensors))

    @cached_property
    def readings(self) -> Readings:
        """What the arguments of each event are."""
        return Readings(self.recording)

    @cached_property
    def inputs(self) -> dict[str, list[int]]:
        """Numbers of the tensors that the probe handed to the model, by the name of the argument."""
        found: dict[str, list[int]] = {}
        for number in self.outside:
            tensor = self.recording.tensors[number]
            if tensor.origin == "input":
                found.setdefault(tensor.name, []).append(number)
        return found

    @cached_property
    def loop_signatures(self) -> dict[Key, tuple[object, ...]]:
        """For each loop statement: how often it went round, and what ran in each round, over all its runs."""
        signatures: dict[Key, list[object]] = {}

        def visit(items: list[Item]) -> None:
            for item in items:
                if isinstance(item, LoopRun):
                    signatures.setdefault(item.key, []).append(self._round_keys(item))
                    for part in item.iterations:
                        visit(part)

        for call, children in enumerate(self.children):
            if not children or (len(children) == 1 and self.recording.calls[call].code < 0):  # such as a linear map
                continue
            function = self.function(call)
            if function is None or function.loops:
                visit(self.items(call))
        return {key: tuple(runs) for key, runs in signatures.items()}

    def _round_keys(self, run: LoopRun) -> tuple[tuple[Key, ...], ...]:
        keys = self.event_keys
        return tuple(
            tuple([keys[item] if isinstance(item, int) else item.key for item in part]) for part in run.iterations
        )

    def __post_init__(self) -> None:
        paths = [file.path for file in self.recording.files]
        for span in self.recording.spans:
            where = (span.line, span.column, span.end_line, span.end_column)
            self._places.append((paths[span.file], *self.syntax[paths[span.file]].whole(where)))
        self._key_events()
        self._link()

    def _key_events(self) -> None:
        number = self.keys.number
        spans = [number("span", *place) for place in self._places]
        spans.append(number("span", "", 0, 0, 0, 0))  # reached by the index -1
        forms = {id(form): number("operation", spans[form.span], form.function) for form in self.recording.forms}
        operations = [forms[id(operation.form)] for operation in self.recording.operations]
        self.paths = {self._places[form.span][0] for form in self.recording.forms if form.span >= 0}
        modules, paths = self.recording.modules, [file.path for file in self.recording.files]
        calls: list[Key] = []
        for call in reversed(self.recording.calls):
            if call.kind == "module":
                name = modules[call.module].name
                calls.append(number("module", spans[call.site], name, self._code_name(call.code, paths)))
            else:
                what = self._code_name(call.code, paths) or call.name
                calls.append(number(call.kind, spans[call.site], what))
        self.event_keys = operations + calls
        self.relative_keys = operations + [self.keys.relative(key) for key in calls]

    def _code_name(self, code: int, paths: list[str]) -> tuple[str, str, int] | None:
        if code < 0:
            return None
        entry = self.recording.codes[code]
        return (paths[entry.file], entry.name, entry.first_line)

    def _link(self) -> None:
        calls, operations = self.recording.calls, self.recording.operations
        self.children = [[] for _ in calls]
        parents = [operation.call for operation in operations] + [call.parent for call in calls]
        orders = [operation.order for operation in operations] + [call.order for call in calls]
        worth = self._worth_keeping()
        for index in sorted(range(len(orders)), key=orders.__getitem__):
            event = index if index < len(operations) else len(operations) + ~index
            if event < 0 and not worth[~event]:
                continue
            parent = parents[index]
            if parent >= 0:
                self.children[parent].append(event)
            elif event < 0:
                self.roots.append(~event)

    def _worth_keeping(self) -> list[bool]:
        """Whether each call is a module's or has an operation somewhere inside; helpers without either say nothing."""
        calls = self.recording.calls
        worth = [call.kind != "function" for call in calls]
        for operation in self.recording.operations:
            worth[operation.call] = True
        for index in range(len(calls) - 1, -1, -1):  # a call begins after the one that encloses it
            if worth[index] and calls[index].parent >= 0:
                worth[calls[index].parent] = True
        return worth

    def key(self, event: int) -> Key:
        """The place of an event."""
        return self.event_keys[event]

    def relative_key(self, event: int) -> Key:
        """The place of an event without the indices of modules."""
        return self.relative_keys[event]

    def place(self, event: int) -> Place | None:
        """Where the event's expression stands; ``None`` where that is not known."""
        index = self.recording.operations[event].span if event >= 0 else self.recording.calls[~event].site
        return self._places[index] if index >= 0 else None

    def position(self, event: int) -> Position | None:
        """Like :meth:`place`, without the file."""
        place = self.place(event)
        return place[1:] if place else None

    def operation(self, event: int) -> Operation:
        """The operation of a non-negative event."""
        return self.recording.operations[event]

    def function(self, call: int) -> FunctionSyntax | None:
        """Loops and conditions of the function that a call runs; ``None`` where its text is not known."""
        code_index = self.recording.calls[call].code
        if code_index < 0:
            return None
        if code_index not in self._functions:
            code = self.recording.codes[code_index]
            syntax = self.syntax[self.recording.files[code.file].path]
            self._functions[code_index] = syntax.function(code.first_line, code.name)
        return self._functions[code_index]

    def items(self, call: int) -> list[Item]:
        """What ran directly inside a call, with its loops told apart into iterations."""
        known = self._items.get(call)
        if known is None:
            known = self._items[call] = self._find_items(call)
        return known

    def _find_items(self, call: int) -> list[Item]:
        events: list[Item] = list(self.children[call])
        function = self.function(call)
        if function is None:
            return self._comprehension_items(call) or self._container_items(call) or events
        if not function.loops:
            return events
        return self._segment(call, self.children[call], function.loops)

    def _container_items(self, call: int) -> list[Item] | None:
        """Numbered children of ``nn.Sequential`` and the like: a loop whose statement lies in torch."""
        children = self.children[call]
        modules = self.recording.modules
        indices = [self.recording.calls[~event].module if event < 0 else -1 for event in children]
        if self.recording.calls[call].code >= 0 or len(children) < 2 or min(indices) < 0:
            return None
        if not all(modules[index].name.rpartition(".")[2].isdigit() for index in indices):
            return None
        key = self.keys.number("container", self.relative_keys[~call])
        return [LoopRun(key, None, [[event] for event in children])]

    def _comprehension_items(self, call: int) -> list[Item] | None:
        """A comprehension is a frame of its own in which each round repeats the same places."""
        code_index = self.recording.calls[call].code
        if code_index < 0 or not self.recording.codes[code_index].name.endswith(("comp>", "<genexpr>")):
            return None
        rounds: list[list[Item]] = []
        seen: set[Key] = set()
        for event in self.children[call]:
            key = self.relative_key(event)  # each round may run another module of a list
            if not rounds or key in seen:
                rounds.append([])
                seen.clear()
            seen.add(key)
            rounds[-1].append(event)
        return [LoopRun(self.keys.number("comprehension", self.event_keys[~call]), None, rounds)] if rounds else None

    def _segment(self, call: int, events: list[int], loops: tuple[Loop, ...]) -> list[Item]:
        items: list[Item] = []
        if not loops:
            items += events
            return items
        run: list[int] = []
        current: Loop | None = None
        known: dict[Key, Loop | None] = {}
        for event in events:
            key = self.event_keys[event]
            loop = known[key] if key in known else known.setdefault(key, self._loop_of(event, loops))
            if loop is not current and run and current is not None:
                items.append(self._run(call, current, run, loops))
                run = []
            current = loop
            if loop is None:
                items.append(event)
            else:
                run.append(event)
        if run and current is not None:
            items.append(self._run(call, current, run, loops))
        return items

    def _loop_of(self, event: int, loops: tuple[Loop, ...]) -> Loop | None:
        position = self.position(event)
        if position is None:
            return None
        for loop in loops:  # sorted outermost first
            if loop.first <= position[0] <= loop.last:
                return loop
        return None

    def _run(self, call: int, loop: Loop, events: list[int], loops: tuple[Loop, ...]) -> LoopRun:
        trace = self.recording.calls[call].trace
        headers = [step for step, line in enumerate(trace) if line == loop.header]
        inner = tuple(other for other in loops if other is not loop and loop.first <= other.first <= loop.last)
        iterations: dict[int, list[int]] = {}
        for event in events:
            step = (self.recording.operations[event] if event >= 0 else self.recording.calls[~event]).step
            iterations.setdefault(count_before(headers, step), []).append(event)
        code = self.recording.codes[self.recording.calls[call].code]
        path = self.recording.files[code.file].path
        key = self.keys.number("loop", path, code.name, loop.header, loop.text)
        return LoopRun(key, loop, [self._segment(call, part, inner) for part in iterations.values()])
