"""All diagrams and formulas of one atlas."""

from __future__ import annotations

from openmodelatlas.annotation.knowledge import Knowledge
from openmodelatlas.drawing.boxes import BoxWriter
from openmodelatlas.drawing.compose import Composer
from openmodelatlas.drawing.drawing import Drawing, Drawings
from openmodelatlas.drawing.engine import Engine
from openmodelatlas.drawing.flow import read_flow, titles
from openmodelatlas.drawing.formulas import every_latex
from openmodelatlas.drawing.spine import read_level
from openmodelatlas.graph.document import Document


def draw(document: Document, knowledge: Knowledge) -> Drawings:
    """The diagram of every level (every node with something other than tensors inside), and every formula as HTML.

    Raises:
        DrawingError: formulas cannot be set here; the advice says what to install.
    """
    levels = draw_levels(document, knowledge)
    wanted = list(every_latex(knowledge))
    if not wanted:
        return Drawings(levels=levels)
    with Engine() as engine:
        formulas, notes = engine.set(wanted)
    return Drawings(levels=levels, formulas=formulas, notes=tuple(notes))


def draw_levels(document: Document, knowledge: Knowledge) -> dict[str, Drawing]:
    """The diagram of every level by the address of the node around it, in order of execution."""
    flow = read_flow(document, knowledge)
    composer = Composer(BoxWriter(flow, knowledge, titles(document, knowledge)))
    nodes = document.nodes
    return {
        address: composer.draw(read_level(flow, node))
        for address, node in nodes.items()
        if any(nodes[child].kind != "tensor" for child in node.children)
    }
