"""Walking encoded values: what is a tensor in them, and what only looks like one."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from openmodelatlas.capture import encoded

NAMES = st.sampled_from(["tensor", "list", "dict", "slice", "length", "value", "x", ""])
TENSORS = st.builds(lambda number: {"tensor": number}, st.integers(0, 9))
LEAVES = st.one_of(
    TENSORS,
    st.none(),
    st.booleans(),
    st.integers(),
    st.text(max_size=3),
    st.builds(lambda name: {"object": name}, NAMES),
    st.builds(lambda name: {"module": name}, NAMES),
    st.just({"ellipsis": True}),
)


def collections(parts: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(
        st.builds(lambda items: {"list": items}, st.lists(parts, max_size=3)),
        st.builds(lambda items: {"list": items, "length": 99}, st.lists(parts, max_size=3)),
        st.builds(lambda items: {"dict": items}, st.dictionaries(NAMES, parts, max_size=3)),
        st.builds(lambda items: {"slice": items}, st.lists(parts, min_size=3, max_size=3)),
    )


VALUES = st.recursive(LEAVES, collections, max_leaves=12)


def leaves(value: Any) -> list[Any]:
    """Everything in an encoded value that holds nothing, in order."""
    if isinstance(value, dict):
        for kind in ("list", "slice"):
            if kind in value:
                return [leaf for part in value[kind] for leaf in leaves(part)]
        if "dict" in value:
            return [leaf for part in value["dict"].values() for leaf in leaves(part)]
    return [value]


@given(VALUES)
def test_tensors_are_those_leaves_that_are_tensors(value: Any) -> None:
    assert list(encoded.tensors(value)) == [
        leaf["tensor"] for leaf in leaves(value) if isinstance(leaf, dict) and "tensor" in leaf
    ]


@given(VALUES)
def test_replacing_changes_tensors_and_nothing_else(value: Any) -> None:
    assert encoded.replaced(value, lambda tensor: tensor) == value
    changed = encoded.replaced(value, lambda tensor: {"tensor": f"t{tensor['tensor']}", "value": None})
    assert list(encoded.tensors(changed)) == [f"t{number}" for number in encoded.tensors(value)]
    assert [leaf for leaf in leaves(changed) if not (isinstance(leaf, dict) and "tensor" in leaf)] == [
        leaf for leaf in leaves(value) if not (isinstance(leaf, dict) and "tensor" in leaf)
    ]


@given(VALUES, st.permutations(range(10)))
def test_numbers_are_looked_up(value: Any, numbers: list[int]) -> None:
    there = encoded.numbered(value, numbers)
    assert list(encoded.tensors(there)) == [numbers[number] for number in encoded.tensors(value)]
    back = {new: old for old, new in enumerate(numbers)}
    assert encoded.numbered(there, back) == value
