"""Gives every operation its formula, and says what could not be evaluated."""

from __future__ import annotations

from openmodelatlas.annotation.formulas import chains, kernels, single
from openmodelatlas.annotation.formulas.calls import entry_of, is_operation
from openmodelatlas.annotation.formulas.compose import compose
from openmodelatlas.annotation.formulas.evaluate import Values
from openmodelatlas.annotation.formulas.notation import unlit
from openmodelatlas.annotation.formulas.spans import Spans
from openmodelatlas.annotation.formulas.terms import Symbols
from openmodelatlas.annotation.knowledge import Unmatched
from openmodelatlas.annotation.material import Drafts, Material
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
        written = single.formula(call, symbols, check)
        if not any(unlit(written.latex) == unlit(other.latex) for other in draft.formulas):
            draft.formulas.append(written)
        if check.verdict != "checked":
            drafts.unmatched.append(Unmatched(address=address, what="evaluation", reason=check.detail))


def write_composed(material: Material, drafts: Drafts) -> None:
    """Gives functions, modules and branches that no mechanism explains a formula composed from their operations."""
    document = material.document
    values = Values(material.code)
    symbols = Symbols(document, drafts, Spans(document, material.code))
    for address, node in document.nodes.items():
        draft = drafts.nodes[address]
        if draft.formulas or node.kind not in ("function", "module", "branch") or is_operation(node):
            continue
        chain = chains.chain_of(node, symbols)
        if chain is None:
            continue
        check = chains.check(chain, document, values)
        formula = compose(chain, symbols, check)
        if formula is not None:
            draft.formulas.append(formula)


def write_kernels(material: Material, drafts: Drafts) -> None:
    """Gives kernels the formula that their stand-ins declare; their mechanisms, which come first, are evaluated."""
    symbols = Symbols(material.document, drafts, Spans(material.document, material.code))
    for address, node in material.document.nodes.items():
        draft = drafts.nodes[address]
        if node.kind != "kernel" or draft.formulas:
            continue
        formula = kernels.formula(node, symbols)
        if formula is not None:
            draft.formulas.append(formula)
            drafts.unmatched.append(Unmatched(address=address, what="evaluation", reason=formula.check.detail))
        else:
            reason = f"no stand-in declares {node.function}"
            drafts.unmatched.append(Unmatched(address=address, what="formula", reason=reason))


def _unknown(node: Node) -> Unmatched:
    name = entry_of(node.function or "")[0]
    return Unmatched(address=node.address, what="formula", reason=f"the operation table does not know {name}")
