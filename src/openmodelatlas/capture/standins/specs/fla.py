"""Kernels of ``fla`` (flash-linear-attention 0.6.0, whose kernels live in fla-core 0.6.0)."""

from __future__ import annotations

from openmodelatlas.capture.standins.registry import KernelSpec, Symbol

KIMI_LINEAR = "Kimi Linear: An Expressive, Efficient Attention Architecture, arXiv 2510.26692, section 3"

_QUERY = Symbol(r"q_t", "q", "query of token t", "[B, T, H, K]")
_KEY = Symbol(r"k_t", "k", "key of token t", "[B, T, H, K]")
_VALUE = Symbol(r"v_t", "v", "value of token t", "[B, T, HV, V]")
_BETA = Symbol(r"\beta_t", "beta", "write strength of token t, through a sigmoid if asked for", "[B, T, HV]")
_SCALE = Symbol(r"s", "scale", "scale of the query, 1/√K unless given")
_STATE = Symbol(r"S_t", "initial_state", "state after token t; S_0 is the initial state or zero", "[N, HV, K, V]")
_OUTPUT = Symbol(r"o_t", "output", "output at token t", "[B, T, HV, V]")
_FINAL = Symbol(r"S_T", "final_state", "state after the last token, in float32", "[N, HV, K, V]")
_DECAY = Symbol(r"g_t", "g", "logarithm of the decay of each state row, or the gate's input", "[B, T, HV, K]")
_LOG_A = Symbol(r"A", "A_log", "logarithm of the gate's rate, one for a head", "[HV]")
_BIAS = Symbol(r"b", "dt_bias", "bias of the gate", "[HV·K]")
_BOUND = Symbol(r"\ell", "lower_bound", "least logarithm of the decay; without it the decay is not bounded")

_KDA_SYMBOLS = (_QUERY, _KEY, _VALUE, _DECAY, _BETA, _LOG_A, _BIAS, _BOUND, _SCALE, _STATE, _OUTPUT, _FINAL)

_KDA_FORMULA = (
    r"\begin{aligned}"
    r"\tilde S_t &= \operatorname{diag}\left(e^{\hat g_t}\right) S_{t-1}\\"
    r"S_t &= \tilde S_t + \beta_t\, k_t \left(v_t - \tilde S_t^{\top} k_t\right)^{\top}\\"
    r"o_t &= s\, S_t^{\top} q_t\\"
    r"\hat g_t &= g_t \;\text{ or }\; \ell\,\sigma\!\left(e^{A}(g_t+b)\right) \;\text{ or }\;"
    r" -e^{A}\operatorname{softplus}(g_t+b)"
    r"\end{aligned}"
)

CHUNK_KDA = KernelSpec(
    name="fla.ops.kda.chunk_kda",
    summary="Kimi Delta Attention over whole sequences: a linear-attention state whose rows decay each at its own "
    "rate and which is corrected towards each new key-value pair.",
    formula=_KDA_FORMULA,
    symbols=_KDA_SYMBOLS,
    source="fla-core 0.6.0, fla/ops/kda/chunk.py chunk_kda, chunk_fwd.py chunk_kda_fwd, gate.py",
    reference=KIMI_LINEAR,
    aliases=("fla.ops.kda.chunk.chunk_kda", "fla.ops.chunk_kda"),
)

FUSED_RECURRENT_KDA = KernelSpec(
    name="fla.ops.kda.fused_recurrent_kda",
    summary="Kimi Delta Attention token by token, as used in decoding; the same computation as its chunked form.",
    formula=_KDA_FORMULA,
    symbols=_KDA_SYMBOLS,
    source="fla-core 0.6.0, fla/ops/kda/fused_recurrent.py fused_recurrent_kda and its kernel",
    reference=KIMI_LINEAR,
    aliases=("fla.ops.kda.fused_recurrent.fused_recurrent_kda", "fla.ops.fused_recurrent_kda"),
)

FUSED_KDA_GATE = KernelSpec(
    name="fla.ops.kda.gate.fused_kda_gate",
    summary="Turns the gate's input into the logarithm of the decay of Kimi Delta Attention.",
    formula=r"\hat g = -e^{A}\operatorname{softplus}(g+b) \;\text{ or }\; \ell\,\sigma\!\left(e^{A}(g+b)\right)",
    symbols=(
        Symbol("g", "g", "input of the gate", "[…, H, K]"),
        Symbol("A", "A_log", "logarithm of the gate's rate, one for a head", "[H]"),
        Symbol("b", "dt_bias", "bias of the gate", "[H·K]"),
        _BOUND,
        Symbol(r"\hat g", "output", "logarithm of the decay", "[…, H, K]"),
    ),
    source="fla-core 0.6.0, fla/ops/kda/gate.py fused_kda_gate; call with head_k_dim: fla-core 0.4.0, same file",
    reference=KIMI_LINEAR,
)

_CONVOLUTION_FORMULA = r"y_{t,d} = f\!\left(\sum_{j=0}^{W-1} w_{d,j}\, x_{t-W+1+j,\,d} + b_d\right) + r_{t,d}"
_CONVOLUTION_SYMBOLS = (
    Symbol("x", "x", "input; before the first token: the cache or zeros", "[B, T, D]"),
    Symbol("w", "weight", "kernel, one for a channel; its last element meets the present token", "[D, W]"),
    Symbol("b", "bias", "bias of the channel, if there is one", "[D]"),
    Symbol("f", "activation", "SiLU, or the identity"),
    Symbol("r", "residual", "added after the activation, if given", "[B, T, D]"),
    Symbol("y", "output", "output", "[B, T, D]"),
)
_FINAL_INPUTS = Symbol(r"x_{T-W+1..T}", "final_state", "the last W inputs of each sequence", "[N, D, W]")

CAUSAL_CONV1D = KernelSpec(
    name="fla.modules.convolution.causal_conv1d",
    summary="Short causal convolution along the tokens, each channel on its own.",
    formula=_CONVOLUTION_FORMULA,
    symbols=(
        *_CONVOLUTION_SYMBOLS,
        Symbol(r"x_{\le 0}", "initial_state", "inputs before the first token", "[N, D, W]"),
        _FINAL_INPUTS,
    ),
    source="fla-core 0.6.0, fla/modules/causal_conv1d/ops.py causal_conv1d and its kernels",
    aliases=("fla.modules.causal_conv1d.causal_conv1d", "fla.modules.conv.causal_conv1d"),
)

CAUSAL_CONV1D_UPDATE = KernelSpec(
    name="fla.modules.convolution.causal_conv1d_update",
    summary="One token of the short causal convolution: shifts the cache by one, writes the token, convolves.",
    formula=_CONVOLUTION_FORMULA,
    symbols=(*_CONVOLUTION_SYMBOLS, Symbol(r"x_{T-W+1..T}", "cache", "the last W inputs, updated", "[N, D, W]")),
    source="fla-core 0.6.0, fla/modules/causal_conv1d/ops.py causal_conv1d_update and its kernel",
    aliases=("fla.modules.causal_conv1d.causal_conv1d_update",),
    mutates=("cache",),
)

SHORT_CONVOLUTION = KernelSpec(
    name="fla.modules.ShortConvolution",
    summary="Short causal convolution along the tokens, each channel on its own, with its cache for decoding.",
    formula=_CONVOLUTION_FORMULA + r",\quad x_t \leftarrow m_t x_t \text{ first, if masked}",
    symbols=(
        *_CONVOLUTION_SYMBOLS,
        Symbol(r"x_{\le 0}", "cache", "inputs before the first token", "[N, D, W]"),
        Symbol("m_t", "mask", "tokens that count; the input is multiplied by it first", "[B, T]"),
        _FINAL_INPUTS,
    ),
    source="fla-core 0.6.0, fla/modules/causal_conv1d/ops.py ShortConvolution.forward and step",
    mutates=("cache", "x"),
)

_NORM_INPUT = Symbol("x", "x", "input; plus the residual, if given", "[…, D]")
_NORM_TAIL = (
    Symbol("w", "weight", "gain, one for a feature", "[D]"),
    Symbol("b", "bias", "bias, if there is one", "[D]"),
    Symbol(r"\epsilon", "eps", "keeps the root away from zero"),
    Symbol("y", "output", "output", "[…, D]"),
)
_RMS = r"\frac{x}{\sqrt{\frac1D\sum_i x_i^2+\epsilon}}\odot w + b"
_CENTRED = r"\frac{x-\bar x}{\sqrt{\frac1D\sum_i (x_i-\bar x)^2+\epsilon}}\odot w + b"
_GATE = Symbol("z", "g", "gate", "[…, D]")
_GATE_FUNCTION = Symbol("f", "activation", "SiLU or sigmoid")

RMS_NORM_GATED = KernelSpec(
    name="fla.modules.fused_norm_gate.rms_norm_gated",
    summary="Root-mean-square norm in float32, then a multiplication by an activated gate.",
    formula=rf"y = \left({_RMS}\right)\odot f(z)",
    symbols=(_NORM_INPUT, _GATE, _GATE_FUNCTION, *_NORM_TAIL),
    source="fla-core 0.6.0, fla/modules/norm/fused_norm_gate.py rms_norm_gated, layer_norm_gated_fwd and kernel",
    aliases=("fla.modules.norm.fused_norm_gate.rms_norm_gated",),
)

LAYER_NORM_GATED = KernelSpec(
    name="fla.modules.fused_norm_gate.layer_norm_gated",
    summary="Layer norm in float32, then a multiplication by an activated gate.",
    formula=rf"y = \left({_CENTRED}\right)\odot f(z)",
    symbols=(_NORM_INPUT, _GATE, _GATE_FUNCTION, *_NORM_TAIL),
    source="fla-core 0.6.0, fla/modules/norm/fused_norm_gate.py layer_norm_gated, layer_norm_gated_fwd and kernel",
    aliases=("fla.modules.norm.fused_norm_gate.layer_norm_gated",),
)

RMS_NORM = KernelSpec(
    name="fla.modules.layernorm.rms_norm",
    summary="Root-mean-square norm in float32.",
    formula=f"y = {_RMS}",
    symbols=(_NORM_INPUT, *_NORM_TAIL),
    source="fla-core 0.6.0, fla/modules/norm/layernorm.py rms_norm, layer_norm_fwd and kernel",
    aliases=("fla.modules.norm.layernorm.rms_norm",),
)

LAYER_NORM = KernelSpec(
    name="fla.modules.layernorm.layer_norm",
    summary="Layer norm in float32.",
    formula=f"y = {_CENTRED}",
    symbols=(_NORM_INPUT, *_NORM_TAIL),
    source="fla-core 0.6.0, fla/modules/norm/layernorm.py layer_norm, layer_norm_fwd and kernel",
    aliases=("fla.modules.norm.layernorm.layer_norm",),
)

L2NORM = KernelSpec(
    name="fla.modules.l2norm.l2norm",
    summary="Divides each vector by its length, in float32.",
    formula=r"y = \frac{x}{\sqrt{\sum_i x_i^2+\epsilon}}",
    symbols=(
        Symbol("x", "x", "input", "[…, D]"),
        Symbol(r"\epsilon", "eps", "keeps the root away from zero"),
        Symbol("y", "output", "output", "[…, D]"),
    ),
    source="fla-core 0.6.0, fla/modules/norm/l2norm.py l2norm and its kernel",
    aliases=("fla.modules.l2norm.l2_norm", "fla.modules.norm.l2norm.l2norm"),
)

_MASK = Symbol("m", "mask", "1 or True for tokens, 0 for padding", "[B, T]")

PREPARE_LENS_FROM_MASK = KernelSpec(
    name="fla.ops.utils.index.prepare_lens_from_mask",
    summary="Counts the tokens of each sequence of a padded batch.",
    formula=r"n_b = \sum_t m_{b,t}",
    symbols=(_MASK, Symbol("n", "output", "tokens of each sequence, int32", "[B]")),
    source="fla-core 0.6.0, fla/ops/utils/index.py",
    aliases=("fla.ops.utils.prepare_lens_from_mask",),
)

PREPARE_CU_SEQLENS_FROM_MASK = KernelSpec(
    name="fla.ops.utils.index.prepare_cu_seqlens_from_mask",
    summary="Finds where each sequence of a padded batch starts when the batch is packed without padding.",
    formula=r"c_0 = 0,\quad c_b = c_{b-1} + \sum_t m_{b,t}",
    symbols=(_MASK, Symbol("c", "output", "starts of the packed sequences, and the end", "[B+1]")),
    source="fla-core 0.6.0, fla/ops/utils/index.py",
    aliases=("fla.ops.utils.prepare_cu_seqlens_from_mask",),
)

PREPARE_LENS = KernelSpec(
    name="fla.ops.utils.index.prepare_lens",
    summary="Lengths of packed sequences from their starts.",
    formula=r"n_b = c_b - c_{b-1}",
    symbols=(
        Symbol("c", "cu_seqlens", "starts of the packed sequences, and the end", "[N+1]"),
        Symbol("n", "output", "tokens of each sequence", "[N]"),
    ),
    source="fla-core 0.6.0, fla/ops/utils/index.py",
    aliases=("fla.ops.utils.prepare_lens",),
)

PREPARE_CU_SEQLENS_FROM_LENS = KernelSpec(
    name="fla.ops.utils.index.prepare_cu_seqlens_from_lens",
    summary="Starts of packed sequences from their lengths.",
    formula=r"c_0 = 0,\quad c_b = c_{b-1} + n_b",
    symbols=(
        Symbol("n", "lens", "tokens of each sequence", "[N]"),
        Symbol("c", "output", "starts of the packed sequences, and the end", "[N+1]"),
    ),
    source="fla-core 0.6.0, fla/ops/utils/index.py",
    aliases=("fla.ops.utils.prepare_cu_seqlens_from_lens",),
)

PREPARE_POSITION_IDS = KernelSpec(
    name="fla.ops.utils.index.prepare_position_ids",
    summary="Position of each packed token within its own sequence.",
    formula=r"p_i = i - \max\{c_b : c_b \le i\}",
    symbols=(
        Symbol("c", "cu_seqlens", "starts of the packed sequences, and the end", "[N+1]"),
        Symbol("p", "output", "positions", "[T]"),
    ),
    source="fla-core 0.6.0, fla/ops/utils/index.py",
    aliases=("fla.ops.utils.prepare_position_ids",),
)

GET_UNPAD_DATA = KernelSpec(
    name="fla.layers.utils.get_unpad_data",
    summary="Where the tokens of a padded batch are, and where its sequences start when it is packed.",
    formula=r"I = \{bT+t : m_{b,t}\ne 0\},\quad c_b = c_{b-1}+\sum_t m_{b,t},\quad n = \max_b \sum_t m_{b,t}",
    symbols=(
        Symbol("m", "attention_mask", "1 or True for tokens, 0 for padding", "[B, T]"),
        Symbol("I", "output", "indices of the tokens in the flattened batch", "[tokens]"),
        Symbol("c", "output", "starts of the packed sequences, and the end", "[B+1]"),
        Symbol("n", "output", "longest sequence"),
    ),
    source="flash-linear-attention 0.6.0, fla/layers/utils.py",
)

INDEX_FIRST_AXIS = KernelSpec(
    name="fla.layers.utils.index_first_axis",
    summary="Takes the tokens out of a flattened padded batch.",
    formula=r"y_i = x_{I_i}",
    symbols=(
        Symbol("x", "x", "flattened batch", "[B·T, …]"),
        Symbol("I", "indices", "indices of the tokens", "[tokens]"),
        Symbol("y", "output", "packed tokens", "[tokens, …]"),
    ),
    source="flash-linear-attention 0.6.0, fla/layers/utils.py",
)

INDEX_PUT_FIRST_AXIS = KernelSpec(
    name="fla.layers.utils.index_put_first_axis",
    summary="Puts packed tokens back where they were in the flattened padded batch; padding becomes zero.",
    formula=r"y_{I_i} = x_i,\quad y_j = 0 \text{ elsewhere}",
    symbols=(
        Symbol("x", "x", "packed tokens", "[tokens, …]"),
        Symbol("I", "indices", "indices of the tokens", "[tokens]"),
        Symbol("y", "output", "flattened batch", "[B·T, …]"),
    ),
    source="flash-linear-attention 0.6.0, fla/layers/utils.py",
)

PAD_INPUT = KernelSpec(
    name="fla.layers.utils.pad_input",
    summary="Puts packed tokens back into the padded batch; padding becomes zero.",
    formula=r"y_{\lfloor I_i/T\rfloor,\; I_i \bmod T} = x_i,\quad y = 0 \text{ elsewhere}",
    symbols=(
        Symbol("x", "hidden_states", "packed tokens", "[tokens, …]"),
        Symbol("I", "indices", "indices of the tokens in the flattened batch", "[tokens]"),
        Symbol("y", "output", "padded batch", "[B, T, …]"),
    ),
    source="flash-linear-attention 0.6.0, fla/layers/utils.py",
)

UNPAD_INPUT = KernelSpec(
    name="fla.layers.utils.unpad_input",
    summary="Packs queries and states of a padded batch without their padding.",
    formula=r"q'_i = q_{I_i},\quad s'_i = s_{I_i}",
    symbols=(
        Symbol("q", "q", "queries", "[B, T, …]"),
        Symbol("s", "states", "keys, values or other states", "[B, T', …]"),
        Symbol("I", "attention_mask", "indices of the tokens that the mask keeps", "[B, T']"),
        Symbol("q', s'", "output", "packed tokens", "[tokens, …]"),
    ),
    source="flash-linear-attention 0.6.0, fla/layers/utils.py",
)
