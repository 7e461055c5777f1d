from __future__ import annotations

import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmodelatlas.errors import ShapeError
from openmodelatlas.shapes import expression
from openmodelatlas.shapes.expression import evaluate, name, names
from openmodelatlas.shapes.parsing import parse
from openmodelatlas.shapes.transform import description_bits, evidence_bits, substitute
from tests.shapes.expressions import Tree, trees, values


@given(trees, values)
def test_simplification_keeps_the_value(tree: Tree, sizes: dict[str, int]) -> None:
    expected = tree.value(sizes)
    if expected is not None:
        assert evaluate(tree.build(), sizes) == expected


@given(trees)
def test_text_and_tree_are_two_forms_of_one_object(tree: Tree) -> None:
    node = tree.build()
    assert parse(str(node)) is node
    assert parse(tree.text()) is node


@given(trees, values, st.integers(1, 50))
def test_substitution_is_evaluation_with_another_value(tree: Tree, sizes: dict[str, int], offset: int) -> None:
    replaced = substitute(tree.build(), "T", parse(f"hidden_size + {offset}"))
    expected = tree.value({**sizes, "T": sizes["hidden_size"] + offset})
    assert "T" not in names(replaced)
    if expected is not None:
        assert evaluate(replaced, sizes) == expected


@given(trees, trees)
def test_order_of_writing_does_not_matter(left: Tree, right: Tree) -> None:
    one, other = left.build(), right.build()
    for function in (expression.add, expression.multiply, expression.minimum, expression.maximum):
        assert function(one, other) is function(other, one)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("(rope_dim + nope_dim)*num_heads", "num_heads*(nope_dim + rope_dim)"),
        ("head_dim*T*num_key_value_heads*B", "B*T*num_key_value_heads*head_dim"),
        ("1+T", "T + 1"),
        ("num_heads+2*state_size*n_groups+intermediate_size", "intermediate_size + 2*n_groups*state_size + num_heads"),
        ("n_embd*3", "3*n_embd"),
        ("T - (sliding_window - 1)", "T - sliding_window + 1"),
        ("chunk_size*ceil(T, chunk_size) - T", "chunk_size*ceil(T, chunk_size) - T"),
        ("min(sliding_window, T)", "min(T, sliding_window)"),
        ("4*d//2", "2*d"),
        ("d//2//3", "d//6"),
        ("a - a", "0"),
        ("-a - b", "-a - b"),
        ("x*(0*y + 2)", "2*x"),
        ("max(a, a)", "a"),
        ("a*(b//c)", "a*(b//c)"),
        ("a*b//c", "(a*b)//c"),
    ],
)
def test_canonical_forms(text: str, canonical: str) -> None:
    assert str(parse(text)) == canonical


def test_equal_expressions_are_one_object_while_they_live() -> None:
    node = parse("B*T*num_experts_per_tok")
    assert parse("num_experts_per_tok*T*B") is node
    del node
    gc.collect()
    assert str(parse("T*B")) == "B*T"


def test_evaluation_errors_name_the_size() -> None:
    with pytest.raises(ShapeError, match="The size v_head_dim has no value here"):
        evaluate(parse("2*v_head_dim"), {"head_dim": 3})
    with pytest.raises(ShapeError, match="n_group is 0 and divides n_routed_experts") as caught:
        evaluate(parse("1 + n_routed_experts//n_group"), {"n_routed_experts": 8, "n_group": 0})
    assert caught.value.where == "n_routed_experts//n_group"
    with pytest.raises(ShapeError, match="divided by 0"):
        parse("T//(1 - 1)")
    with pytest.raises(ShapeError, match="not a name"):
        name("per-head")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "ends too early"),
        ("2*", "ends too early"),
        ("a b", "unexpected 'b'"),
        ("(a", r"'\)' is missing"),
        ("a ** 2", "unexpected '*'"),
        ("a % 2", "column 2 cannot be read"),
        ("ceil(a)", "ceil takes two"),
        ("ceil(a, b, c)", "ceil takes two"),
        ("min(a)", "at least two"),
        ("__import__('os')", "unexpected|cannot be read"),
        ("(" * 5000, "nested deeper"),
        ("1" * 31, "digits"),
        ("a+" * 6000 + "a", "longer than"),
        ("a.", "cannot be read"),
        ("a\n&", "cannot be read"),
    ],
)
def test_what_is_not_in_the_grammar_is_one_clear_error(text: str, reason: str) -> None:
    with pytest.raises(ShapeError, match=f"Not a dimension expression: .*(?:{reason})") as caught:
        parse(text)
    assert len(str(caught.value)) < 300


@given(st.text(max_size=30))
def test_any_text_parses_or_raises_a_shape_error(text: str) -> None:
    try:
        node = parse(text)
    except ShapeError:
        return
    assert parse(str(node)) is node


def test_a_simpler_expression_takes_fewer_bits() -> None:
    probes = [{"T": 20, "heads": 6, "groups": 3, "width": 35, "chunk_size": 8}]
    ordered = ["T", "T + 1", "2*width", "width + groups", "heads*(width + groups)", "width//groups + 2*heads"]
    bits = [description_bits(parse(text), 25, probes) for text in ordered]
    assert bits == sorted(bits)
    exact, rounded = (description_bits(parse(text), 25, probes) for text in ("heads//groups", "width//groups"))
    assert exact < rounded
    assert description_bits(parse("ceil(T, chunk_size)"), 25, probes) < rounded
    assert evidence_bits([1, 1, 1]) == 3 < evidence_bits([7168])
