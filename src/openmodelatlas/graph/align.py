"""Finds the same place of the code in the runs of all probes.

A :class:`Site` is one event of the model, seen in every probe. Runs of different sizes differ in one way only: how
often a loop goes round. A loop whose rounds are the same in every probe (the layers) keeps them apart; any other (the
experts that were hit, the steps of a recurrence) is *merged*: its rounds become one body.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from openmodelatlas.graph.syntax import Loop
from openmodelatlas.graph.tree import Item, Key, LoopRun, Tree

Instances = tuple[tuple[int, ...], ...]
"""For each probe, the events that are this site (one, unless it lies in a merged loop; none if it did not run)."""

Seen = tuple[Key | None, ...]
Path = tuple[int, ...]


class Site:
    """One event of the model, aligned over the probes.

    Attributes:
        key: its place.
        instances: its events.
        probe: index of the first probe that ran it.
        event: the event in that probe.
        is_call: whether it is a call rather than an operation.
        children: what ran inside, for calls.
        seen: for each probe the key of the shapes of its results, ``None`` where it did not run; ``None`` for a site
            that a probe ran more than once.
        frame: the call that encloses it, ``None`` for the model's own call.
        path: indices from the frame's children down to it (child; for loops also round and position in the round).
        rounds: prefix of ``path`` that ends with the innermost round of a loop that keeps its rounds apart, or ``()``.
    """

    __slots__ = ("children", "event", "frame", "instances", "is_call", "key", "path", "probe", "rounds", "seen")

    frame: Site | None
    path: Path
    rounds: Path

    def __init__(self, key: Key, instances: Instances, probe: int, seen: Seen | None) -> None:
        self.key = key
        self.instances = instances
        self.probe = probe
        self.event = instances[probe][0]
        self.is_call = self.event < 0
        self.children: Sequence[Site | LoopSite] = ()
        self.seen = seen


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


def sites_in(elements: Sequence[Element]) -> list[Site]:
    """All sites in and below ``elements``, in order of execution."""
    found: list[Site] = []
    _find_sites(elements, found)
    return found


def _find_sites(elements: Sequence[Element], found: list[Site]) -> None:
    for element in elements:
        if isinstance(element, LoopSite):
            for part in element.rounds:
                _find_sites(part, found)
        else:
            found.append(element)
            if element.children:
                _find_sites(element.children, found)


_Column = list[list[Item]]
"""For each probe, what its runs did at one place."""


class Aligner:
    """Aligns the trees of all probes; the last ``len(trees) - complete`` may have stopped early."""

    def __init__(self, trees: Sequence[Tree], complete: int) -> None:
        self._trees = trees
        self._complete = complete
        self._inside = [tree.children for tree in trees]
        self._keys = [tree.event_keys for tree in trees]
        self._results = [tree.result_keys for tree in trees]
        self._merged = self._loops_to_merge()

    def align(self, root: int) -> Site | None:
        """The tree of sites below the ``root``-th run of the model (0: prefill, 1: decode); ``None`` if none ran."""
        calls = tuple((~tree.roots[root],) if root < len(tree.roots) else () for tree in self._trees)
        if not any(calls):
            return None
        site = self._site(calls)
        site.frame, site.path, site.rounds = None, (), ()
        _place(site, site.children, (), ())
        return site

    def _loops_to_merge(self) -> set[Key]:
        """Loops that do not go round alike in every complete run."""
        signatures = [tree.loop_signatures for tree in self._trees[: self._complete]]
        every = {key for signature in signatures for key in signature}
        return {key for key in every if len({signature.get(key) for signature in signatures}) > 1}

    def _site(self, instances: Instances) -> Site:
        probe = next(index for index, events in enumerate(instances) if events)
        seen = None
        if max(map(len, instances)) == 1:
            pairs = zip(self._trees, instances, strict=True)
            seen = tuple([tree.result_keys[events[0]] if events else None for tree, events in pairs])
        site = Site(self._trees[probe].event_keys[instances[probe][0]], instances, probe, seen)
        if site.is_call:
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
        if any(len(calls) != 1 for calls in instances):
            return None
        rows = [children[~call] for children, (call,) in zip(self._inside, instances, strict=True)]
        first, *others = [[keys[event] for event in row] for keys, row in zip(self._keys, rows, strict=True)]
        if any(keys != first for keys in others):
            return None
        if not first:
            return []
        function = self._trees[0].function(~instances[0][0])  # the same in the other probes, where the call is the same
        if len(set(first)) != len(first) or (function.loops if function is not None else len(first) > 1):
            return None
        columns = zip(*[[(event,) for event in row] for row in rows], strict=True)
        seen = zip(
            *[[keys[event] for event in row] for keys, row in zip(self._results, rows, strict=True)], strict=True
        )
        sites: list[Element] = []
        for key, column, shapes in zip(first, columns, seen, strict=True):
            site = Site(key, column, 0, shapes)
            if site.is_call:
                site.children = self._children(column)
            sites.append(site)
        return sites

    def _merge(self, bodies: Sequence[tuple[int, list[Item]]]) -> list[Element]:
        """Aligns several runs of one body.

        Modules compare without their indices, since runs differ in which experts they hit. A key that recurs within a
        run is told apart by its occurrence.
        """
        order: list[tuple[Key, int]] = []
        columns: dict[tuple[Key, int], _Column] = {}
        known: dict[tuple[Key, ...], list[_Column]] = {}
        for probe, items in bodies:
            relative = self._trees[probe].relative_keys
            keys = tuple([relative[item] if isinstance(item, int) else item.key for item in items])
            places = known.get(keys)
            if places is None:  # the first run of these keys
                places = known[keys] = self._places(keys, order, columns)
            for column, item in zip(places, items, strict=True):
                column[probe].append(item)
        return [self._element(columns[occurrence]) for occurrence in order]

    def _places(
        self, keys: Sequence[Key], order: list[tuple[Key, int]], columns: dict[tuple[Key, int], _Column]
    ) -> list[_Column]:
        """The columns of a run with these ``keys``; new ones are put into ``order`` where the run has them."""
        places: list[_Column] = []
        seen: dict[Key, int] = {}
        insert_at = 0
        for key in keys:
            occurrence = (key, seen.get(key, 0))
            seen[key] = occurrence[1] + 1
            if occurrence in columns:
                insert_at = order.index(occurrence) + 1
            else:
                order.insert(insert_at, occurrence)
                columns[occurrence] = [[] for _ in self._trees]
                insert_at += 1
            places.append(columns[occurrence])
        return places

    def _element(self, column: _Column) -> Element:
        first = next(items[0] for items in column if items)
        if isinstance(first, LoopRun):
            return self._loop_site(first, cast(list[list[LoopRun]], column))
        return self._site(tuple([tuple(events) for events in cast(list[list[int]], column)]))

    def _loop_site(self, first: LoopRun, runs: list[list[LoopRun]]) -> LoopSite:
        counts = tuple(tuple([len(run.iterations) for run in row]) for row in runs)
        merged = first.key in self._merged or any(len(row) > 1 for row in counts[: self._complete])
        if merged:
            bodies = [(probe, part) for probe, row in enumerate(runs) for run in row for part in run.iterations]
            return LoopSite(first.key, first.loop, [self._merge(bodies)], True, counts)
        rounds: list[list[Element]] = []
        for number in range(max(max(row, default=0) for row in counts)):
            parts = [(probe, run.iterations[number : number + 1]) for probe, row in enumerate(runs) for run in row]
            rounds.append(self._merge([(probe, part[0]) for probe, part in parts if part]))
        return LoopSite(first.key, first.loop, rounds, False, counts)


def _place(frame: Site, elements: Sequence[Element], path: Path, rounds: Path) -> None:
    """Notes at each of the ``elements`` and at everything below them where it stands."""
    for index, element in enumerate(elements):
        here = (*path, index)
        if isinstance(element, LoopSite):
            for number, part in enumerate(element.rounds):
                inner = (*here, number)
                _place(frame, part, inner, rounds if element.merged else inner)
            continue
        element.frame, element.path, element.rounds = frame, here, rounds
        if element.children:
            _place(element, element.children, (), ())
