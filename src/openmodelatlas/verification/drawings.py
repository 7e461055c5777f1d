"""Diagrams: drawn anew from what the bundle holds, and compared; formulas: whether all are set."""

from __future__ import annotations

from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.drawing.draw import draw_levels
from openmodelatlas.drawing.formulas import every_latex
from openmodelatlas.verification.drift import Drift, told


def verify_drawings(atlas: Atlas, found: list[Drift]) -> int:
    """Every level drawn anew and compared with the bundle's; every formula of the knowledge must be set."""
    count = 0
    with told(found, "drawing", ""):
        drawings, knowledge = atlas.drawings, atlas.knowledge
        notes: list[str] = []
        anew = draw_levels(atlas.document, knowledge, notes)
        found += [Drift(kind="drawing", where="", text=note) for note in notes if note not in drawings.notes]
        for address in dict.fromkeys((*drawings.levels, *anew)):
            if drawings.levels.get(address) != anew.get(address):
                found.append(Drift(kind="drawing", where=address, text="the diagram differs from one drawn now"))
        lacking = [latex for latex in every_latex(knowledge) if latex not in drawings.formulas]
        if lacking:
            text = f"{len(lacking):,} formulas are not set, the first is {lacking[0][:80]}"
            found.append(Drift(kind="drawing", where="", text=text))
        count += len(anew)
    return count
