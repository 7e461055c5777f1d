"""Details that ports get wrong are visible: each on a page that is named, in a field that is named.

The numbers are those of the rows of the project's list of such details.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from tests.wants.conftest import Pages
from tests.wants.places import FIELDS, find


@dataclass(frozen=True)
class Detail:
    """One thing to be seen.

    Attributes:
        row: number in the list.
        model: registry name.
        place: what the page is of, see ``places.find``.
        field: where on the page.
        seen: regular expression that the field's text matches; dots match line breaks.
    """

    row: int
    model: str
    place: str
    field: str
    seen: str


K2, K3, LINEAR, OSS, GEMMA = "kimi-k2", "kimi-k3", "kimi-linear", "gpt-oss-120b", "gemma-3-27b"

DETAILS = (
    # 1: two arrows out of the score: choose with bias, weigh without.
    Detail(1, K2, "router", "inside", r"Add the correction bias \|[^\n]*reads Router scores\n"),
    Detail(1, K2, "router", "inside", r"Weights of the chosen experts \|[^\n]*reads Router scores, Keep the best 8"),
    Detail(
        1, K2, "router", "inside", r"Best 2 scores of each group \|[^\n]*topk\(2[^\n]*reads Add the correction bias"
    ),
    Detail(1, K2, "router", "inside", r"Score the groups \|[^\n]*sum\("),
    Detail(1, LINEAR, "router", "explanation", r"gathered from the scores before the bias"),
    # 2: the type at every operation, and the order.
    Detail(2, K2, "router", "inside", r"Router logits \|[^\n]*\| float32 \|"),
    Detail(2, K2, "router", "parameters", r"e_score_correction_bias \[384 E\] float32"),
    Detail(
        2,
        OSS,
        "router",
        "inside",
        r"Keep the best 4 of 128 experts \|.*\nWeights of the chosen experts \|[^\n]*softmax",
    ),
    Detail(2, OSS, "router", "inside", r"Weights of the chosen experts \|[^\n]*\[B·T, 4 k\]"),
    # 3: gather, divide, scale; the shared expert joins afterwards.
    Detail(
        3,
        K2,
        "router",
        "inside",
        r"Weights of the chosen.*Sum the expert weights.*1e-20.*Normalise the expert weights.*Scale the expert weights",
    ),
    Detail(3, K2, "router", "explanation", r"`self.routed_scaling_factor` is 2.827"),
    Detail(
        3, K2, "mixture of experts", "inside", r"Add the shared experts \|[^\n]*reads Routed experts, Shared experts"
    ),
    # 4: neighbouring pairs with real indices; one key for all heads.
    Detail(4, K2, "rotary-pairs", "formula", r"\w+_2i \S+ - \w+_2i\+1 \S+"),
    Detail(4, K2, "rotary-pairs", "explanation", r"pairs are neighbours \(2i, 2i \+ 1\)"),
    Detail(4, K2, "rotary-pairs", "in", r"\[B batch, 1, T positions, 64 d_rope\]"),
    # 5: both corrections of YaRN, each as a number and as a formula.
    Detail(5, K2, "yarn", "attributes", r"attention_scaling = 1.0"),
    Detail(5, K2, "yarn", "formula", r"a = \\fracm\(.*\)m\("),
    Detail(5, K2, "=layers/moe/self-attn", "explanation", r"`self.scaling` is 0.130861: `yarn_apply_mscale"),
    Detail(5, K2, "scaled-dot-product-attention", "formula", r"\\fracm\^2\\sqrt"),
    Detail(5, K2, "Scale the scores", "description", r"by \$\\frac\{1\.81326\}\{\\sqrt\{d_.*\}\}\$, 0\.130861 at the"),
    # 6: the place of epsilon in the L2 norm.
    Detail(6, LINEAR, "l2-norm", "formula", r"\\sqrt\\sum_j=1\^K .*\+ \\varepsilon"),
    Detail(6, LINEAR, "l2-norm", "explanation", r"10\^\{-6\}\$ is added to the sum, inside the root"),
    Detail(6, K3, "l2-norm", "explanation", r"10\^\{-6\}\$ is added to the sum, inside the root"),
    # 7: the pattern of the layers, the window, effective values of YaRN.
    Detail(
        7,
        OSS,
        "=layers",
        "layers",
        r"18 sliding attention blocks: layers 1, 3, 5.*18 full attention blocks: layers 2, 4",
    ),
    Detail(7, OSS, "=layers/sliding-attention/self-attn", "explanation", r"`self.sliding_window` is 128"),
    Detail(7, OSS, "yarn", "attributes", r"attention_scaling = 1.34657"),
    Detail(7, OSS, "yarn", "inside", r"Scale the cosines \|[^\n]*self.attention_scaling"),
    Detail(7, OSS, "yarn", "explanation", r"With `truncate` false the ends of the ramp are no whole pairs"),
    # 8: columns and bounds of the two branches.
    Detail(
        8,
        OSS,
        "clamped-swiglu",
        "inside",
        r"Even features[^\n]*\| gate_up\[\.\.\., ::2\].*\n[^\n]*gate_up\[\.\.\., 1::2\]",
    ),
    Detail(
        8,
        OSS,
        "clamped-swiglu",
        "inside",
        r"clamp\(min=None, max=self.limit\).*clamp\(min=-self.limit, max=self.limit\)",
    ),
    Detail(8, OSS, "clamped-swiglu", "explanation", r"cut off above 7 only; the up branch at -7 and 7"),
    Detail(8, OSS, "clamped-swiglu", "inside", r"\| up \+ 1 \|"),
    # 9: one column more, then dropped before the product with the values.
    Detail(9, OSS, "attention-sink", "inside", r"Softmax over the keys \|[^\n]*T positions, T \+ 1\]"),
    Detail(
        9,
        OSS,
        "attention-sink",
        "inside",
        r"Keep the weights used \|[^\n]*\[\.\.\., :-1\][^\n]*T positions, T positions\].*Mix",
    ),
    # 10: elements stored and used of the logarithm of the decay rate.
    Detail(10, K3, "bounded-decay", "parameters", r"A_log \[96 h_linear\] float32"),
    Detail(
        10,
        K3,
        "bounded-decay",
        "explanation",
        r"Checkpoints may hold more elements than heads; the surplus is not used",
    ),
    # 11: the two decays.
    Detail(11, K3, "bounded-decay", "formula", r"\\ell\S* \\sigma\S*\(e\^A ?(\\,|\\odot) \(\S+ \+ \S+\)"),
    Detail(11, K3, "bounded-decay", "verdict", r"^checked"),
    Detail(11, LINEAR, "softplus-decay", "formula", r"-e\^A \\odot \\log\S*\(1 \+ e\^"),
    Detail(11, LINEAR, "softplus-decay", "explanation", r"\$-e\^\{A\}\$ multiplies the softplus"),
    # 12: bounds of SiTU, widths on every edge, factored projections, no rotation.
    Detail(12, K3, "situ", "explanation", r"4 for the gate, 25 for the up branch"),
    Detail(12, K3, "mixture of experts", "inside", r"Expert latent projection \|[^\n]*\[B·T, 3584 d_r\]"),
    Detail(12, K3, "router", "in", r"\[B·T, 7168 d\]"),
    Detail(12, K3, "bounded-decay", "inside", r"Low-rank projection.*128.*self.f_b_proj"),
    Detail(
        12,
        K3,
        "=layers/first/*/self-attn",
        "inside",
        r"Output gate projection \|[^\n]*self.g_proj\(hidden_states\)",
    ),
    Detail(12, K3, "=layers/gated-latent-attention/*/self-attn", "explanation", r"there is no rotary embedding"),
    Detail(12, K3, "=layers/gated-latent-attention/*/self-attn", "formula", r"\\sigma\("),
    Detail(12, K3, "=layers/first/*/mlp/act-fn", "formula", r"tanh"),
    Detail(
        12,
        K3,
        "=layers/delta-attention/*/*/shared-experts/act-fn",
        "formula",
        r"tanh",
    ),
    Detail(
        12,
        K3,
        "=layers/delta-attention/*/*/routed-experts/*/*/act-fn",
        "formula",
        r"tanh",
    ),
    # 13: the state that lives across layers, with its growing shape.
    Detail(13, K3, "=layers/delta-attention-from-layer-13", "out", r"\[B batch, T positions, 2–8 by layer, 7168 d\]"),
    Detail(13, K3, "attention-residual-store", "out", r"\[B batch, T positions, (2–8 by layer|1), 7168 d\]"),
    # 14: which layers are dense, which are not, and how many.
    Detail(14, K2, "=layers", "layers", r"1 dense block: layer 1\n60 MoE blocks: layers 2–61"),
    Detail(14, K2, "=layers/dense", "claim", r"the first `first_k_dense_replace` blocks use"),
    Detail(14, LINEAR, "=layers", "layers", r"First layer: layer 1\n"),
    # 16: constants as used, with their type.
    Detail(
        16,
        GEMMA,
        "embedding-scale",
        "explanation",
        r"holds 73.3212: .*`hidden_size` = 5376 .* In bfloat16 that is 73.5",
    ),
    Detail(16, GEMMA, "=layers/full-attention/self-attn", "explanation", r"0.0771517.*`query_pre_attn_scalar` = 168"),
    # 17: the state's axes by name.
    Detail(17, LINEAR, "=layers/first", "explanation", r"batch, heads, key features, value features"),
    Detail(17, LINEAR, "Recurrent state", "explanation", r"batch, heads, key features, value features"),
    Detail(17, K3, "=layers/first", "explanation", r"batch, heads, key features, value features"),
)
CACHES = (
    Detail(0, K2, "=", "explanation", r"35,136 elements per token \(70,272 bytes in bfloat16\)"),
    Detail(0, K2, "=layers/moe", "explanation", r"576 elements per token .*: 512 of .* and 64 of "),
    Detail(
        0,
        OSS,
        "=",
        "explanation",
        r"73,728 bytes in bfloat16.* until the windows hold 127 tokens.*\(36,864 bytes in bfloat16",
    ),
    Detail(0, LINEAR, "=layers/first", "explanation", r"573,440 elements whatever the length"),
    Detail(0, GEMMA, "=layers/sliding-attention", "explanation", r"of the last 1,023 tokens only"),
)
"""Cache figures, which know the kinds of layers."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "detail", DETAILS + CACHES, ids=lambda item: f"{item.row}-{item.model}-{item.place}-{item.field}"
)
def test_the_detail_is_on_its_page(detail: Detail, pages_of: Pages) -> None:
    builder = pages_of(detail.model)
    places = find(builder, detail.place)
    assert places, f"{detail.model} has nothing called {detail.place}"
    texts = {address: FIELDS[detail.field](builder.page(builder.atlas[address])) for address in places}
    seen = [address for address, text in texts.items() if re.search(detail.seen, text, re.DOTALL)]
    assert seen, (
        f"row {detail.row}: {detail.seen!r} is in no {detail.field} of {places[:3]}:\n{texts[places[0]][:2000]}"
    )
    print(f"row {detail.row}: {detail.model}/{seen[0]} {detail.field}")


def test_every_row_that_concerns_a_registry_model_is_looked_for() -> None:
    # Row 15 is about GLM-4, which the registry does not have.
    assert {detail.row for detail in DETAILS} == set(range(1, 18)) - {15}
