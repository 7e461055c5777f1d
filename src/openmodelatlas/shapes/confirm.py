"""A dimension with how it was found and confirmed."""

from __future__ import annotations

import msgspec

from openmodelatlas.shapes.dimension import Dimension


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
