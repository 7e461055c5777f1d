"""Joins the graph with what is known of operations, roles and mechanisms.

Each step adds to the drafts of the steps before it: roles name the places of the data flow and give tensors their
symbols; mechanisms are recognised and evaluated on the captured values; operations get formulas with those symbols;
explanations say what happens at this place; claims cite the lines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from openmodelatlas.annotation.explanations.explain import explain
from openmodelatlas.annotation.formulas import operation_formulas
from openmodelatlas.annotation.knowledge import Knowledge, NodeKnowledge
from openmodelatlas.annotation.material import Draft, Drafts, Material
from openmodelatlas.annotation.mechanisms import recognise_mechanisms
from openmodelatlas.annotation.roles import step as find_roles

Step = Callable[[Material, Drafts], None]

STEPS: dict[str, Step] = {
    "Roles": find_roles,
    "Mechanisms": recognise_mechanisms,
    "Formulas": operation_formulas,
    "Explanations": explain,
}
"""By what a note says if one fails as a whole."""


def annotate(material: Material, heard: Callable[[Iterable[Draft]], object] = lambda _: None) -> Knowledge:
    """Everything that is known of the nodes of ``material``.

    A fault of ours costs what it concerns, which is noted (see :mod:`.faults`).

    Args:
        material: what is known from the graph.
        heard: is told of the drafts when they have their formulas, before they are explained.

    Raises:
        CatalogueError: an entry of the catalogue is not written as the format says.
        BundleError: the code or the values cannot be read.
    """
    drafts = Drafts(nodes={address: Draft() for address in material.document.nodes})
    for what, step in STEPS.items():
        if step is explain:
            heard(drafts.nodes.values())
        with drafts.spare_all(what):
            step(material, drafts)
    finished = {address: draft.finished() for address, draft in drafts.nodes.items()}
    empty = NodeKnowledge()
    return Knowledge(
        nodes={address: node for address, node in finished.items() if node != empty},
        unmatched=tuple(drafts.unmatched),
        notes=tuple(drafts.notes),
    )
