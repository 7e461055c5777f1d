"""What is folded is equal, and what is equal is folded."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from openmodelatlas.graph.align import sites_in
from openmodelatlas.graph.joining import join_dimensions
from openmodelatlas.shapes.dimension import Constant, DataDependent, Symbolic, Varying
from tests.corpus.models import dense, kinds

from .driver import Built, build
from .specimens import specimen


def groups(built: Built) -> list[list[int]]:
    """Layer numbers of each variant of the first loop that keeps its rounds apart."""
    fold = next(fold for fold in built.loop_folds() if not fold.merged)
    return [variant.numbers for variant in fold.variants]


def of_kinds(text: str) -> list[list[int]]:
    """The groups that a stack of these kinds must fold into."""
    found: dict[str, list[int]] = {}
    for number, kind in enumerate(text, 1):
        found.setdefault(kind, []).append(number)
    return list(found.values())


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dense", [[1, 2, 3, 4]]),
        ("tied", [[1, 2, 3, 4]]),
        ("windowed", [[1, 3], [2, 4]]),
        ("cached", [[1, 2, 3]]),
        ("listed", [[1], [2, 3, 4]]),
        ("stacked", [[1], [2, 3, 4]]),
        ("alternating", [[1, 3, 5], [2, 4]]),
        ("three-to-one", [[1, 2, 3, 5, 6, 7], [4, 8]]),
        ("choices", [[1], [2], [3], [4], [5], [6], [7], [8]]),
        ("growing", [[1, 2, 3, 4]]),
        ("first", [[1], [2, 3, 4]]),
        ("branches", [[1], [2], [3, 5], [4]]),
        ("comprehension", [[1, 2, 3]]),
        ("nested", [[1, 2]]),
    ],
)
def test_groups(name, expected):
    assert groups(specimen(name)) == expected


@settings(max_examples=20, deadline=None, database=None, derandomize=True)
@given(st.text(alphabet="lfsSnbmw", min_size=1, max_size=9))
def test_any_order_of_kinds_folds_into_exactly_its_kinds(text):
    built = build(lambda sizes: kinds.Stack(sizes, text))
    found = groups(built)
    assert found == of_kinds(text)
    assert sorted(number for group in found for number in group) == list(range(1, len(text) + 1))


@settings(max_examples=8, deadline=None, database=None, derandomize=True)
@given(st.text(alphabet="wf", min_size=1, max_size=6))
def test_any_order_of_masks_folds_by_mask(text):
    assert groups(build(lambda sizes: dense.Windowed(sizes, text))) == of_kinds(text)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([0.5, 0.25, 0.5], [[1, 3], [2]]),
        ([True, False, True], [[1, 3], [2]]),
        ([None, 1, None], [[1, 3], [2]]),
        ([None, 0.5, True, "a"], [[1], [2], [3], [4]]),
        (["a", "b", "a"], [[1, 3], [2]]),
        ([0, 1, 2, 3], [[1, 2, 3, 4]]),
        ([0, 0, 0], [[1, 2, 3]]),
        ([0, 0, 1, 1, 2], [[1, 2, 3, 4, 5]]),
        ([5, 3, 1], [[1, 2, 3]]),
        ([128, 4096, 128, 4096], [[1, 3], [2, 4]]),
        ([float("inf"), float("-inf")], [[1], [2]]),
        ([[0.5, True], [0.5, False], [0.5, True]], [[1, 3], [2]]),
        ([{"scale": 0.5}, {"scale": 2.0}], [[1], [2]]),
        ([slice(None), slice(1, None)], [[1], [2]]),
    ],
)
def test_arguments_that_are_no_counters_tell_layers_apart(arguments, expected):
    assert groups(build(lambda sizes: kinds.Argued(sizes, arguments))) == expected


def test_members_are_parallel_and_representative_first():
    built = specimen("three-to-one")
    fold = next(fold for fold in built.loop_folds() if not fold.merged)
    for variant in fold.variants:
        assert len(variant.numbers) == len(variant.rounds)
        for child in variant.children:
            assert child.layers == variant.numbers
            shapes = [[site.is_call for site in sites_in([member])] for member in child.members]
            assert all(shape == shapes[0] for shape in shapes)


def test_the_same_layer_always_finds_its_group():
    """Folding twice, and from recordings in another process order, gives the same groups."""
    one, other = (build(lambda sizes: kinds.Stack(sizes, "lfsfl")) for _ in range(2))
    assert groups(one) == groups(other)
    numbers = [node.members for node in one.of_kind("layer group")]
    assert numbers == [node.members for node in other.of_kind("layer group")]


def test_a_growing_state_is_a_variation_of_equal_layers():
    built = specimen("growing")
    (cat,) = built.operations("cat")
    stored = built.nodes[cat.outputs[0].tensor].tensor
    assert stored is not None
    assert stored.shape[1] == Varying(values=(2, 3, 4, 5))


def test_join_dimensions():
    dependent = DataDependent(name="rows", depends_on="where", bound=None)
    width = Symbolic(expression="d", value=3)
    assert join_dimensions([width, width]) == width
    assert join_dimensions([Constant(2), Constant(3)]) == Varying(values=(2, 3))
    assert join_dimensions([Constant(2), dependent]) == dependent
    assert join_dimensions([Constant(3), width]) == width


def test_an_axis_tells_layers_apart():
    assert groups(build(lambda sizes: kinds.Axes(sizes, [1, 2, 1, 2]))) == [[1, 3], [2, 4]]
    assert groups(build(lambda sizes: kinds.Axes(sizes, [-1, -1, -1]))) == [[1, 2, 3]]


def test_numbers_that_depend_on_values_tell_no_layers_apart():
    assert groups(build(lambda sizes: kinds.Counts(sizes, 5))) == [[1, 2, 3, 4, 5]]
