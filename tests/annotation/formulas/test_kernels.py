"""Kernels have the sentence and the formula that their stand-ins declare, with the symbols of their arguments lit."""

from __future__ import annotations

import msgspec
import pytest
import torch

from openmodelatlas.annotation.formulas import operation_formulas
from openmodelatlas.annotation.formulas.notation import brackets_balance, unlit
from openmodelatlas.annotation.kernel_specs import specs
from openmodelatlas.annotation.knowledge import Formula
from openmodelatlas.annotation.material import Drafts, Material
from openmodelatlas.annotation.operations import describe_operation

from .record import OPERATION, drafts_of, recorded


def annotated(name: str) -> Drafts:
    """Drafts of a kernel that reads one tensor, its first, and gives one."""
    made = recorded("torch.sin", torch.rand(3))
    kernel = msgspec.structs.replace(made.document.nodes[OPERATION], kind="kernel", function=name)
    document = msgspec.structs.replace(made.document, nodes={**made.document.nodes, OPERATION: kernel})
    drafts = drafts_of(made)
    operation_formulas(Material(document=document, code=made.code), drafts)
    return drafts


def formula_of(name: str) -> Formula:
    (found,) = annotated(name).nodes[OPERATION].formulas
    return found


@pytest.mark.parametrize("name", sorted(specs()))
def test_a_kernel_has_the_formula_of_its_stand_in(name: str) -> None:
    formula = formula_of(name)
    assert brackets_balance(formula.latex)
    assert unlit(formula.latex) == unlit(specs()[name].formula)
    assert formula.terms
    assert all(f"light={term.id}}}" in formula.latex for term in formula.terms)
    assert formula.check.verdict == "not checked"
    assert describe_operation(name, {}) == specs()[name].summary


def test_the_first_argument_and_the_result_are_bound() -> None:
    formula = formula_of("fla.modules.l2norm.l2norm")
    bound = {address for term in formula.terms for address in term.addresses}
    assert {"input-0", "output-0"} <= bound


def test_a_kernel_that_nobody_declares_is_told() -> None:
    drafts = annotated("package.unknown")
    assert drafts.nodes[OPERATION].formulas == []
    assert [note.reason for note in drafts.unmatched] == ["no stand-in declares package.unknown"]
