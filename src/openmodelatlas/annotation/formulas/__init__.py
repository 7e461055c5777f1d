"""Formulas of operations, from the operation table: written with the terms of this place, evaluated on its values.

The steps load numpy and the table when they run, not when this package is imported.
"""

from __future__ import annotations

from openmodelatlas.annotation.material import Drafts, Material


def operation_formulas(material: Material, drafts: Drafts) -> None:
    """The step that gives operations and kernels their formulas, and composes those of what encloses them."""
    from openmodelatlas.annotation.formulas.step import write

    write(material, drafts)
