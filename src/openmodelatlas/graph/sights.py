"""What all probes saw of an operation: sixty equal layers saw the same, which is then looked at once."""

from __future__ import annotations

from collections.abc import Sequence

from openmodelatlas.capture.recording import Phase
from openmodelatlas.graph.align import Seen, Site
from openmodelatlas.graph.tree import Keys
from openmodelatlas.shapes.dimension import Dimension

Shape = tuple[Dimension, ...]

Row = tuple[tuple[int, ...], ...]
"""Of one result in one probe, the shape in each instance."""


class Sight:
    """What the probes saw of an operation that none of them ran twice, where it stands.

    Attributes:
        phase, context: the phase, and the number of the place in the model, the same in every layer.
        rows: for each result, its row in each probe.
        complete: for each result, whether every probe that solves or confirms gave it.
        solved: shapes of results, once they are solved for all operations of this sight.
        signature: the dimensions of all results, once ``solved`` has them all.
    """

    __slots__ = ("complete", "context", "phase", "rows", "signature", "solved")

    def __init__(self, phase: Phase, context: int, rows: list[list[Row]], complete: list[bool]) -> None:
        self.phase = phase
        self.context = context
        self.rows = rows
        self.complete = complete
        self.solved: dict[int, Shape] = {}
        self.signature: Shape | None = None


class Sights:
    """The sight of every operation; equal ones are one object.

    Args:
        keys: what the keys of shapes stand for.
        probes: indices of the probes that solve or confirm.

    Attributes:
        of: the sights.
    """

    def __init__(self, keys: Keys, probes: Sequence[int]) -> None:
        self._keys = keys
        self._probes = probes
        self._known: dict[tuple[Phase, int, Seen], Sight] = {}
        self.of: dict[Site, Sight] = {}

    def look(self, site: Site, phase: Phase, context: int) -> bool:
        """Looks at an operation, unless a probe ran it more than once; returns whether there is something new to see.

        What is run more than once has no sight in ``of``.
        """
        if site.seen is None:
            return True
        key = (phase, context, site.seen)
        sight = self._known.get(key)
        new = sight is None
        if sight is None:
            sight = self._known[key] = self._sight(site.seen, phase, context)
        self.of[site] = sight
        return new

    def _sight(self, seen: Seen, phase: Phase, context: int) -> Sight:
        shapes = [self._keys.shapes([key])[0] if key is not None else () for key in seen]
        rows: list[list[Row]] = [
            [(row[index],) if index < len(row) else () for row in shapes] for index in range(max(map(len, shapes)))
        ]
        return Sight(phase, context, rows, [all(row[probe] for probe in self._probes) for row in rows])
