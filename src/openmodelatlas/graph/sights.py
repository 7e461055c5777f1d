"""What all probes saw of an operation: sixty equal layers saw the same, which is then looked at once."""

from __future__ import annotations

from collections.abc import Sequence

from openmodelatlas.capture.recording import Phase
from openmodelatlas.graph.align import Seen, Site
from openmodelatlas.graph.tree import Key, Tree
from openmodelatlas.shapes.dimension import Dimension

Shape = tuple[Dimension, ...]

Row = tuple[tuple[int, ...], ...]
"""Of one result in one probe, the shape in each instance."""

Observed = tuple[tuple[int, ...], ...]
"""For each probe, the size of one axis in each instance."""


class Runs:
    """What the probes saw of one result of an operation.

    Attributes:
        rows: its row in each probe.
        ranks: numbers of axes.
        axes: for each axis its sizes; empty where the probes do not agree on how many there are.
        repeated: whether a probe ran the operation more than once.
    """

    __slots__ = ("axes", "ranks", "repeated", "rows")

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = tuple(rows)
        self.ranks = set[int]().union(*(map(len, row) for row in rows))
        self.axes: list[Observed] = []
        self.repeated = max(map(len, rows)) > 1
        if len(self.ranks) == 1:
            (rank,) = self.ranks
            columns = [list(zip(*row, strict=True)) or [()] * rank for row in rows]
            self.axes = list(zip(*columns, strict=True))


class Sight:
    """What the probes saw of an operation where it stands.

    Attributes:
        site: the first operation of this sight.
        phase, context: the phase, and the number of the place in the model, the same in every layer.
        runs: what they saw of each result.
        complete: for each result, whether every probe that solves or confirms gave it, none of them twice.
        solved: shapes of results, once they are solved for all operations of this sight.
        signature: the dimensions of all results, once ``solved`` has them all.
    """

    __slots__ = ("complete", "context", "phase", "runs", "signature", "site", "solved")

    def __init__(self, site: Site, phase: Phase, context: int, runs: list[Runs], complete: list[bool]) -> None:
        self.site = site
        self.phase = phase
        self.context = context
        self.runs = runs
        self.complete = complete
        self.solved: dict[int, Shape] = {}
        self.signature: Shape | None = None


class Sights:
    """The sight of every operation; equal ones that no probe ran twice are one object.

    Args:
        trees: all probes.
        probes: indices of those that solve or confirm.

    Attributes:
        of: the sights.
    """

    def __init__(self, trees: Sequence[Tree], probes: Sequence[int]) -> None:
        self._keys = trees[0].keys
        self._results = [tree.result_keys for tree in trees]
        self._probes = probes
        self._known: dict[tuple[Phase, int, Seen], Sight] = {}
        self._runs: dict[tuple[tuple[Key, ...], ...], list[Runs]] = {}
        self.of: dict[Site, Sight] = {}

    def look(self, site: Site, phase: Phase, context: int) -> bool:
        """Looks at an operation; returns whether there is something new to see."""
        if site.seen is None:
            self.of[site] = self._repeated(site, phase, context)
            return True
        key = (phase, context, site.seen)
        sight = self._known.get(key)
        new = sight is None
        if sight is None:
            sight = self._known[key] = self._sight(site, site.seen, phase, context)
        self.of[site] = sight
        return new

    def _sight(self, site: Site, seen: Seen, phase: Phase, context: int) -> Sight:
        shapes = [self._keys.shapes(key) if key is not None else () for key in seen]
        rows: list[list[Row]] = [
            [(row[index],) if index < len(row) else () for row in shapes] for index in range(max(map(len, shapes)))
        ]
        complete = [all(row[probe] for probe in self._probes) for row in rows]
        return Sight(site, phase, context, [Runs(row) for row in rows], complete)

    def _repeated(self, site: Site, phase: Phase, context: int) -> Sight:
        """The sight of an operation that a probe ran more than once. What it saw, operations of one loop share."""
        pairs = zip(self._results, site.instances, strict=True)
        seen = tuple([tuple([keys[event] for event in events]) for keys, events in pairs])
        runs = self._runs.get(seen)
        if runs is None:
            shapes = [[self._keys.shapes(key) for key in keys] for keys in seen]
            count = max([len(results) for row in shapes for results in row])
            runs = self._runs[seen] = [
                Runs([tuple([results[index] for results in row if index < len(results)]) for row in shapes])
                for index in range(count)
            ]
        return Sight(site, phase, context, runs, [False] * len(runs))
