"""Gives every operation its formula, and says what could not be evaluated."""

from __future__ import annotations

from openmodelatlas.annotation.formulas import single
from openmodelatlas.annotation.formulas.calls import entry_of, is_operation
from openmodelatlas.annotation.formulas.evaluate import Values
from openmodelatlas.annotation.formulas.spans import Spans
from openmodelatlas.annotation.formulas.terms import Symbols
from openmodelatlas.annotation.knowledge import Unmatched
from openmodelatlas.annotation.material import Draft, Drafts, Material
from openmodelatlas.graph.document import Node


def write_operations(material: Material, drafts: Drafts) -> None:
    """Appends to every operation the formula of the operation table, with its verdict."""
    document = material.document
    values = Values(material.code)
    symbols = Symbols(document, drafts, Spans(document, material.code))
    for address, node in document.nodes.items():
        if not is_operation(node):
            continue
        call = symbols.call(address)
        if call is None:
            drafts.unmatched.append(_unknown(node))
            continue
        check = single.check(call, document, values)
        draft = drafts.nodes[address]
        draft.formulas.append(single.formula(call, symbols, ids_of(draft), check))
        if check.verdict != "checked":
            drafts.unmatched.append(Unmatched(address=address, what="evaluation", reason=check.detail))


def ids_of(draft: Draft) -> set[str]:
    """Ids of the terms that a page already has."""
    return {term.id for formula in draft.formulas for term in formula.terms}


def _unknown(node: Node) -> Unmatched:
    name = entry_of(node.function or "")[0]
    return Unmatched(address=node.address, what="formula", reason=f"the operation table does not know {name}")
