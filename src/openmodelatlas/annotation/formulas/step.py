"""Gives every operation its formula, and says what could not be evaluated."""

from __future__ import annotations

import re

from openmodelatlas.annotation.formulas import single
from openmodelatlas.annotation.formulas.calls import entry_of, is_operation
from openmodelatlas.annotation.formulas.evaluate import Values
from openmodelatlas.annotation.formulas.spans import Spans
from openmodelatlas.annotation.formulas.terms import Symbols
from openmodelatlas.annotation.knowledge import Unmatched
from openmodelatlas.annotation.material import Drafts, Material
from openmodelatlas.graph.document import Node

_LIT = re.compile(r"\\htmlData\{[^{}]*\}")


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


def unlit(latex: str) -> str:
    """A formula without the marks of its terms."""
    return _LIT.sub("", latex).replace("{", "").replace("}", "").replace(" ", "")


def _unknown(node: Node) -> Unmatched:
    name = entry_of(node.function or "")[0]
    return Unmatched(address=node.address, what="formula", reason=f"the operation table does not know {name}")
