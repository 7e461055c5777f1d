"""What annotation and drawing could not do, as notes of the atlas, which the build and the model's page tell."""

from __future__ import annotations

import msgspec

from openmodelatlas.annotation.faults import FAULT
from openmodelatlas.annotation.knowledge import Knowledge
from openmodelatlas.drawing.drawing import Drawings
from openmodelatlas.graph.document import Document

_MOST_NOTES = 10


def with_notes(document: Document, knowledge: Knowledge, drawings: Drawings) -> Document:
    """Adds what annotation and drawing could not do, the first few of each kind in words."""
    notes = [*knowledge.notes[:_MOST_NOTES], *drawings.notes[:_MOST_NOTES]]
    for kind, told in (("notes on names and formulas", knowledge.notes), ("notes on diagrams", drawings.notes)):
        if len(told) > _MOST_NOTES:
            notes.append(f"There are {len(told) - _MOST_NOTES:,} further {kind} in the bundle.")
    lost = [each for each in knowledge.unmatched if each.reason.startswith(FAULT)]
    if lost:
        nodes = len({each.address for each in lost})
        first = f"{lost[0].address or 'the model'}: {lost[0].reason}"
        notes.append(f"Something is missing on {nodes:,} {'page' if nodes == 1 else 'pages'}, the first is {first}.")
    return msgspec.structs.replace(document, notes=(*document.notes, *notes))
