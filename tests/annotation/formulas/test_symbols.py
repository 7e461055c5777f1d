"""One letter means one tensor on a page; sizes and pairs of positions are told by their names."""

from __future__ import annotations

from collections import defaultdict

import pytest

from openmodelatlas.annotation.formulas.notation import marked, unlit
from openmodelatlas.annotation.formulas.pairs import pair
from openmodelatlas.annotation.formulas.scaling import Scaling
from openmodelatlas.annotation.formulas.writing import expression_text, slice_bounds
from openmodelatlas.graph.document import Document
from openmodelatlas.shapes.dimension import Constant, Symbolic

from .specimens import material
from .test_models import NAMES, drafts


def root(document: Document, tensor: str) -> str:
    """A tensor before the plumbing that it passed."""
    node = document.nodes.get(tensor)
    while node is not None and node.tensor is not None and node.tensor.producer is not None:
        made = document.nodes[node.tensor.producer]
        if not made.plumbing or not made.inputs:
            break
        tensor = made.inputs[0].tensor
        node = document.nodes.get(tensor)
    return tensor


@pytest.mark.parametrize("name", NAMES)
def test_letters_mean_one_tensor_among_operations_side_by_side(name: str) -> None:
    document = material(name).document
    for address, node in document.nodes.items():
        if node.kind not in ("function", "module"):
            continue
        meant: dict[str, set[str]] = defaultdict(set)
        for child in node.children:
            if document.nodes[child].kind != "operation":
                continue
            for formula in drafts(name).nodes[child].formulas:
                for term in formula.terms:
                    word = r"\mathtt" in term.latex  # a name of the code may be written to in place
                    if word or len(unlit(term.latex)) > 3 or not term.addresses:
                        continue
                    if term.addresses[0] in document.nodes:
                        meant[term.latex].add(root(document, term.addresses[0]))
        assert {latex: tensors for latex, tensors in meant.items() if len(tensors) > 1} == {}, address


def test_primes_are_two_at_most() -> None:
    assert [marked("k", count) for count in range(4)] == ["k", "k'", "k''", "k^{(3)}"]
    assert marked("c^{q}", 1) == "{c^{q}}'"


def test_the_root_of_a_size_is_found_from_both_values() -> None:
    document = material("dense").document
    sizes = document.provenance.probes[0]["sizes"]
    scaling = Scaling(document)
    named = {
        size.expression
        for node in document.nodes.values()
        if node.tensor is not None
        for size in node.tensor.shape
        if isinstance(size, Symbolic)
    }
    key = next(
        key
        for key, size in document.sizes.items()
        if key in named and key in sizes and size.value is not None and size.value != sizes[key]
    )
    small, large = sizes[key], document.sizes[key].value
    assert large is not None
    found = scaling.latex(small**-0.5, large**-0.5)
    assert found is not None
    assert found.startswith(r"\frac{1}{\sqrt{")
    scaled = scaling.latex(1.5 * small**-0.5, 1.5 * large**-0.5)
    assert scaled is not None
    assert scaled.startswith(r"\frac{1.5}{\sqrt{")
    assert scaling.latex(small**-0.5, 1.001 * large**-0.5) is None
    assert scaling.latex(0.25, 0.25) is None


def test_pairs_are_two_axes_of_one_size() -> None:
    length, width = Symbolic("T", None), Symbolic("hidden_size", 8)
    assert pair((length, length, width)) == (0, 1)
    assert pair((length, width)) is None
    assert pair((Constant(2), Constant(2))) is None


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("slice(start, start + 64)", ["start", "start + 64"]),
        ("slice(end)", ["", "end"]),
        ("slice(None, end)", ["", "end"]),
        ("slice(0, end, 2)", None),
        ("window", None),
        ("cut(0, 1)", None),
    ],
)
def test_bounds_of_slices_that_are_kept(text: str, bounds: list[str] | None) -> None:
    assert slice_bounds(text) == bounds


def test_sums_of_names_and_numbers_are_set_as_such() -> None:
    assert expression_text("start + 64") == r"\mathtt{start} + 64"
    assert expression_text("len(rows)") == r"\mathtt{len(rows)}"
