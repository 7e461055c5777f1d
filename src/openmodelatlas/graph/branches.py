"""Which conditions layers or rounds take differently, and which lines no layer reaches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Literal

from openmodelatlas.graph.align import Element, LoopSite, sites_in
from openmodelatlas.graph.syntax import Condition, FunctionSyntax, Loop
from openmodelatlas.graph.tree import Tree

Counted = Literal["layer", "round"]

FunctionKey = tuple[str, str, int]
"""File path, qualified name, first line."""


def function_key(tree: Tree, call: int) -> FunctionKey | None:
    """The function that a call runs; ``None`` for torch's own modules and kernels."""
    code_index = tree.recording.calls[call].code
    if code_index < 0:
        return None
    code = tree.recording.codes[code_index]
    return (tree.recording.files[code.file].path, code.name, code.first_line)


@dataclass
class Decision:
    """A condition with the layers, or the rounds of a loop whose rounds are no layers, that took each way.

    Attributes:
        condition: the statement.
        taken: their numbers by outcome, ``true``, ``false`` or ``both``.
        by: what the numbers count.
    """

    condition: Condition
    taken: dict[str, tuple[int, ...]]
    by: Counted = "layer"

    def outcome(self, number: int) -> str | None:
        """Which way a layer or round took; ``None`` if it did not come by."""
        return next((outcome for outcome, numbers in self.taken.items() if number in numbers), None)


def outcome_of(condition: Condition, lines: Set[int]) -> str | None:
    """What a set of executed lines says about a condition: ``true``, ``false``, ``both``, or ``None`` (not reached)."""
    body = any(condition.body[0] <= line <= condition.body[1] for line in lines)
    if condition.orelse is not None:
        other = any(condition.orelse[0] <= line <= condition.orelse[1] for line in lines)
        if body and other:
            return "both"
        return "true" if body else "false" if other else None
    if body:
        return "true"
    return "false" if any(condition.first <= line < condition.body[0] for line in lines) else None


def decisions(
    trees: Sequence[Tree], rounds: Iterable[tuple[int, list[Element]]], by: Counted = "layer"
) -> dict[FunctionKey, list[Decision]]:
    """Conditions that the numbered rounds of one loop do not all take alike, by the function they stand in.

    A condition in the body of a merged loop (``if num_tokens == 0`` in a loop over experts) goes as the values
    go, so it says nothing of the layers.
    """
    lines: dict[FunctionKey, dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    syntax: dict[FunctionKey, FunctionSyntax | None] = {}
    merged: dict[FunctionKey, set[Loop]] = defaultdict(set)
    for number, part in rounds:
        for site in sites_in(part):
            if not site.is_call:
                continue
            tree = trees[site.probe]
            function = tree.function(~site.event)
            key = function_key(tree, ~site.event) if function is not None and function.conditions else None
            if key is None:
                continue
            syntax[key] = function
            merged[key].update(_merged_loops(site.children))
            for event in site.instances[site.probe]:
                lines[key][number].update(tree.recording.calls[~event].trace)
    found: dict[FunctionKey, list[Decision]] = {}
    for key, by_layer in lines.items():
        function = syntax[key]
        if function is None or len(by_layer) < 2:
            continue
        layers: dict[frozenset[int], list[int]] = defaultdict(list)  # most layers run the same lines
        for number, run in by_layer.items():
            layers[frozenset(run)].append(number)
        for condition in function.conditions:
            if any(loop.first <= condition.first <= loop.last for loop in merged[key]):
                continue
            taken = _taken(condition, layers)
            if len(taken) > 1:
                found.setdefault(key, []).append(Decision(condition, taken, by))
    return found


def _merged_loops(elements: Sequence[Element]) -> Iterator[Loop]:
    """Merged loops among ``elements``, rounds of other loops looked through."""
    for element in elements:
        if isinstance(element, LoopSite):
            if element.merged and element.loop is not None:
                yield element.loop
            else:
                for part in element.rounds:
                    yield from _merged_loops(part)


def _taken(condition: Condition, layers: Mapping[frozenset[int], Sequence[int]]) -> dict[str, tuple[int, ...]]:
    taken: dict[str, list[int]] = {}
    for lines, numbers in layers.items():
        outcome = outcome_of(condition, lines)
        if outcome is not None:
            taken.setdefault(outcome, []).extend(numbers)
    return {outcome: tuple(sorted(numbers)) for outcome, numbers in sorted(taken.items(), reverse=True)}


@dataclass
class Coverage:
    """Lines that ran anywhere in any probe, by function."""

    lines: dict[FunctionKey, set[int]] = field(default_factory=lambda: defaultdict(set))

    def note(self, tree: Tree) -> None:
        """Adds the lines of one recording."""
        for code, reached in zip(tree.recording.codes, tree.lines_run, strict=True):
            self.lines[tree.recording.files[code.file].path, code.name, code.first_line] |= reached

    def unreached(self, key: FunctionKey, function: FunctionSyntax) -> list[tuple[int, int, Condition | None]]:
        """Ranges of statements that never ran: first and last line, and the condition that kept them out.

        The condition is the innermost one that was evaluated; ``None`` where none encloses the lines.
        """
        reached = self.lines[key]
        ranges: list[tuple[int, int, Condition | None]] = []
        for first, last in function.statements:
            if any(line in reached for line in range(first, last + 1)):
                continue
            guard = _guard(function, first, reached)
            if ranges and ranges[-1][2] is guard and _adjacent(function, ranges[-1][1], first):
                ranges[-1] = (ranges[-1][0], last, guard)
            else:
                ranges.append((first, last, guard))
        return ranges


def _guard(function: FunctionSyntax, line: int, reached: set[int]) -> Condition | None:
    enclosing = [
        condition
        for condition in function.conditions
        if condition.first < line <= condition.last
        and any(line_ in reached for line_ in range(condition.first, condition.body[0]))
    ]
    return enclosing[-1] if enclosing else None


def _adjacent(function: FunctionSyntax, end: int, start: int) -> bool:
    return not any(end < first < start for first, _ in function.statements)
