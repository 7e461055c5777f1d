"""What annotation needs on this machine, looked for before a long capture rather than after it."""

from __future__ import annotations

from openmodelatlas.annotation.explanations.notes import notes_of
from openmodelatlas.catalogue.load import load
from openmodelatlas.errors import CaptureError


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
            advice="Run pip install 'openmodelatlas[capture]'.",
        ) from error
    catalogue = load()
    for identifier in catalogue.mechanisms:
        catalogue.reference(identifier)
    notes_of(model)
