"""What annotation needs on this machine, looked for before a long capture rather than after it."""

from __future__ import annotations

from openmodelatlas.annotation.explanations.notes import notes_of
from openmodelatlas.catalogue.load import load
from openmodelatlas.errors import INSTALL_CAPTURE, CaptureError


def check_needs(model: str) -> None:
    """Raises what :func:`openmodelatlas.annotation.annotate.annotate` would raise for the atlas of ``model``.

    Raises:
        CaptureError: NumPy is not installed, or cannot be imported.
        CatalogueError: an entry of the catalogue, or a note on this model, is not written as the format says.
    """
    try:
        import numpy as np  # noqa: F401
    except ImportError as error:
        raise CaptureError(
            f"NumPy cannot be imported, so no formula can be evaluated: {error}.",
            advice=INSTALL_CAPTURE,
        ) from error
    catalogue = load()
    for identifier, mechanism in catalogue.mechanisms.items():
        catalogue.reference(identifier)
        _ = mechanism.spelt_out
    notes_of(model)
    _load_late_parts()


def _load_late_parts() -> None:
    """Imports what annotation imports when it runs (it loads NumPy): here that costs no time, later it does."""
    from openmodelatlas.annotation.formulas import step  # noqa: F401
    from openmodelatlas.annotation.formulas.families import ENTRIES, kernels  # noqa: F401
    from openmodelatlas.annotation.kernel_specs import specs
    from openmodelatlas.annotation.mechanisms import attach  # noqa: F401

    specs()
