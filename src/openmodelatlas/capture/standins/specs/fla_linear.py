"""The linear-attention kernels of ``fla`` other than Kimi Delta Attention (fla-core 0.6.0)."""

from __future__ import annotations

from openmodelatlas.capture.standins.registry import KernelSpec, Symbol

GATED_DELTA = "Gated Delta Networks: Improving Mamba2 with Delta Rule, arXiv 2412.06464"
DELTA = "Parallelizing Linear Transformers with the Delta Rule over Sequence Length, arXiv 2406.06484"
GLA = "Gated Linear Attention Transformers with Hardware-Efficient Training, arXiv 2312.06635"
LINEAR = "Transformers are RNNs: Fast Autoregressive Transformers with Linear Attention, arXiv 2006.16236"

_QUERY = Symbol("q_t", "q", "query of token t", "[B, T, H, K]")
_KEY = Symbol("k_t", "k", "key of token t", "[B, T, H, K]")
_VALUE = Symbol("v_t", "v", "value of token t", "[B, T, HV, V]")
_BETA = Symbol(r"\beta_t", "beta", "write strength of token t, through a sigmoid if asked for", "[B, T, HV]")
_TAIL = (
    Symbol("s", "scale", "scale of the query, 1/√K unless given"),
    Symbol("S_t", "initial_state", "state after token t; S_0 is the initial state or zero", "[N, HV, K, V]"),
    Symbol("o_t", "output", "output at token t", "[B, T, HV, V]"),
    Symbol("S_T", "final_state", "state after the last token, in float32", "[N, HV, K, V]"),
)
_HEAD_DECAY = Symbol("g_t", "g", "logarithm of the decay of each head, or the gate's input", "[B, T, HV]")
_LOG_A = Symbol("A", "A_log", "logarithm of the gate's rate, one for a head", "[HV]")
_BIAS = Symbol("b", "dt_bias", "bias of the gate", "[HV]")
_ROWS = Symbol("g^K_t", "gk", "logarithm of the decay of each state row", "[B, T, HV, K]")
_COLUMNS = Symbol("g^V_t", "gv", "logarithm of the decay of each state column", "[B, T, HV, V]")

_WRITE = r"S_t = \tilde S_t + \beta_t\, k_t \left(v_t - \tilde S_t^{\top} k_t\right)^{\top}"
_READ = r"o_t = s\, S_t^{\top} q_t"
_GATE = r"\hat g_t = g_t \;\text{ or }\; -e^{A}\operatorname{softplus}(g_t+b)"

CHUNK_GATED_DELTA_RULE = KernelSpec(
    name="fla.ops.gated_delta_rule.chunk_gated_delta_rule",
    summary="Gated delta rule over whole sequences: a linear-attention state that decays by one factor for a head and "
    "is corrected towards each new key-value pair.",
    formula=rf"\tilde S_t = e^{{\hat g_t}} S_{{t-1}},\quad {_WRITE},\quad {_READ},\quad {_GATE}",
    symbols=(_QUERY, _KEY, _VALUE, _HEAD_DECAY, _BETA, _LOG_A, _BIAS, *_TAIL),
    source="fla-core 0.6.0, fla/ops/gated_delta_rule/chunk.py",
    reference=GATED_DELTA,
    aliases=(
        "fla.ops.gated_delta_rule.chunk.chunk_gated_delta_rule",
        "fla.ops.chunk_gated_delta_rule",
    ),
)

FUSED_RECURRENT_GATED_DELTA_RULE = KernelSpec(
    name="fla.ops.gated_delta_rule.fused_recurrent_gated_delta_rule",
    summary="Gated delta rule token by token, as used in decoding.",
    formula=r"\tilde S_t = e^{\hat g_t}\operatorname{diag}\left(e^{g^K_t}\right) S_{t-1}"
    rf"\operatorname{{diag}}\left(e^{{g^V_t}}\right),\quad {_WRITE},\quad {_READ},\quad {_GATE}",
    symbols=(_QUERY, _KEY, _VALUE, _HEAD_DECAY, _ROWS, _COLUMNS, _BETA, _LOG_A, _BIAS, *_TAIL),
    source="fla-core 0.6.0, fla/ops/gated_delta_rule/fused_recurrent.py and its kernel",
    reference=GATED_DELTA,
    aliases=(
        "fla.ops.gated_delta_rule.fused_recurrent.fused_recurrent_gated_delta_rule",
        "fla.ops.fused_recurrent_gated_delta_rule",
    ),
)

CHUNK_DELTA_RULE = KernelSpec(
    name="fla.ops.delta_rule.chunk_delta_rule",
    summary="Delta rule over whole sequences: a linear-attention state, corrected towards each new key-value pair.",
    formula=rf"\tilde S_t = S_{{t-1}},\quad {_WRITE},\quad {_READ}",
    symbols=(_QUERY, _KEY, _VALUE, _BETA, *_TAIL),
    source="fla-core 0.6.0, fla/ops/delta_rule/chunk.py",
    reference=DELTA,
    aliases=("fla.ops.delta_rule.chunk.chunk_delta_rule", "fla.ops.chunk_delta_rule"),
)

FUSED_RECURRENT_DELTA_RULE = KernelSpec(
    name="fla.ops.delta_rule.fused_recurrent_delta_rule",
    summary="Delta rule token by token, as used in decoding.",
    formula=rf"\tilde S_t = S_{{t-1}},\quad {_WRITE},\quad {_READ}",
    symbols=(_QUERY, _KEY, _VALUE, _BETA, *_TAIL),
    source="fla-core 0.6.0, fla/ops/delta_rule/fused_recurrent.py",
    reference=DELTA,
    aliases=("fla.ops.delta_rule.fused_recurrent.fused_recurrent_delta_rule", "fla.ops.fused_recurrent_delta_rule"),
)

_SIMPLE = rf"S_t = e^{{g_t+\gamma}} S_{{t-1}} + k_t v_t^{{\top}},\quad {_READ}"
_TOKEN_DECAY = Symbol("g_t", "g", "logarithm of the decay of each head at each token; none unless given", "[B, T, H]")
_CONSTANT_DECAY = Symbol(r"\gamma", "g_gamma", "logarithm of a decay of each head, the same for all tokens", "[H]")

CHUNK_SIMPLE_GLA = KernelSpec(
    name="fla.ops.simple_gla.chunk_simple_gla",
    summary="Linear attention whose state decays by one factor for a head, over whole sequences.",
    formula=_SIMPLE,
    symbols=(_QUERY, _KEY, _VALUE, _TOKEN_DECAY, _CONSTANT_DECAY, *_TAIL),
    source="fla-core 0.6.0, fla/ops/simple_gla/chunk.py",
    reference=GLA,
    aliases=("fla.ops.simple_gla.chunk.chunk_simple_gla", "fla.ops.chunk_simple_gla"),
)

FUSED_RECURRENT_SIMPLE_GLA = KernelSpec(
    name="fla.ops.simple_gla.fused_recurrent_simple_gla",
    summary="Linear attention whose state decays by one factor for a head, token by token.",
    formula=_SIMPLE,
    symbols=(_QUERY, _KEY, _VALUE, _TOKEN_DECAY, _CONSTANT_DECAY, *_TAIL),
    source="fla-core 0.6.0, fla/ops/simple_gla/fused_recurrent.py, fla/ops/common/fused_recurrent.py",
    reference=GLA,
    aliases=("fla.ops.simple_gla.fused_recurrent.fused_recurrent_simple_gla", "fla.ops.fused_recurrent_simple_gla"),
)

CHUNK_GLA = KernelSpec(
    name="fla.ops.gla.chunk_gla",
    summary="Gated linear attention over whole sequences: each row of the state decays at its own rate.",
    formula=rf"S_t = \operatorname{{diag}}\left(e^{{g_t}}\right) S_{{t-1}} + k_t v_t^{{\top}},\quad {_READ}",
    symbols=(
        _QUERY,
        _KEY,
        _VALUE,
        Symbol("g_t", "g", "logarithm of the decay of each state row", "[B, T, H, K]"),
        *_TAIL,
    ),
    source="fla-core 0.6.0, fla/ops/gla/chunk.py",
    reference=GLA,
    aliases=("fla.ops.gla.chunk.chunk_gla", "fla.ops.chunk_gla"),
)

FUSED_RECURRENT_GLA = KernelSpec(
    name="fla.ops.gla.fused_recurrent_gla",
    summary="Gated linear attention token by token.",
    formula=r"S_t = \operatorname{diag}\left(e^{g^K_t}\right) S_{t-1}\operatorname{diag}\left(e^{g^V_t}\right)"
    rf" + k_t v_t^{{\top}},\quad {_READ}",
    symbols=(_QUERY, _KEY, _VALUE, _ROWS, _COLUMNS, *_TAIL),
    source="fla-core 0.6.0, fla/ops/gla/fused_recurrent.py, fla/ops/common/fused_recurrent.py",
    reference=GLA,
    aliases=("fla.ops.gla.fused_recurrent.fused_recurrent_gla", "fla.ops.fused_recurrent_gla"),
)

_PLAIN = rf"S_t = S_{{t-1}} + k_t v_t^{{\top}},\quad {_READ} \;\text{{ or }}\;"
_PLAIN += r" o_t = \frac{S_t^{\top} q_t}{q_t\cdot\sum_{j\le t} k_j}"
_NORMALISE = Symbol(r"\text{ or }", "normalize", "whether the output is divided by the query's product with all keys")

CHUNK_LINEAR_ATTN = KernelSpec(
    name="fla.ops.linear_attn.chunk_linear_attn",
    summary="Linear attention over whole sequences: a state to which every token adds its key-value product.",
    formula=_PLAIN,
    symbols=(_QUERY, _KEY, _VALUE, _NORMALISE, *_TAIL),
    source="fla-core 0.6.0, fla/ops/linear_attn/chunk.py",
    reference=LINEAR,
    aliases=("fla.ops.linear_attn.chunk.chunk_linear_attn", "fla.ops.chunk_linear_attn"),
)

FUSED_RECURRENT_LINEAR_ATTN = KernelSpec(
    name="fla.ops.linear_attn.fused_recurrent_linear_attn",
    summary="Linear attention token by token.",
    formula=_PLAIN,
    symbols=(_QUERY, _KEY, _VALUE, _NORMALISE, *_TAIL),
    source="fla-core 0.6.0, fla/ops/linear_attn/fused_recurrent.py",
    reference=LINEAR,
    aliases=("fla.ops.linear_attn.fused_recurrent.fused_recurrent_linear_attn", "fla.ops.fused_recurrent_linear_attn"),
)
