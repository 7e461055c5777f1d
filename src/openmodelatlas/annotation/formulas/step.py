"""Gives operations, kernels and what encloses them their formulas, and says what could not be evaluated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from openmodelatlas.annotation.formulas import chains, kernels, single
from openmodelatlas.annotation.formulas.calls import entry_of, is_operation
from openmodelatlas.annotation.formulas.compose import compose
from openmodelatlas.annotation.formulas.evaluate import Values
from openmodelatlas.annotation.formulas.notation import unlit
from openmodelatlas.annotation.formulas.spans import Spans
from openmodelatlas.annotation.formulas.symbols import Symbols
from openmodelatlas.annotation.knowledge import Formula, Unmatched
from openmodelatlas.annotation.material import Drafts, Material
from openmodelatlas.graph.document import Node

_ENCLOSING = ("function", "module", "branch")


def write(material: Material, drafts: Drafts) -> None:
    """Appends the formula of the operation table to every operation, and of its stand-in to every kernel.

    Functions, modules and branches that no mechanism explains get a formula composed from the operations within.
    """
    writer = _Step(material, drafts)
    nodes = material.document.nodes.values()
    for node in nodes:
        if is_operation(node):
            writer.guarded(writer.operation, node)
        elif node.kind == "kernel":
            writer.guarded(writer.kernel, node)
    for node in nodes:
        if node.kind in _ENCLOSING and not is_operation(node):
            writer.guarded(writer.enclosing, node)


class _Step:
    def __init__(self, material: Material, drafts: Drafts) -> None:
        self._document = material.document
        self._drafts = drafts
        self._values = Values(material.arrays)
        self._symbols = Symbols(material.document, drafts, Spans(material.document, material.code))

    def guarded(self, write: Callable[[Node], None], node: Node) -> None:
        """Writes for one node; a fault in what is written for it leaves the others theirs."""
        with self._drafts.spare(node.address, "formula"):
            write(node)

    def operation(self, node: Node) -> None:
        """An operation, after what a mechanism says of it."""
        call = self._symbols.call(node.address)
        if call is None:
            name = entry_of(node.function or "")[0]
            self._miss(node, "formula", f"the operation table does not know {name}")
            return
        check = single.check(call, self._document, self._values)
        self._append(node, single.formula(call, self._symbols, check))
        if check.verdict != "checked":
            self._miss(node, "evaluation", check.detail)

    def kernel(self, node: Node) -> None:
        """A kernel that no mechanism explains; mechanisms come first and are evaluated."""
        if self._drafts.nodes[node.address].formulas:
            return
        check = kernels.check(node, self._symbols, self._values)
        formula = kernels.formula(node, self._symbols, check)
        if formula is None:
            self._miss(node, "formula", f"no stand-in declares {node.function}")
            return
        self._append(node, formula)
        if check.verdict != "checked":
            self._miss(node, "evaluation", check.detail)

    def enclosing(self, node: Node) -> None:
        """A function, module or branch that no mechanism explains, if it is short and its chain holds."""
        if self._drafts.nodes[node.address].formulas:
            return
        chain = chains.chain_of(node, self._symbols)
        if chain is None:
            return
        check = chains.check(chain, self._document, self._values)
        if check.verdict == "differs":
            self._miss(node, "evaluation", f"composed of its operations, {check.detail}")
            return
        formula = compose(chain, self._symbols, check)
        if formula is not None:
            self._append(node, formula)

    def _append(self, node: Node, formula: Formula) -> None:
        known = self._drafts.nodes[node.address].formulas
        if not any(unlit(formula.latex) == unlit(other.latex) for other in known):
            known.append(formula)

    def _miss(self, node: Node, what: Literal["formula", "evaluation"], reason: str) -> None:
        self._drafts.unmatched.append(Unmatched(address=node.address, what=what, reason=reason))
