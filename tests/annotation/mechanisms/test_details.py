"""Details that ports get wrong are said where they are, with the lines that prove them.

Each is a note of a mechanism, which is attached only where its numbers agree with the code's; or, for values at run
time, a number in it.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from openmodelatlas.annotation.annotate import annotate
from openmodelatlas.annotation.knowledge import Knowledge
from openmodelatlas.annotation.material import Material

DETAILS: tuple[tuple[str, str, str], ...] = (
    ("kimi-k2", "correction-bias", "gathered from the scores before the bias"),
    ("kimi-k2", "group-limited-choice", "sum of the two best scores, with the bias"),
    ("kimi-k2", "sigmoid-router", "in float32, even where the model runs in bfloat16"),
    ("kimi-k2", "correction-bias", "bias is kept in float32"),
    ("kimi-k2", "renormalised-weights", "Gather, divide, scale: in this order, each once."),
    ("kimi-k2", "renormalised-weights", "sum to 2.827; the shared expert is not scaled"),
    ("kimi-k2", "rotary-pairs", "pairs are neighbours (2i, 2i + 1)"),
    ("kimi-k2", "decoupled-rotary", "there is one such part, which all heads share"),
    ("kimi-k2", "multi-head-latent-attention", "holds the square of its factor"),
    ("kimi-linear", "correction-bias", "gathered from the scores before the bias"),
    ("kimi-linear", "l2-norm", "inside the root"),
    ("kimi-linear", "softplus-decay", "before the softplus"),
    ("gpt-oss-120b", "top-k-before-softmax", "logits enter the softmax, not all of them"),
    ("gpt-oss-120b", "sliding-window", "128"),
    ("gpt-oss-120b", "yarn", "`truncate` false"),
    ("gpt-oss-120b", "clamped-swiglu", "alternate, column by column"),
    ("gpt-oss-120b", "clamped-swiglu", "The gate is cut off above 7 only; the up branch at -7 and 7."),
    ("gpt-oss-120b", "clamped-swiglu", "one is added to the up branch"),
    ("gpt-oss-120b", "attention-sink", "one more column and is dropped before the product with the values"),
    ("kimi-k3", "bounded-decay", "Checkpoints may hold more elements than heads"),
    ("kimi-k3", "bounded-decay", "A softplus that is clamped afterwards is another function"),
    ("kimi-k3", "situ", "4 for the gate, 25 for the up branch"),
    ("kimi-k3", "latent-experts", "Only the routed experts read the latent"),
    ("kimi-k3", "attention-residual-mix", "only the keys are normalised"),
    ("gemma-3-27b", "embedding-scale", "rounded to the type of the weights"),
    ("gemma-3-27b", "rms-norm-one-plus", "before the cast back"),
)  # fmt: skip


@pytest.fixture(scope="session")
def knowledge_of(material_of: Callable[[str], Material]) -> Callable[[str], Knowledge]:
    known: dict[str, Knowledge] = {}

    def knowledge(model: str) -> Knowledge:
        if model not in known:
            known[model] = annotate(material_of(model))
        return known[model]

    return knowledge


@pytest.mark.slow
@pytest.mark.parametrize(("model", "mechanism", "words"), DETAILS)
def test_the_detail_is_said_on_the_page_of_its_mechanism(
    model: str, mechanism: str, words: str, knowledge_of: Callable[[str], Knowledge]
) -> None:
    said = [
        (address, statement)
        for address, node in knowledge_of(model).nodes.items()
        if mechanism in (node.mechanism, *node.mechanisms)
        for statement in node.explanation
        if words in statement.text
    ]
    assert said
    assert all(statement.lines for _, statement in said)
    print(f"{model} {said[0][0]} explanation: {words}")


FORMULAS: tuple[tuple[str, str, str], ...] = (
    ("kimi-k2", "multi-head-latent-attention", r"\operatorname{RoPE}"),
    ("kimi-k2", "multi-head-latent-attention", "multi-head-latent-attention-mask"),
    ("kimi-k2", "multi-head-latent-attention", "multi-head-latent-attention-past"),
    ("gemma-3-27b", "query-key-norm", "query-key-norm-offset"),
    ("gemma-3-27b", "final-norm", "final-norm-offset"),
    ("gemma-3-27b", "geglu", r"_{\tanh}"),
    ("gpt-oss-120b", "yarn", r"p(\htmlData{light=yarn-beta-fast}"),
    ("mamba2", "mamba2-state-space", r"\operatorname{clip}"),
)
"""What code does at a place and a formula is easily written without; a missing rotation leaves no trace in numbers."""


@pytest.mark.slow
@pytest.mark.parametrize(("model", "mechanism", "part"), FORMULAS)
def test_the_formula_says_what_the_code_does(
    model: str, mechanism: str, part: str, knowledge_of: Callable[[str], Knowledge]
) -> None:
    nodes = knowledge_of(model).nodes.values()
    formulas = [formula.latex for node in nodes for formula in node.formulas if formula.mechanism == mechanism]
    assert formulas
    assert any(part in latex for latex in formulas)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["kimi-k2", "gpt-oss-120b", "mamba2", "gemma-3-27b"])
def test_no_formula_has_one_letter_for_two_tensors(model: str, knowledge_of: Callable[[str], Knowledge]) -> None:
    for address, node in knowledge_of(model).nodes.items():
        for formula in node.formulas:
            letters: dict[str, set[str]] = {}
            for term in formula.terms:
                others = letters.setdefault(term.latex, set(term.addresses))
                assert not others or others & set(term.addresses), (address, term.latex)
