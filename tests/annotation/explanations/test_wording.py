"""Sentences of claims: verbs with their objects, what blocks do, conditions in words."""

from __future__ import annotations

import ast

import pytest

from openmodelatlas.annotation.counting import listed
from openmodelatlas.annotation.explanations.blocks import divisible
from openmodelatlas.annotation.explanations.code import Syntax
from openmodelatlas.annotation.explanations.rounding import rounded
from openmodelatlas.annotation.explanations.sentences import joined
from openmodelatlas.annotation.explanations.variants import choices
from openmodelatlas.annotation.explanations.verbs import noun_phrase, third_person


@pytest.mark.parametrize(
    ("phrases", "text"),
    [
        ([("computes", "the scores")], "computes the scores"),
        ([("splits", "the queries"), ("mixes", "the values")], "splits the queries and mixes the values"),
        (
            [("computes", "the scores"), ("computes", "the weights"), ("mixes", "the values")],
            "computes the scores and the weights, and mixes the values",
        ),
        (
            [("adds", "epsilon"), ("takes", "the root"), ("adds", "the bias")],
            "adds epsilon, takes the root and adds the bias",
        ),
    ],
)
def test_a_verb_that_is_repeated_is_said_once(phrases: list[tuple[str, str]], text: str) -> None:
    assert joined(phrases) == text


def test_lists() -> None:
    assert [listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])] == ["a", "a and b", "a, b and c"]


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Scores", "the scores"),
        ("RMSNorm of the queries", "RMSNorm of the queries"),
        ("No stored sums yet", "no stored sums yet"),
        ("Room for the keys", "room for the keys"),
    ],
)
def test_noun_phrases(title: str, text: str) -> None:
    assert noun_phrase(title) == text


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Where the keys are at most", "computes the where the keys are at most"),
        ("Mask to add", "computes the mask to add"),
        ("Dispatch tokens to this expert", "dispatches tokens to this expert"),
    ],
)
def test_what_only_looks_like_a_verb_is_none(title: str, text: str) -> None:
    assert third_person(title) == text


@pytest.mark.parametrize(
    ("test", "words"),
    [
        ("self.layer_idx % self.attn_res_block_size == 0", "its index is divisible by `attn_res_block_size`"),
        ("layer_idx % config.step == 0", "its index is divisible by `step`"),
        ("self.layer_idx % self.step == 1", None),
        ("self.width % self.step == 0", None),
        ("self.layer_idx // self.step == 0", None),
    ],
)
def test_a_condition_in_words(test: str, words: str | None) -> None:
    assert divisible(ast.parse(test, mode="eval").body) == words


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (33.94112549695428, "bfloat16", 34.0),
        (73.32121111929344, "bfloat16", 73.5),
        (1.00390625, "bfloat16", 1.0),  # a tie goes to even
        (1.01171875, "bfloat16", 1.015625),  # a tie, upwards
        (-33.94, "bfloat16", -34.0),
        (0.1, "float16", 0.0999755859375),
        (1.0, "float8_e4m3fn", None),
    ],
)
def test_numbers_in_narrower_types(value: float, dtype: str, expected: float | None) -> None:
    assert rounded(value, dtype) == expected


def test_rounding_is_torchs() -> None:
    torch = pytest.importorskip("torch")
    values = torch.randn(200, generator=torch.Generator().manual_seed(3), dtype=torch.float64) * 100
    for dtype in (torch.bfloat16, torch.float16, torch.float32):
        for value in values.tolist():
            number = torch.tensor(value, dtype=torch.float32)
            assert rounded(number.item(), str(dtype).removeprefix("torch.")) == number.to(dtype).item()


class _Text:
    def __init__(self, text: str) -> None:
        self._lines = text.splitlines()

    def value(self, key: str) -> None:
        raise AssertionError(key)

    def lines_of(self, file: str) -> list[str]:
        return self._lines


CONSTRUCTOR = """
class Layer:
    def __init__(self, config, number):
        self.norm = Norm(config)
        self.mlp = Sparse(config) if number >= config.dense else Dense(config)
        if number % 2:
            self.attention = Sliding(config)
        else:
            self.attention = Full(config)
"""


def test_choices_of_a_constructor() -> None:
    (constructor,) = Syntax(_Text(CONSTRUCTOR)).constructors("layer.py", "Layer")
    found = [
        (statement.lineno, ast.unparse(test), set(one), set(other))
        for statement, test, one, other in choices(constructor)
    ]
    assert found == [
        (5, "number >= config.dense", {("mlp", "Sparse")}, {("mlp", "Dense")}),
        (6, "number % 2", {("attention", "Sliding")}, {("attention", "Full")}),
    ]


def test_names_of_definitions() -> None:
    syntax = Syntax(_Text("import a\n\n\n@a.b\nclass C:\n    @a.c\n    def f(self):\n        def g(): ...\n"))
    assert [syntax.name_at("c.py", line) for line in (4, 5, 6, 8)] == ["C", None, "C.f", "C.f.g"]
