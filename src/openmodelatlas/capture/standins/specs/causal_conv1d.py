"""Kernels of ``causal_conv1d`` 1.7.0."""

from __future__ import annotations

from openmodelatlas.capture.standins.registry import KernelSpec, Symbol

_FORMULA = r"y_{d,t} = f\!\left(\sum_{j=0}^{W-1} w_{d,j}\, x_{d,\,t-W+1+j} + b_d\right)"
_SYMBOLS = (
    Symbol("w", "weight", "kernel, one for a channel; its last element meets the present token", "[D, W]"),
    Symbol("b", "bias", "bias of the channel, if there is one", "[D]"),
    Symbol("f", "activation", "SiLU, or the identity"),
)

CAUSAL_CONV1D_FN = KernelSpec(
    name="causal_conv1d.causal_conv1d_fn",
    summary="Short causal convolution along the tokens, each channel on its own.",
    formula=_FORMULA,
    symbols=(
        Symbol("x", "x", "input", "[B, D, T]"),
        *_SYMBOLS,
        Symbol(r"x_{\le 0}", "initial_states", "inputs before the first token; zeros unless given", "[B, D, W-1]"),
        Symbol("i", "seq_idx", "number of the sequence each token belongs to; others count as zero", "[B, T]"),
        Symbol("y", "output", "output", "[B, D, T]"),
        Symbol(r"x_{T-W+2..T}", "final_state", "the last W-1 inputs, if asked for", "[B, D, W-1]"),
    ),
    source="causal-conv1d 1.7.0, causal_conv1d/causal_conv1d_interface.py causal_conv1d_fn, causal_conv1d_ref",
    aliases=("causal_conv1d.causal_conv1d_interface.causal_conv1d_fn",),
    mutates=("final_states_out",),
)

CAUSAL_CONV1D_UPDATE = KernelSpec(
    name="causal_conv1d.causal_conv1d_update",
    summary="The next tokens of the short causal convolution; the state of past inputs is shifted in place.",
    formula=_FORMULA,
    symbols=(
        Symbol("x", "x", "the next token or tokens", "[B, D] or [B, D, T]"),
        *_SYMBOLS,
        Symbol(r"x_{\le 0}", "conv_state", "past inputs, updated in place", "[B, D, S], S ≥ W-1"),
        Symbol("y", "output", "output", "like x"),
    ),
    source="causal-conv1d 1.7.0, causal_conv1d/causal_conv1d_interface.py causal_conv1d_update and its reference",
    aliases=("causal_conv1d.causal_conv1d_interface.causal_conv1d_update",),
    mutates=("conv_state",),
)

CAUSAL_CONV1D_VARLEN_STATES = KernelSpec(
    name="causal_conv1d.causal_conv1d_varlen.causal_conv1d_varlen_states",
    summary="The last inputs of each packed sequence, zeros before its start: the state to go on convolving from.",
    formula=r"y_{b,d,j} = x_{c_{b+1}-S+j,\,d} \text{ if } c_{b+1}-S+j \ge c_b \text{ else } 0",
    symbols=(
        Symbol("x", "x", "packed tokens", "[T, D]"),
        Symbol("c", "cu_seqlens", "starts of the packed sequences, and the end", "[N+1]"),
        Symbol("S", "state_len", "inputs to keep"),
        Symbol("y", "output", "last inputs", "[N, D, S]"),
    ),
    source="causal-conv1d 1.7.0, causal_conv1d/causal_conv1d_varlen.py",
)
