"""Which probe plays which part."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Roles:
    """Which recording plays which part; indices into the list of trees.

    Attributes:
        solving: probes that expressions are solved from; the first carries the values.
        held_out: the probe that confirms them.
        repeat: the first probe's sizes with other weights and tokens; ``None`` if it was not run.
        true_size: the published sizes on the meta device; ``None`` if it was not run.
        published_dtype: the probe in the published element type; ``None`` if none could run.
    """

    solving: tuple[int, ...]
    held_out: int
    repeat: int | None
    true_size: int | None
    published_dtype: int | None
