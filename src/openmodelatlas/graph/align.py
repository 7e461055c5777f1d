"""Finds the same place of the code in the runs of all probes.

A :class:`Site` is one event of the model, seen in every probe. Runs of different sizes differ in one way only: how
often a loop goes round. A loop whose rounds are the same in every probe (the layers) keeps them apart; any other (the
experts that were hit, the steps of a recurrence) is *merged*: its rounds become one body.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from openmodelatlas.graph.syntax import Loop
from openmodelatlas.graph.tree import Item, Key, LoopRun, Tree

Instances = tuple[tuple[int, ...], ...]
"""For each probe, the events that are this site (one, unless it lies in a merged loop; none if it did not run)."""


class Site:
    """One event of the model, aligned over the probes.

    Attributes:
        key: its place.
        instances: its events.
        children: what ran inside, for calls.
        probe: index of the first probe that ran it.
        event: the event in that probe.
        is_call: whether it is a call rather than an operation.
    """

    __slots__ = ("children", "event", "instances", "is_call", "key", "probe")

    def __init__(self, key: Key, instances: Instances) -> None:
        self.key = key
        self.instances = instances
        self.children: list[Site | LoopSite] = []
        self.probe = next(index for index, events in enumerate(instances) if events)
        self.event = instances[self.probe][0]
        self.is_call = self.event < 0


@dataclass(slots=True, eq=False)
class LoopSite:
    """A loop, aligned over the probes.

    Attributes:
        key: the statement.
        loop: the statement's syntax, ``None`` for containers.
        rounds: the rounds, each a list of sites; a single one if ``merged``.
        merged: whether the rounds differ between the probes and were merged into one body.
        counts: for each probe, the number of rounds of each run of the loop that this site stands for.
    """

    key: Key
    loop: Loop | None
    rounds: list[list[Site | LoopSite]]
    merged: bool
    counts: tuple[tuple[int, ...], ...]


Element = Site | LoopSite


class Aligner:
    """Aligns the trees of all probes; the last ``len(trees) - complete`` may have stopped early."""

    def __init__(self, trees: Sequence[Tree], complete: int) -> None:
        self._trees = trees
        self._complete = complete
        self._merged = self._loops_to_merge()

    def align(self, root: int) -> Site | None:
        """The tree of sites below the ``root``-th run of the model (0: prefill, 1: decode); ``None`` if none ran."""
        calls = tuple((~tree.roots[root],) if root < len(tree.roots) else () for tree in self._trees)
        present = [(tree, events[0]) for tree, events in zip(self._trees, calls, strict=True) if events]
        if not present:
            return None
        return self._site(present[0][0].key(present[0][1]), calls)

    def _loops_to_merge(self) -> set[Key]:
        """Loops that do not go round alike in every complete run."""
        signatures = [tree.loop_signatures for tree in self._trees[: self._complete]]
        every = {key for signature in signatures for key in signature}
        return {key for key in every if len({signature.get(key) for signature in signatures}) > 1}

    def _site(self, key: Key, instances: Instances) -> Site:
        site = Site(key, instances)
        if site.event < 0:
            site.children = self._children(instances)
        return site

    def _children(self, instances: Instances) -> list[Element]:
        plain = self._plain_children(instances)
        if plain is not None:
            return plain
        bodies = [(probe, self._trees[probe].items(~call)) for probe, calls in enumerate(instances) for call in calls]
        return self._merge(bodies)

    def _plain_children(self, instances: Instances) -> list[Element] | None:
        """The common case, fast: one run per probe, the same events in each, no loops."""
        rows: list[list[int]] = []
        first: list[Key] | None = None
        for probe, calls in enumerate(instances):
            if len(calls) != 1:
                return None
            tree = self._trees[probe]
            function = tree.function(~calls[0])
            if function is not None and function.loops:
                return None
            children = tree.children[~calls[0]]
            keys = [tree.key(event) for event in children]
            if first is None:
                first = keys
                if len(set(keys)) != len(keys) or (len(keys) > 1 and function is None):
                    return None
            elif keys != first:
                return None
            rows.append(children)
        columns = zip(*rows, strict=True)
        pairs = zip(first or [], columns, strict=True) if rows and rows[0] else ()
        return [self._site(key, tuple((event,) for event in column)) for key, column in pairs]

    def _merge(self, bodies: Sequence[tuple[int, list[Item]]]) -> list[Element]:
        """Aligns several runs of one body.

        Modules compare without their indices, since runs differ in which experts they hit. A key that recurs within a
        run is told apart by its occurrence.
        """
        order: list[tuple[Key, int]] = []
        found: dict[tuple[Key, int], list[tuple[int, Item]]] = {}
        for probe, items in bodies:
            seen: dict[Key, int] = {}
            insert_at = 0
            for item in items:
                key = item.key if isinstance(item, LoopRun) else self._trees[probe].relative_key(item)
                occurrence = (key, seen.get(key, 0))
                seen[key] = occurrence[1] + 1
                if insert_at < len(order) and order[insert_at] == occurrence:  # nearly always
                    insert_at += 1
                elif occurrence in found:
                    insert_at = order.index(occurrence) + 1
                else:
                    order.insert(insert_at, occurrence)
                    found[occurrence] = []
                    insert_at += 1
                found[occurrence].append((probe, item))
        return [self._element(occurrence[0], found[occurrence]) for occurrence in order]

    def _element(self, key: Key, items: list[tuple[int, Item]]) -> Element:
        runs = [(probe, item) for probe, item in items if isinstance(item, LoopRun)]
        if runs:
            return self._loop_site(key, runs)
        events = [(probe, item) for probe, item in items if isinstance(item, int)]
        return self._site(self._trees[events[0][0]].key(events[0][1]), self._by_probe(events))

    def _by_probe(self, events: Iterable[tuple[int, int]]) -> Instances:
        rows: list[list[int]] = [[] for _ in self._trees]
        for probe, event in events:
            rows[probe].append(event)
        return tuple(tuple(row) for row in rows)

    def _loop_site(self, key: Key, runs: list[tuple[int, LoopRun]]) -> LoopSite:
        counts = self._by_probe((probe, len(run.iterations)) for probe, run in runs)
        loop = runs[0][1].loop
        merged = key in self._merged or any(len(row) > 1 for row in counts[: self._complete])
        if merged:
            bodies = [(probe, iteration) for probe, run in runs for iteration in run.iterations]
            return LoopSite(key, loop, [self._merge(bodies)], True, counts)
        longest = max(len(run.iterations) for _, run in runs)
        rounds = [
            self._merge([(probe, run.iterations[index]) for probe, run in runs if index < len(run.iterations)])
            for index in range(longest)
        ]
        return LoopSite(key, loop, rounds, False, counts)
