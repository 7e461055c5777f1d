"""Recognises the catalogue's mechanisms in an atlas and attaches those whose numbers agree."""

from __future__ import annotations

from openmodelatlas.annotation.material import Drafts, Material


def recognise_mechanisms(material: Material, drafts: Drafts) -> None:
    """Attaches the mechanisms of the catalogue wherever their references give the captured values, in float64.

    Raises:
        CatalogueError: an entry is not written as the format says.
    """
    from openmodelatlas.annotation.mechanisms.attach import attach  # NumPy only where something is evaluated
    from openmodelatlas.catalogue.load import load

    attach(material, drafts, load())
