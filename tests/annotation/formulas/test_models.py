"""Formulas of whole models of the corpus: all evaluated, terms at their own characters, composed ones too."""

from __future__ import annotations

import ast
import functools

import pytest

from openmodelatlas.annotation.formulas import operation_formulas
from openmodelatlas.annotation.formulas.calls import call_of, is_operation
from openmodelatlas.annotation.formulas.notation import unlit
from openmodelatlas.annotation.formulas.spans import Spans
from openmodelatlas.annotation.knowledge import Formula
from openmodelatlas.annotation.material import Drafts, Material
from openmodelatlas.bundle.tensors import TensorValue

from .braces import brackets_balance
from .record import Captured, drafts_of
from .specimens import material

NAMES = ("dense", "cached", "listed", "stacked", "growing", "in-place", "recurrence", "operands", "chained", "branches")


@functools.cache
def drafts(name: str) -> Drafts:
    made = material(name)
    found = drafts_of(made)
    operation_formulas(made, found)
    return found


def formulas(name: str) -> list[tuple[str, Formula]]:
    return [(address, formula) for address, draft in drafts(name).nodes.items() for formula in draft.formulas]


@pytest.mark.parametrize("name", NAMES)
def test_every_operation_is_evaluated_and_checked(name: str) -> None:
    document = material(name).document
    operations = [address for address, node in document.nodes.items() if is_operation(node)]
    assert operations
    failed = [(address, formula.check) for address, formula in formulas(name) if formula.check.verdict != "checked"]
    assert failed == []
    assert [address for address in operations if not drafts(name).nodes[address].formulas] == []
    assert drafts(name).unmatched == []


@pytest.mark.parametrize("name", NAMES)
def test_formulas_are_well_formed(name: str) -> None:
    for address, formula in formulas(name):
        assert brackets_balance(formula.latex), address
        assert not {"\0", "\1"} & set(formula.latex), address
        for term in formula.terms:
            assert f"light={term.id}}}" in formula.latex, address


@pytest.mark.parametrize("name", NAMES)
def test_operands_are_found_in_the_code(name: str) -> None:
    made = material(name)
    spans = Spans(made.document, made.code)
    found = total = 0
    for node in made.document.nodes.values():
        call = call_of(node, made.document) if is_operation(node) else None
        if call is None or call.node.symbol is None:
            continue
        total += len(call.operands)
        places = spans.operands(call)
        found += len(places)
        for lines in places.values():
            text = spans.segment(lines)
            ast.parse(f"({text})", mode="eval")
            assert node.symbol is not None
            inside = node.symbol.lines.first <= lines.first <= lines.last <= node.symbol.lines.last
            assert inside, (node.symbol, text)
    assert found >= 0.9 * total


def test_operands_of_a_sum_are_its_two_sides() -> None:
    sums = []
    for name in NAMES:
        made = material(name)
        spans = Spans(made.document, made.code)
        for node in made.document.nodes.values():
            call = call_of(node, made.document) if (node.function or "").endswith("__add__") else None
            if call is not None and node.symbol is not None and len(call.operands) == 2:
                parts = [spans.segment(lines) for lines in spans.operands(call).values()]
                sums.append((node.symbol.text, " + ".join(parts)))
    assert len(sums) > 5
    assert [text for text, parts in sums] == [parts for text, parts in sums]


def test_a_function_s_formula_is_composed_of_its_operations() -> None:
    document = material("dense").document
    composed = [
        (address, formula)
        for address, formula in formulas("dense")
        if document.nodes[address].kind in ("function", "module") and not is_operation(document.nodes[address])
    ]
    assert composed
    assert all("compared with all" in formula.check.detail for _, formula in composed)
    norms = [formula for address, formula in composed if "norm" in address]
    assert norms
    assert all(r"\sqrt" in formula.latex and r"\sum" in formula.latex for formula in norms)


def test_results_stand_on_the_left_and_names_are_told_apart() -> None:
    for address, formula in formulas("dense"):
        first = formula.terms[0]
        left = unlit(formula.latex).removeprefix(r"\begin{aligned}").partition("=")[0]
        assert unlit(first.latex) in left or "aligned" in formula.latex, address
        assert len({term.latex for term in formula.terms}) == len(formula.terms), address


class Altered(Captured):
    """The code of a model with one value changed."""

    def __init__(self, made: Material, key: str) -> None:
        super().__init__()
        self._made = made
        self._key = key

    def value(self, key: str) -> TensorValue | None:
        """Zeros instead of the chosen value."""
        value = self._made.code.value(key)
        if key != self._key or value is None:
            return value  # type: ignore[return-value]
        return TensorValue(dtype=value.dtype, shape=value.shape, data=bytes(len(value.data)))

    def lines_of(self, file: str) -> list[str]:
        """The lines of a cited file."""
        return list(self._made.code.lines_of(file))


def test_a_changed_value_makes_the_formulas_around_it_differ() -> None:
    made = material("dense")
    product = next(node for node in made.document.nodes.values() if node.function == "torch.Tensor.__mul__")
    fact = made.document.nodes[product.outputs[0].tensor].tensor
    assert fact is not None
    assert fact.value is not None
    found = drafts_of(made)
    operation_formulas(Material(document=made.document, code=Altered(made, fact.value)), found)
    differing = {
        address for address, draft in found.nodes.items() for f in draft.formulas if f.check.verdict == "differs"
    }
    assert product.address in differing
    assert {note.address for note in found.unmatched if note.what == "evaluation"} & differing
