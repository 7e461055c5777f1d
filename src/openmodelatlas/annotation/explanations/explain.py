"""What happens at a place, with the lines that prove it: layers, branches, constants, element types, claims."""

from __future__ import annotations

from openmodelatlas.annotation.explanations.axes import StateAxes
from openmodelatlas.annotation.explanations.branches import Branches
from openmodelatlas.annotation.explanations.caches import Caches
from openmodelatlas.annotation.explanations.claims import Claims
from openmodelatlas.annotation.explanations.code import Syntax
from openmodelatlas.annotation.explanations.constants import Constants
from openmodelatlas.annotation.explanations.notes import add_notes
from openmodelatlas.annotation.explanations.places import (
    layer_statements,
    position_statements,
    repeat_statements,
    sharing_statements,
    type_statements,
    unreached_statements,
)
from openmodelatlas.annotation.material import Drafts, Material


def explain(material: Material, drafts: Drafts) -> None:
    """Adds explanations and claims to the drafts; roles, mechanisms and formulas are there already."""
    document = material.document
    with drafts.spare_all("Places of notes"):
        add_notes(material, drafts)
    syntax = Syntax(material.code)
    constants = Constants(document, syntax)
    branches = Branches(material, drafts, syntax)
    claims = Claims(material, drafts, syntax)
    caches = Caches(document, drafts)
    axes = StateAxes(document, drafts)
    for address, node in document.nodes.items():
        draft = drafts.nodes[address]
        with drafts.spare(address, "explanation"):
            draft.explanation = [
                *branches.passing(node),
                *draft.explanation,
                *branches.statements(node),
                *layer_statements(node, document),
                *caches.statements(node),
                *axes.statements(node),
                *position_statements(node, document, drafts),
                *repeat_statements(node),
                *type_statements(node, document.nodes),
                *constants.statements(node),
                *sharing_statements(node, document),
                *unreached_statements(node, material.code),
            ]
        with drafts.spare(address, "evidence"):
            draft.claims[:0] = claims.claims(node)
    _show_symbols(material, drafts)


def _show_symbols(material: Material, drafts: Drafts) -> None:
    """What a page reads, gives or is shows its symbol, unless something else on the page has that symbol already."""
    for address, node in material.document.nodes.items():
        shown = drafts.nodes[address].symbols
        if node.kind == "tensor":
            names = [address]
        else:
            names = [*(port.tensor for port in (*node.inputs, *node.outputs)), *node.parameters]
        for name in names:
            symbol = drafts.tensor_symbols.get(name)
            if symbol is not None and name not in shown and symbol not in shown.values():
                shown[name] = symbol
