"""Assignments that run no operation: ``prefix_sum = hidden_states`` hands a tensor on under another name.

A recording sees operations only, so an arm of a condition that merely renames a tensor leaves no trace in the data
flow. Names and lines say what it did.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from openmodelatlas.graph.align import Site
from openmodelatlas.graph.branches import function_key, outcome_of
from openmodelatlas.graph.document import Port
from openmodelatlas.graph.flow import Flow
from openmodelatlas.graph.fold import direct_sites
from openmodelatlas.graph.hierarchy import Draft
from openmodelatlas.graph.syntax import Condition, FileSyntax, result_names
from openmodelatlas.graph.tree import Tree
from openmodelatlas.graph.wiring import argument_tensors, result_tensors

Binding = tuple[int, str, int]
"""Line, variable, tensor number."""


class Aliases:
    """Finds what the taken arm of a condition renames."""

    def __init__(self, trees: Sequence[Tree], syntax: Mapping[str, FileSyntax], flow: Flow) -> None:
        self._trees = trees
        self._syntax = syntax
        self._flow = flow

    def ports(
        self, draft: Draft, inputs: tuple[Port, ...], outputs: tuple[Port, ...]
    ) -> tuple[tuple[Port, ...], tuple[Port, ...]]:
        """The ports of a branch, with the renamed tensors added to those that cross its border."""
        assert draft.decision is not None
        assert draft.frame is not None
        frame, condition = draft.frame, draft.decision.condition
        tree = self._trees[frame.probe]
        key = function_key(tree, ~frame.event)
        if key is None:
            return inputs, outputs
        bindings = self._bindings(frame, key[0])
        read = {port.tensor for port in inputs}
        written = {port.tensor for port in outputs}
        for target, source in self._renamed(frame, condition, key[0]):
            number = _bound(bindings, source, condition.first)
            if number is None:
                continue
            port = self._flow.resolve(frame.probe, number)
            if port.tensor not in read:
                inputs = (*inputs, Port(name=source, tensor=port.tensor, source=port.source, via=port.via))
            if port.tensor not in written:
                outputs = (*outputs, Port(name=target, tensor=port.tensor, source=port.source, via=port.via))
        return inputs, outputs

    def _renamed(self, frame: Site, condition: Condition, path: str) -> list[tuple[str, str]]:
        """Pairs of target and source in the arm that the representative took."""
        tree = self._trees[frame.probe]
        outcome = outcome_of(condition, set(tree.recording.calls[~frame.event].trace))
        arm = condition.body if outcome == "true" else condition.orelse
        if arm is None:
            return []
        return [(target, source) for line, target, source in self._plain_assignments(path, *arm) if line]

    def _plain_assignments(self, path: str, first: int, last: int) -> list[tuple[int, str, str]]:
        found: list[tuple[int, str, str]] = []
        for node in self._syntax[path].assignments:
            if not first <= node.lineno <= last or not isinstance(node.value, ast.Name):
                continue
            found += [(node.lineno, t.id, node.value.id) for t in node.targets if isinstance(t, ast.Name)]
        return found

    def _bindings(self, frame: Site, path: str) -> list[Binding]:
        """Which tensor each variable of a function was bound to, in the order of lines."""
        tree = self._trees[frame.probe]
        bindings: list[Binding] = [(0, name, number) for name, number in argument_tensors(frame.event, tree)]
        for site in direct_sites(frame.children):
            place = tree.place(site.event) if site.probe == frame.probe else None
            if place is None or place[0] != path:
                continue
            names = result_names(self._syntax[path], place[1:])
            for index, (where, number) in enumerate(result_tensors(site, tree)):
                position = int(where[0]) if where and where[0].isdigit() else index
                name = names[0] if len(names) == 1 else names[position] if position < len(names) else None
                if name is not None:
                    bindings.append((place[1], name, number))
        trace = set(tree.recording.calls[~frame.event].trace)
        function = tree.function(~frame.event)
        if function is not None:
            for line, target, source in self._plain_assignments(path, function.first, function.last):
                renamed = _bound(sorted(bindings), source, line)
                if line in trace and renamed is not None:
                    bindings.append((line, target, renamed))
        return sorted(bindings)


def _bound(bindings: Sequence[Binding], name: str, line: int) -> int | None:
    """The tensor that ``name`` is bound to before ``line``; ``bindings`` are sorted by line."""
    return next((number for at, bound, number in reversed(bindings) if bound == name and at < line), None)
