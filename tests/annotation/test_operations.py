"""The operation table: sentences with their arguments filled in, for names as the recorder gives them."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from openmodelatlas.annotation.kernel_specs import specs
from openmodelatlas.annotation.operation_table import ALIASES, OPERATIONS, SPECIAL
from openmodelatlas.annotation.operations import argument_text, describe_operation, name_arguments, operation_name

AXES = ("B batch", "T positions", "7168 d")


@pytest.mark.parametrize(
    ("function", "arguments", "sentence"),
    [
        (
            "torch.nn.functional.softmax",
            {"dim": -1, "dtype": {"dtype": "float32"}},
            "Turns the values along the last axis (7168 d) into positive weights that sum to 1, computed in float32.",
        ),
        ("torch.softmax", {}, "Turns the values into positive weights that sum to 1."),
        ("torch.Tensor.__add__", {}, "Adds its inputs element by element."),
        ("torch.Tensor.__radd__", {"1": 1e-20}, "Adds 1e-20 to every element."),
        ("torch.Tensor.__rsub__", {"1": 1}, "Subtracts every element from 1."),
        (
            "torch.Tensor.__itruediv__",
            {},
            "Divides the first input by the second, element by element. The result is written into the first input.",
        ),
        ("torch.Tensor.transpose", {"1": 1, "2": 2}, "Swaps axis 1 (T positions) and axis 2 (7168 d)."),
        (
            "torch.Tensor.__getitem__",
            {"1": {"list": [{"ellipsis": True}, {"slice": [0, None, 2]}]}},
            "Takes a part of its input: `[..., 0::2]`.",
        ),
        ("torch.Tensor.permute", {"1": 2, "2": 0, "3": 1}, "Puts the axes in another order: (2, 0, 1)."),
        ("torch.Tensor.sum", {"dim": {"list": [-1, 0]}}, "Sums along the last axis (7168 d) and axis 0 (B batch)."),
        ("torch.cat", {"dim": -1}, "Joins its inputs along the last axis."),
        ("torch.Tensor.__bool__", {}, "Reads its only element as true or false."),
        ("package.unknown_kernel", {"scale": 2}, "Runs `package.unknown_kernel`."),
        ("fla.modules.l2norm.l2norm", {}, specs()["fla.modules.l2norm.l2norm"].summary),
        ("torch.Tensor.expand", {"1": 3, "2": -1}, "Repeats along axes of size 1 without copying."),
    ],
)
def test_sentences(function: str, arguments: dict[str, Any], sentence: str) -> None:
    assert describe_operation(function, arguments, AXES) == sentence


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_every_sentence_is_whole_without_arguments(name: str) -> None:
    sentence = describe_operation(f"torch.{name}", {})
    assert sentence.endswith(".")
    assert not re.search(r"[{}\[\]|\0]|  ", sentence)


# What Python calls by itself, and names that only our own normalisation makes.
_OURS = {"truth", "clamp_minimum", "clamp_maximum", "transpose_matrix", "setitem", "getitem", "truediv", "floordiv"}
_OURS |= {"rsub", "rtruediv", "rdiv", "rpow", "rfloordiv", "rmatmul", "mod", "invert", "special_expit", "permute_dims"}
_OURS |= {"rmod", "conjugate_transpose"}


@pytest.mark.parametrize("name", sorted({*OPERATIONS, *ALIASES} - _OURS))
def test_every_name_is_one_of_torch(name: str) -> None:
    places = (torch, torch.Tensor, torch.nn.functional, torch.linalg, torch.special)
    names = (name, f"__{name}__", f"{name}_")
    assert any(hasattr(place, spelling) for place in places for spelling in names)


def test_aliases_lead_to_sentences() -> None:
    assert {*ALIASES.values(), *SPECIAL.values()} <= set(OPERATIONS)


def test_sizes_are_written_as_the_model_has_them() -> None:
    solved = {"size": "num_experts_per_tok", "value": 8}
    sentence = describe_operation("torch.topk", {"k": solved, "dim": -1}, ("B·T", "384 E"))
    assert sentence == "Takes the 8 largest values along the last axis (384 E), and where they are."
    shape = {"list": [{"size": "B*T", "value": None}, -1, {"probe": 7}]}
    assert argument_text(shape) == "(B·T, -1, 7 in the probe)"


def test_positions_get_names() -> None:
    assert name_arguments("torch.Tensor.topk", {"1": 8, "dim": -1}) == {"k": 8, "dim": -1}
    assert name_arguments("torch.Tensor.view", {"1": 3, "2": -1}) == {"shape": {"list": [3, -1]}}
    assert name_arguments("unknown.kernel", {"1": 3}) == {"1": 3}


_PLAIN = st.none() | st.booleans() | st.integers() | st.text()
_ENCODED = st.recursive(_PLAIN, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner))


@given(_ENCODED)
def test_any_argument_can_be_written(value: Any) -> None:
    assert isinstance(argument_text(value), str)
    assert describe_operation("torch.Tensor.topk", {"1": value, "dim": value}, AXES).startswith("Takes the ")


@given(st.text(max_size=30))
def test_any_name_can_be_read(function: str) -> None:
    name, _ = operation_name(function)
    assert isinstance(name, str)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"min": 0.0, "max": {"float": "inf"}}, "Keeps every element within bounds, at least 0.0."),
        ({"min": {"float": "-inf"}, "max": 7.0}, "Keeps every element within bounds, at most 7.0."),
        ({"min": -7.0, "max": 7.0}, "Keeps every element within bounds, at least −7.0, at most 7.0."),
    ],
)
def test_a_bound_that_bounds_nothing_is_not_told(arguments: dict[str, object], sentence: str) -> None:
    assert describe_operation("torch.clamp", arguments) == sentence


def test_what_a_mask_puts_is_told_also_where_it_is_infinite() -> None:
    assert "-inf" in (describe_operation("torch.Tensor.masked_fill", {"value": {"float": "-inf"}}) or "")
