"""The operation table's formulas and evaluations, by family. Importing this loads numpy."""

from __future__ import annotations

from openmodelatlas.annotation.formulas.entry import Entry
from openmodelatlas.annotation.formulas.families import (
    activations,
    arithmetic,
    comparisons,
    creation,
    indexing,
    products,
    reductions,
    shapes,
)

ENTRIES: dict[str, Entry] = {
    **arithmetic.ENTRIES,
    **comparisons.ENTRIES,
    **reductions.ENTRIES,
    **activations.ENTRIES,
    **products.ENTRIES,
    **shapes.ENTRIES,
    **indexing.ENTRIES,
    **creation.ENTRIES,
}
"""By the table's name of the function (``operations.operation_name``), or its own name where that says more."""
