"""What was confirmed: counts over all dimensions of a model, for the evidence pages and the build report."""

from __future__ import annotations

import msgspec

from openmodelatlas.shapes.dimension import Constant, DataDependent, Dimension, Symbolic, Unresolved, Varying


class Solution(msgspec.Struct, frozen=True, kw_only=True):
    """A dimension with how it was found.

    Attributes:
        dimension: the answer.
        held_out: whether the held-out probe has the size that the answer predicts (always true of an expression).
        true_size: whether the model at full size has it; ``None`` where that run has no such axis.
        aliases: other names that have the same size as one in the answer in every probe and at full size.
        discarded: expressions, simplest first, that fit the solving probes and were refuted by a confirmation.
    """

    dimension: Dimension
    held_out: bool
    true_size: bool | None
    aliases: dict[str, tuple[str, ...]] = {}
    discarded: tuple[str, ...] = ()


class Statistics(msgspec.Struct, frozen=True, kw_only=True):
    """How many dimensions there are of each kind, and how many were confirmed.

    Attributes:
        symbolic, constant, data_dependent, varying, unresolved: number of dimensions of each kind.
        confirmed_held_out: symbolic and constant dimensions that predicted the held-out probe.
        confirmed_true_size: those that the model at full size has as well.
        refuted: expressions that fitted the solving probes and were discarded by a confirmation, each counted once
            for each dimension.
    """

    symbolic: int = 0
    constant: int = 0
    data_dependent: int = 0
    varying: int = 0
    unresolved: int = 0
    confirmed_held_out: int = 0
    confirmed_true_size: int = 0
    refuted: int = 0

    @property
    def total(self) -> int:
        """Number of dimensions."""
        return self.symbolic + self.constant + self.data_dependent + self.varying + self.unresolved


_FIELDS = {
    Symbolic: "symbolic",
    Constant: "constant",
    DataDependent: "data_dependent",
    Varying: "varying",
    Unresolved: "unresolved",
}


class Tally:
    """Counts dimensions one by one."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = dict.fromkeys(Statistics.__struct_fields__, 0)

    def add(self, found: Solution | Dimension, times: int = 1) -> None:
        """Count a dimension ``times`` times; one without a :class:`Solution` counts as not confirmed."""
        if not isinstance(found, Solution):
            self._counts[_FIELDS[type(found)]] += times
            return
        self._counts[_FIELDS[type(found.dimension)]] += times
        self._counts["refuted"] += len(found.discarded) * times
        if isinstance(found.dimension, Symbolic | Constant):
            self._counts["confirmed_held_out"] += times * found.held_out
            self._counts["confirmed_true_size"] += times * (found.true_size is True)

    def statistics(self) -> Statistics:
        """The counts so far."""
        return Statistics(**self._counts)
