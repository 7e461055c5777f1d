"""All diagrams and formulas of one atlas."""

from __future__ import annotations

from openmodelatlas.annotation.faults import contained
from openmodelatlas.annotation.knowledge import Knowledge
from openmodelatlas.drawing.boxes import BoxWriter
from openmodelatlas.drawing.compose import Composer
from openmodelatlas.drawing.drawing import Drawing, Drawings
from openmodelatlas.drawing.flow import read_flow, titles
from openmodelatlas.drawing.formulas import every_latex
from openmodelatlas.drawing.spine import read_level
from openmodelatlas.drawing.typesetter import Typesetter
from openmodelatlas.graph.document import Document


def draw(document: Document, knowledge: Knowledge, typesetter: Typesetter | None = None) -> Drawings:
    """The diagram of every level (every node with something other than tensors inside), and every formula as HTML.

    Args:
        document: facts.
        knowledge: of its nodes.
        typesetter: one that may have begun with the formulas already; by default one is started.

    Raises:
        DrawingError: formulas cannot be set here; the advice says what to install.
    """
    if typesetter is None:
        with Typesetter() as started:
            return draw(document, knowledge, started)
    notes: list[str] = []
    setting = typesetter.set(every_latex(knowledge))  # beside the layout
    levels = draw_levels(document, knowledge, notes)
    formulas, refused = setting.result()
    return Drawings(levels=levels, formulas=formulas, notes=(*notes, *refused))


def draw_levels(document: Document, knowledge: Knowledge, notes: list[str] | None = None) -> dict[str, Drawing]:
    """The diagram of every level by the address of the node around it, in order of execution.

    A fault of ours costs the level that it concerns, and is added to ``notes``; see
    :mod:`openmodelatlas.annotation.faults`.
    """
    told: list[str] = [] if notes is None else notes
    drawn: dict[str, Drawing] = {}
    with contained(lambda reason: told.append(f"No level could be drawn: {reason}.")):
        flow = read_flow(document, knowledge)
        composer = Composer(BoxWriter(flow, knowledge, titles(document, knowledge)))
        nodes = document.nodes
        for address, node in nodes.items():
            if all(nodes[child].kind == "tensor" for child in node.children):
                continue
            place = address or "the model"
            with contained(lambda reason, place=place: told.append(f"The level {place} is not drawn: {reason}.")):  # type: ignore[misc]
                drawn[address] = composer.draw(read_level(flow, node))
    return drawn
