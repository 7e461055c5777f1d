"""What all probes saw of an operation: sixty equal layers saw the same, which is then looked at once."""

from __future__ import annotations

from collections.abc import Sequence

from openmodelatlas.graph.align import Site
from openmodelatlas.graph.tree import Tree

Row = tuple[tuple[int, ...], ...]
"""Of one result in one probe, the shape in each instance."""

Seen = tuple[tuple[tuple[int, ...], ...] | None, ...]
"""For each probe the shapes of all results, ``None`` if it did not run the operation."""


class Sight:
    """What the probes saw of an operation that none of them ran twice.

    Attributes:
        rows: for each result, its row in each probe.
        complete: for each result, whether every probe that solves or confirms gave it.
    """

    __slots__ = ("complete", "rows")

    def __init__(self, seen: Seen, probes: Sequence[int]) -> None:
        count = max(len(shapes or ()) for shapes in seen)
        self.rows: list[list[Row]] = [
            [(shapes[index],) if shapes is not None and index < len(shapes) else () for shapes in seen]
            for index in range(count)
        ]
        self.complete = [all(row[probe] for probe in probes) for row in self.rows]


class Sights:
    """The sight of every operation; equal ones are one object.

    Args:
        trees: all probes.
        probes: indices of those that solve or confirm.
    """

    def __init__(self, trees: Sequence[Tree], probes: Sequence[int]) -> None:
        self._trees = trees
        self._probes = probes
        self._sights: dict[Seen, Sight] = {}
        self._of: dict[Site, Sight | None] = {}

    def of(self, site: Site) -> Sight | None:
        """What the probes saw of an operation; ``None`` if one of them ran it more than once."""
        try:
            return self._of[site]
        except KeyError:
            found = self._of[site] = self._look(site)
            return found

    def _look(self, site: Site) -> Sight | None:
        seen: list[tuple[tuple[int, ...], ...] | None] = []
        for tree, events in zip(self._trees, site.instances, strict=True):
            if len(events) > 1:
                return None
            seen.append(tree.result_shapes[events[0]] if events else None)
        key = tuple(seen)
        sight = self._sights.get(key)
        if sight is None:
            sight = self._sights[key] = Sight(key, self._probes)
        return sight
