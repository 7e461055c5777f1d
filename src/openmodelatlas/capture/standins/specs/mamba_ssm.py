"""Kernels of ``mamba_ssm`` 2.3.2."""

from __future__ import annotations

from openmodelatlas.capture.standins.registry import KernelSpec, Symbol

MAMBA = "Mamba: Linear-Time Sequence Modeling with Selective State Spaces, arXiv 2312.00752, section 3"
MAMBA2 = "Transformers are SSMs (Mamba-2), arXiv 2405.21060, sections 3 and 7"

_RECURRENCE = (
    r"\begin{aligned}"
    r"h_t &= e^{\delta_t A}\odot h_{t-1} + \delta_t\, x_t\, B_t^{\top}\\"
    r"y_t &= \left(h_t C_t + D\odot x_t\right)\odot\operatorname{SiLU}(z_t)\\"
    r"\delta_t &= d_t + b_\delta \;\text{ or }\; \operatorname{softplus}(d_t + b_\delta)"
    r"\end{aligned}"
)

SELECTIVE_SCAN = KernelSpec(
    name="mamba_ssm.ops.selective_scan_interface.selective_scan_fn",
    summary="Mamba's selective state space along the tokens: each channel keeps N numbers, whose decay and input "
    "depend on the token.",
    formula=_RECURRENCE,
    symbols=(
        Symbol("x_t", "u", "input", "[B, D, T]"),
        Symbol("d_t", "delta", "step, before its bias and, if asked for, a softplus", "[B, D, T]"),
        Symbol("A", "A", "rate of decay, negative", "[D, N]"),
        Symbol("B_t", "B", "how the input enters the state", "[D, N], [B, N, T] or [B, G, N, T]"),
        Symbol("C_t", "C", "how the output reads the state", "[D, N], [B, N, T] or [B, G, N, T]"),
        Symbol("D", "D", "weight of the input itself in the output", "[D]"),
        Symbol("z_t", "z", "gate; without it no gate is applied", "[B, D, T]"),
        Symbol(r"b_\delta", "delta_bias", "bias of the step", "[D]"),
        Symbol("y_t", "output", "output", "[B, D, T]"),
        Symbol("h_T", "final_state", "state after the last token, if asked for", "[B, D, N]"),
    ),
    source="mamba-ssm 2.3.2, mamba_ssm/ops/selective_scan_interface.py selective_scan_fn, selective_scan_ref",
    reference=MAMBA,
    aliases=("mamba_ssm.selective_scan_fn",),
)

MAMBA_INNER = KernelSpec(
    name="mamba_ssm.ops.selective_scan_interface.mamba_inner_fn",
    summary="A whole Mamba mixer after its input projection: short convolution, projections of step, B and C, "
    "selective scan, gate, output projection.",
    formula=r"\begin{aligned}"
    r"(x, z) &= \operatorname{split}(u),\quad x' = \operatorname{SiLU}(\operatorname{conv}(x))\\"
    r"(\rho, B, C) &= W_x x',\quad \delta = \operatorname{softplus}(W_\delta\rho + b_\delta)\\"
    r"o &= W_o\,\operatorname{scan}(x', \delta, A, B, C, D, z) + b_o"
    r"\end{aligned}",
    symbols=(
        Symbol("u", "xz", "input and gate", "[B, 2D, T]"),
        Symbol(r"\operatorname{conv}", "conv1d_weight", "kernel of the short convolution", "[D, 1, W]"),
        Symbol("W_x", "x_proj_weight", "projection to step, B and C", "[R+2N, D]"),
        Symbol(r"W_\delta", "delta_proj_weight", "projection of the step", "[D, R]"),
        Symbol("W_o", "out_proj_weight", "output projection", "[M, D]"),
        Symbol("b_o", "out_proj_bias", "its bias", "[M]"),
        Symbol("A", "A", "rate of decay, negative", "[D, N]"),
        Symbol("D", "D", "weight of the input itself in the output", "[D]"),
        Symbol(r"b_\delta", "delta_bias", "bias of the step", "[D]"),
        Symbol("o", "output", "output", "[B, T, M]"),
    ),
    source="mamba-ssm 2.3.2, mamba_ssm/ops/selective_scan_interface.py mamba_inner_fn, mamba_inner_ref",
    reference=MAMBA,
    aliases=("mamba_ssm.mamba_inner_fn",),
)

SELECTIVE_STATE_UPDATE = KernelSpec(
    name="mamba_ssm.ops.triton.selective_state_update.selective_state_update",
    summary="One token of the selective state space; the state is updated in place.",
    formula=_RECURRENCE,
    symbols=(
        Symbol("h", "state", "state, updated in place", "[B, D, N] or [B, H, P, N]"),
        Symbol("x_t", "x", "input", "[B, D] or [B, H, P]"),
        Symbol("d_t", "dt", "step, before its bias and, if asked for, a softplus", "[B, D] or [B, H, P]"),
        Symbol("A", "A", "rate of decay, negative", "[D, N] or [H, P, N]"),
        Symbol("B_t", "B", "how the input enters the state", "[B, N] or [B, G, N]"),
        Symbol("C_t", "C", "how the output reads the state", "[B, N] or [B, G, N]"),
        Symbol("D", "D", "weight of the input itself in the output", "[D] or [H, P]"),
        Symbol("z_t", "z", "gate; without it no gate is applied", "[B, D] or [B, H, P]"),
        Symbol(r"b_\delta", "dt_bias", "bias of the step", "[D] or [H, P]"),
        Symbol("y_t", "output", "output", "like x"),
    ),
    source="mamba-ssm 2.3.2, mamba_ssm/ops/triton/selective_state_update.py",
    reference=MAMBA,
    mutates=("state",),
)

_SSD_SYMBOLS = (
    Symbol("A", "A", "rate of decay, negative, one for a head", "[H]"),
    Symbol("D", "D", "weight of the input itself in the output", "[H] or [H, P]"),
    Symbol(r"b_\delta", "dt_bias", "bias of the step", "[H]"),
    Symbol("h_0", "initial_states", "state before the first token; zeros unless given", "[B, H, P, N]"),
    Symbol("i", "seq_idx", "sequence each token belongs to; the state restarts where it changes", "[B, T]"),
    Symbol("h_T", "final_state", "state after the last token, if asked for", "[B, H, P, N]"),
)

MAMBA_CHUNK_SCAN = KernelSpec(
    name="mamba_ssm.ops.triton.ssd_combined.mamba_chunk_scan_combined",
    summary="Mamba-2's state space duality along the tokens: each head keeps a P×N state with one decay.",
    formula=_RECURRENCE,
    symbols=(
        Symbol("x_t", "x", "input", "[B, T, H, P]"),
        Symbol("d_t", "dt", "step, before bias and, if asked for, softplus and limits", "[B, T, H]"),
        Symbol("B_t", "B", "how the input enters the state", "[B, T, G, N]"),
        Symbol("C_t", "C", "how the output reads the state", "[B, T, G, N]"),
        Symbol("z_t", "z", "gate; without it no gate is applied", "[B, T, H, P]"),
        *_SSD_SYMBOLS,
        Symbol("y_t", "output", "output", "[B, T, H, P]"),
    ),
    source="mamba-ssm 2.3.2, mamba_ssm/ops/triton/ssd_combined.py mamba_chunk_scan_combined",
    reference=MAMBA2,
)

MAMBA_SPLIT_CONV1D_SCAN = KernelSpec(
    name="mamba_ssm.ops.triton.ssd_combined.mamba_split_conv1d_scan_combined",
    summary="A whole Mamba-2 mixer after its input projection: split, short convolution, state space, gated norm, "
    "output projection.",
    formula=r"\begin{aligned}"
    r"(z, u, d) &= \operatorname{split}(w),\quad (x, B, C) = \operatorname{split}(f(\operatorname{conv}(u)))\\"
    r"\delta_t &= \operatorname{softplus}(d_t + b_\delta)\\"
    r"h_t &= e^{\delta_t A} h_{t-1} + \delta_t\, x_t\, B_t^{\top},\quad y_t = h_t C_t + D\odot x_t\\"
    r"o_t &= W_o\,\operatorname{norm}(y_t, z_t) + b_o"
    r"\end{aligned}",
    symbols=(
        Symbol("w", "zxbcdt", "gate, input, B, C and step, one after another", "[B, T, 2·H·P + 2·G·N + H]"),
        Symbol(r"\operatorname{conv}", "conv1d_weight", "kernel of the short convolution", "[H·P + 2·G·N, W]"),
        Symbol("f", "activation", "SiLU, or the identity"),
        *_SSD_SYMBOLS,
        Symbol(
            r"\operatorname{norm}",
            "rmsnorm_weight",
            "gain of the gated norm; without it SiLU(z) gates y",
            "[H·P]",
        ),
        Symbol("W_o", "outproj_weight", "output projection, if given", "[M, H·P]"),
        Symbol("b_o", "outproj_bias", "its bias", "[M]"),
        Symbol("o_t", "output", "output", "[B, T, M]"),
    ),
    source="mamba-ssm 2.3.2, mamba_ssm/ops/triton/ssd_combined.py MambaSplitConv1dScanCombinedFn.forward",
    reference=MAMBA2,
)

_NORM_SYMBOLS = (
    Symbol("x", "x", "input", "[…, D]"),
    Symbol("w", "weight", "gain", "[D]"),
    Symbol("b", "bias", "bias, if there is one", "[D]"),
    Symbol("z", "z", "gate, before or after the norm; without it no gate is applied", "[…, D]"),
    Symbol(r"\epsilon", "eps", "keeps the root away from zero"),
    Symbol("n", "group_size", "features normalised together; all, unless given"),
    Symbol("y", "output", "output", "[…, D]"),
)

RMSNORM_FN = KernelSpec(
    name="mamba_ssm.ops.triton.layernorm_gated.rmsnorm_fn",
    summary="Root-mean-square norm over groups of features, gated by SiLU before or after it.",
    formula=r"y = \operatorname{N}(x)\odot\operatorname{SiLU}(z) \;\text{ or }\;"
    r" \operatorname{N}(x\odot\operatorname{SiLU}(z)),\quad"
    r" \operatorname{N}(x) = \frac{x}{\sqrt{\frac1n\sum_i x_i^2+\epsilon}}\odot w + b",
    symbols=_NORM_SYMBOLS,
    source="mamba-ssm 2.3.2, mamba_ssm/ops/triton/layernorm_gated.py rmsnorm_fn, rms_norm_ref",
)

LAYERNORM_FN = KernelSpec(
    name="mamba_ssm.ops.triton.layernorm_gated.layernorm_fn",
    summary="Layer norm over groups of features, gated by SiLU before or after it.",
    formula=r"y = \operatorname{N}(x)\odot\operatorname{SiLU}(z) \;\text{ or }\;"
    r" \operatorname{N}(x\odot\operatorname{SiLU}(z)),\quad"
    r" \operatorname{N}(x) = \frac{x-\bar x}{\sqrt{\frac1n\sum_i (x_i-\bar x)^2+\epsilon}}\odot w + b",
    symbols=_NORM_SYMBOLS,
    source="mamba-ssm 2.3.2, mamba_ssm/ops/triton/layernorm_gated.py layernorm_fn",
)

_ADD_NORM_SYMBOLS = (
    Symbol("x", "x", "input", "[…, D]"),
    Symbol("r", "residual", "residual, if given", "[…, D]"),
    Symbol("w", "weight", "gain", "[D]"),
    Symbol("b", "bias", "bias, if there is one", "[D]"),
    Symbol(r"\epsilon", "eps", "keeps the root away from zero"),
    Symbol("y", "output", "output; with the sum u if asked for", "[…, D]"),
)

RMS_NORM_FN = KernelSpec(
    name="mamba_ssm.ops.triton.layer_norm.rms_norm_fn",
    summary="Adds the residual, then a root-mean-square norm in float32.",
    formula=r"u = x + r,\quad y = \frac{u}{\sqrt{\frac1D\sum_i u_i^2+\epsilon}}\odot w + b",
    symbols=_ADD_NORM_SYMBOLS,
    source="mamba-ssm 2.3.2, mamba_ssm/ops/triton/layer_norm.py rms_norm_fn, _layer_norm_fwd",
    aliases=("mamba_ssm.ops.triton.layernorm.rms_norm_fn",),
)

LAYER_NORM_FN = KernelSpec(
    name="mamba_ssm.ops.triton.layer_norm.layer_norm_fn",
    summary="Adds the residual, then a layer norm in float32.",
    formula=r"u = x + r,\quad y = \frac{u-\bar u}{\sqrt{\frac1D\sum_i (u_i-\bar u)^2+\epsilon}}\odot w + b",
    symbols=_ADD_NORM_SYMBOLS,
    source="mamba-ssm 2.3.2, mamba_ssm/ops/triton/layer_norm.py layer_norm_fn, _layer_norm_fwd",
    aliases=("mamba_ssm.ops.triton.layernorm.layer_norm_fn",),
)
