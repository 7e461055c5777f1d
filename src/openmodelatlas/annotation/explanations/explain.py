"""What happens at a place, with the lines that prove it: layers, branches, constants, element types, claims."""

from __future__ import annotations

from openmodelatlas.annotation.explanations.branches import Branches
from openmodelatlas.annotation.explanations.claims import Claims
from openmodelatlas.annotation.explanations.code import Syntax
from openmodelatlas.annotation.explanations.constants import Constants
from openmodelatlas.annotation.explanations.notes import add_notes
from openmodelatlas.annotation.explanations.places import (
    layer_statements,
    repeat_statements,
    sharing_statements,
    type_statements,
    unreached_statements,
)
from openmodelatlas.annotation.material import Drafts, Material


def explain(material: Material, drafts: Drafts) -> None:
    """Adds explanations and claims to the drafts; roles, mechanisms and formulas are there already."""
    document = material.document
    add_notes(material, drafts)
    syntax = Syntax(material.code)
    constants = Constants(document, syntax)
    branches = Branches(material, drafts, syntax)
    claims = Claims(material, drafts)
    for address, node in document.nodes.items():
        draft = drafts.nodes[address]
        draft.explanation = [
            *branches.passing(node),
            *draft.explanation,
            *branches.statements(node),
            *layer_statements(node, document),
            *repeat_statements(node),
            *type_statements(node, document.nodes),
            *constants.statements(node),
            *sharing_statements(node, document),
            *unreached_statements(node),
        ]
        claim = claims.claim(node)
        if claim is not None:
            draft.claims.insert(0, claim)
