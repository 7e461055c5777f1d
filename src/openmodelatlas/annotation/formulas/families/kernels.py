"""Kernels that stand-ins replace, evaluated token by token in float64.

Signatures are those of the originals, as ``capture.standins`` has them (fla-core 0.6.0, causal-conv1d 1.5,
flash-attn 2.8). What only schedules a GPU is left out of the computation but not of the signature.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from openmodelatlas.annotation.formulas.entry import Evaluate
from openmodelatlas.annotation.formulas.families.activations import sigmoid, silu
from openmodelatlas.annotation.formulas.families.numeric import Array, as_float, need


@dataclass(frozen=True)
class Kernel:
    """How a kernel is evaluated.

    Attributes:
        signature: names of its positional arguments, in order.
        evaluate: takes arguments by name, gives its results.
    """

    signature: str
    evaluate: Evaluate


# Norms and gates ------------------------------------------------------------------------------------------------------


def _norm(x: Any, weight: Any, bias: Any, residual: Any, eps: float, centred: bool) -> tuple[Array, Array]:
    kept = as_float(x) if residual is None else as_float(x) + residual
    wide = kept - np.mean(kept, axis=-1, keepdims=True) if centred else kept
    normed = wide / np.sqrt(np.mean(wide**2, axis=-1, keepdims=True) + eps)
    normed = normed if weight is None else normed * weight
    return normed if bias is None else normed + bias, kept


def _norms(centred: bool) -> Evaluate:
    def run(
        x: Any,
        weight: Any = None,
        bias: Any = None,
        residual: Any = None,
        eps: float = 1e-5,
        prenorm: bool = False,
        residual_in_fp32: bool = False,
    ) -> Any:
        normed, kept = _norm(x, weight, bias, residual, eps, centred)
        return (normed, kept) if prenorm else normed

    return run


def _gated(centred: bool) -> Evaluate:
    def run(
        x: Any,
        g: Any,
        weight: Any = None,
        bias: Any = None,
        activation: str = "swish",
        residual: Any = None,
        prenorm: bool = False,
        residual_in_fp32: bool = False,
        eps: float = 1e-6,
    ) -> Any:
        normed, kept = _norm(x, weight, bias, residual, eps, centred)
        gate = np.reshape(g, normed.shape)
        output = normed * (sigmoid(gate) if activation == "sigmoid" else silu(gate))
        return (output, kept) if prenorm else output

    return run


def l2norm(x: Any, eps: float = 1e-6, output_dtype: Any = None) -> Array:
    """Vectors along the last axis divided by the root of their squared length plus ``eps``."""
    wide = as_float(x)
    return np.asarray(wide / np.sqrt(np.sum(wide**2, axis=-1, keepdims=True) + eps))


def log_decay(g: Any, A_log: Any = None, dt_bias: Any = None, lower_bound: float | None = None, **old: Any) -> Array:
    """Logarithm of the decay of Kimi Delta Attention: bounded below, or minus rate times softplus."""
    need(not old or not any(value is not None for value in old.values()), "an older form of the call is not evaluated")
    gate = as_float(g) if dt_bias is None else as_float(g) + np.reshape(dt_bias, (np.shape(g)[-2], -1))
    rate = 1.0 if A_log is None else np.exp(np.reshape(A_log, (-1, 1)))
    if lower_bound is not None:
        return np.asarray(lower_bound * sigmoid(rate * gate))
    return np.asarray(-rate * np.logaddexp(0.0, gate))


# Convolutions ---------------------------------------------------------------------------------------------------------


def _slide(x: Any, history: Any, weight: Any) -> tuple[Array, Array]:
    """Windows over B×T×D after a history B×D×…, weighted, and everything that was read, B×D×…."""
    kernel = np.reshape(weight, (np.shape(weight)[0], -1))
    width = kernel.shape[1]
    past = np.zeros((x.shape[0], x.shape[2], width)) if history is None else as_float(history)
    inputs = np.concatenate([past, np.swapaxes(as_float(x), 1, 2)], axis=-1)
    windows = np.lib.stride_tricks.sliding_window_view(inputs[..., past.shape[-1] - width + 1 :], width, axis=-1)
    return np.swapaxes(np.einsum("bdtw,dw->bdt", windows, kernel), 1, 2), inputs


def _finish(output: Any, bias: Any, activation: str | None, residual: Any) -> Array:
    output = output if bias is None else output + bias
    output = silu(output) if activation in ("silu", "swish") else output
    return np.asarray(output if residual is None else output + np.reshape(residual, output.shape))


def short_convolution(
    x: Any,
    weight: Any,
    bias: Any = None,
    activation: str | None = None,
    *,
    residual: Any = None,
    mask: Any = None,
    cache: Any = None,
    initial_state: Any = None,
    output_final_state: bool = False,
    cu_seqlens: Any = None,
    backend: Any = None,
    cu_seqlens_cpu: Any = None,
    chunk_indices: Any = None,
    cp_context: Any = None,
) -> Any:
    """Causal convolution of B×T×D, each channel on its own, and the last W inputs."""
    need(cu_seqlens is None, "packed sequences are not evaluated")
    x = as_float(x) if mask is None else as_float(x) * mask[..., None]
    need(x.ndim == 3, "its input has not three axes")
    output, inputs = _slide(x, initial_state if cache is None else cache, weight)
    width = int(np.prod(np.shape(weight)[1:]))
    result = _finish(output, bias, activation, residual)
    return (result, inputs[..., inputs.shape[-1] - width :]) if output_final_state else (result,)


def convolution_fn(
    x: Any,
    weight: Any,
    bias: Any = None,
    seq_idx: Any = None,
    initial_states: Any = None,
    return_final_states: bool = False,
    final_states_out: Any = None,
    activation: str | None = None,
) -> Any:
    """Causal convolution of B×D×T, and the last W-1 inputs."""
    need(seq_idx is None, "packed sequences are not evaluated")
    width = np.shape(weight)[1]
    past = np.zeros((*np.shape(x)[:2], width - 1)) if initial_states is None else initial_states
    output, inputs = _slide(np.swapaxes(x, 1, 2), past, weight)
    result = np.swapaxes(_finish(output, bias, activation, None), 1, 2)
    return (result, inputs[..., inputs.shape[-1] - width + 1 :]) if return_final_states else result


def convolution_update(
    x: Any,
    conv_state: Any,
    weight: Any,
    bias: Any = None,
    activation: str | None = None,
    cache_seqlens: Any = None,
    conv_state_indices: Any = None,
) -> Any:
    """The next tokens of a convolution, and the state after them."""
    need(cache_seqlens is None and conv_state_indices is None, "indexed states are not evaluated")
    tokens = x[..., None] if x.ndim == 2 else x
    output, inputs = _slide(np.swapaxes(tokens, 1, 2), conv_state, weight)
    result = np.swapaxes(_finish(output, bias, activation, None), 1, 2)
    return np.reshape(result, x.shape), inputs[..., inputs.shape[-1] - np.shape(conv_state)[-1] :]


# Recurrences ----------------------------------------------------------------------------------------------------------


def recurrence(
    q: Any,
    k: Any,
    v: Any,
    *,
    rows: Any = None,
    columns: Any = None,
    beta: Any = None,
    scale: float | None = None,
    initial_state: Any = None,
    state_v_first: bool = False,
) -> tuple[Array, Array]:
    """A state of keys times values, decayed, corrected towards each new pair (``beta``) or only added to, and read.

    Args:
        q, k: B×T×H×K.
        v: B×T×HV×V.
        rows, columns: logarithm of the decay of state rows B×T×HV×K (or 1) and columns B×T×HV×V.
        beta: write strength B×T×HV×(V or 1).
        scale: of the queries, 1/√K if ``None``.
        initial_state: B×HV×K×V, or B×HV×V×K with ``state_v_first``.
        state_v_first: layout of the states.
    """
    share = v.shape[2] // q.shape[2]
    wide_q = np.repeat(as_float(q) * (q.shape[-1] ** -0.5 if scale is None else scale), share, axis=2)
    wide_k = np.repeat(as_float(k), share, axis=2)
    state = np.zeros((q.shape[0], v.shape[2], q.shape[-1], v.shape[-1]))
    if initial_state is not None:
        state = np.swapaxes(initial_state, -1, -2) if state_v_first else as_float(initial_state)
    outputs = np.zeros(v.shape)
    for t in range(v.shape[1]):
        state = state if rows is None else state * np.exp(rows[:, t])[..., :, None]
        state = state if columns is None else state * np.exp(columns[:, t])[..., None, :]
        written = as_float(v[:, t])
        if beta is not None:
            written = beta[:, t] * (written - np.einsum("bhk,bhkv->bhv", wide_k[:, t], state))
        state = state + wide_k[:, t][..., :, None] * written[..., None, :]
        outputs[:, t] = np.einsum("bhk,bhkv->bhv", wide_q[:, t], state)
    return outputs, np.swapaxes(state, -1, -2) if state_v_first else state


def _strength(beta: Any, v: Any, logits: bool, doubled: bool) -> Any:
    strength = np.ones(v.shape[:-1]) if beta is None else as_float(beta)
    strength = sigmoid(strength) * (2.0 if doubled else 1.0) if logits else strength
    return strength if strength.ndim == v.ndim else strength[..., None]


def delta_rule(
    q: Any,
    k: Any,
    v: Any,
    g: Any = None,
    beta: Any = None,
    *,
    gk: Any = None,
    gv: Any = None,
    scale: float | None = None,
    initial_state: Any = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    use_gate_in_kernel: bool = False,
    use_beta_sigmoid_in_kernel: bool = False,
    allow_neg_eigval: bool = False,
    safe_gate: bool = False,
    lower_bound: float | None = None,
    A_log: Any = None,
    dt_bias: Any = None,
    state_v_first: bool = False,
    transpose_state_layout: bool | None = None,
    cu_seqlens: Any = None,
    **schedule: Any,
) -> Any:
    """Delta rule, without decay, with one for a head, or with one for each state row (Kimi Delta Attention)."""
    need(cu_seqlens is None, "packed sequences are not evaluated")
    if use_qk_l2norm_in_kernel:
        q, k = l2norm(q), l2norm(k)
    decay = gk if g is None else g
    if use_gate_in_kernel and decay is not None:
        per_head = decay.ndim < v.ndim
        wide = log_decay(decay[..., None] if per_head else decay, A_log, dt_bias, lower_bound)
        decay = wide[..., 0] if per_head else wide
    rows = None if decay is None else decay[..., None] if decay.ndim < v.ndim else decay
    output, state = recurrence(
        q,
        k,
        v,
        rows=rows,
        columns=gv,
        beta=_strength(beta, v, use_beta_sigmoid_in_kernel, allow_neg_eigval),
        scale=scale,
        initial_state=initial_state,
        state_v_first=bool(transpose_state_layout) or state_v_first,
    )
    return (output, state) if output_final_state else (output,)


def gated_linear_attention(
    q: Any,
    k: Any,
    v: Any,
    g: Any = None,
    *,
    gk: Any = None,
    gv: Any = None,
    g_gamma: Any = None,
    scale: float | None = None,
    initial_state: Any = None,
    output_final_state: bool = False,
    reverse: bool = False,
    state_v_first: bool = False,
    transpose_state_layout: bool | None = None,
    cu_seqlens: Any = None,
    **schedule: Any,
) -> Any:
    """Linear attention whose state decays: by one number for a head, or for each row or column."""
    need(cu_seqlens is None and not reverse, "packed and reversed sequences are not evaluated")
    decay = gk if g is None else g
    rows = None if decay is None else decay[..., None] if decay.ndim < v.ndim else decay
    if g_gamma is not None:
        rows = np.reshape(g_gamma, (1, 1, -1, 1)) + (0 if rows is None else rows)
        rows = np.broadcast_to(rows, (*v.shape[:3], rows.shape[-1]))
    output, state = recurrence(
        q,
        k,
        v,
        rows=rows,
        columns=gv,
        scale=scale,
        initial_state=initial_state,
        state_v_first=bool(transpose_state_layout) or state_v_first,
    )
    return (output, state) if output_final_state else (output,)


# Attention ------------------------------------------------------------------------------------------------------------


def flash_attention(
    q: Any,
    k: Any,
    v: Any,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: Any = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Any = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Array:
    """Softmax attention of B×T×H×D; the last query stands at the last key."""
    need(not dropout_p and alibi_slopes is None and not return_attn_probs, "one of its options is not evaluated")
    share = q.shape[2] // k.shape[2]
    wide_k, wide_v = (np.repeat(as_float(part), share, axis=2) for part in (k, v))
    scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    scores = np.einsum("bqhd,bkhd->bhqk", as_float(q) * scale, wide_k)
    scores = softcap * np.tanh(scores / softcap) if softcap else scores
    left, right = window_size[0], 0 if causal else window_size[1]
    distance = np.arange(k.shape[1]) - (np.arange(q.shape[1])[:, None] + k.shape[1] - q.shape[1])
    seen = np.ones(distance.shape, dtype=bool)
    seen &= (distance >= -left) if left >= 0 else True
    seen &= (distance <= right) if right >= 0 else True
    powers = np.where(seen, np.exp(scores - np.max(scores, axis=-1, keepdims=True)), 0.0)
    total = np.sum(powers, axis=-1, keepdims=True)
    weights = np.divide(powers, total, out=np.zeros_like(powers), where=total > 0)
    return np.asarray(np.einsum("bhqk,bkhd->bqhd", weights, wide_v))


_NORM = "x weight bias residual eps prenorm residual_in_fp32"
_GATED_NORM = "x g weight bias activation residual prenorm residual_in_fp32 eps"
_STATE = "scale initial_state output_final_state"
_SHORT = "x weight bias activation"

KERNELS: dict[str, Kernel] = {
    "fla.modules.layernorm.rms_norm": Kernel(_NORM, _norms(centred=False)),
    "fla.modules.layernorm.layer_norm": Kernel(_NORM, _norms(centred=True)),
    "fla.modules.fused_norm_gate.rms_norm_gated": Kernel(_GATED_NORM, _gated(centred=False)),
    "fla.modules.fused_norm_gate.layer_norm_gated": Kernel(_GATED_NORM, _gated(centred=True)),
    "fla.modules.l2norm.l2norm": Kernel("x eps output_dtype", l2norm),
    "fla.ops.kda.gate.fused_kda_gate": Kernel("g A_log dt_bias lower_bound", log_decay),
    "fla.modules.ShortConvolution": Kernel(_SHORT, short_convolution),
    "fla.modules.convolution.causal_conv1d": Kernel(
        "x weight bias residual initial_state output_final_state activation", short_convolution
    ),
    "causal_conv1d.causal_conv1d_fn": Kernel(
        "x weight bias seq_idx initial_states return_final_states final_states_out activation", convolution_fn
    ),
    "causal_conv1d.causal_conv1d_update": Kernel("x conv_state weight bias activation", convolution_update),
    "fla.ops.kda.chunk_kda": Kernel(f"q k v g beta {_STATE} use_qk_l2norm_in_kernel use_gate_in_kernel", delta_rule),
    "fla.ops.kda.fused_recurrent_kda": Kernel(f"q k v g beta A_log dt_bias {_STATE}", delta_rule),
    "fla.ops.gated_delta_rule.chunk_gated_delta_rule": Kernel(f"q k v g beta {_STATE}", delta_rule),
    "fla.ops.gated_delta_rule.fused_recurrent_gated_delta_rule": Kernel(f"q k v g gk gv beta {_STATE}", delta_rule),
    "fla.ops.delta_rule.chunk_delta_rule": Kernel(f"q k v beta {_STATE} use_qk_l2norm_in_kernel", delta_rule),
    "fla.ops.delta_rule.fused_recurrent_delta_rule": Kernel(f"q k v beta {_STATE} use_qk_l2norm_in_kernel", delta_rule),
    "fla.ops.simple_gla.chunk_simple_gla": Kernel(f"q k v g g_gamma {_STATE}", gated_linear_attention),
    "fla.ops.simple_gla.fused_recurrent_simple_gla": Kernel(f"q k v g g_gamma {_STATE}", gated_linear_attention),
    "fla.ops.gla.chunk_gla": Kernel(f"q k v g {_STATE}", gated_linear_attention),
    "fla.ops.gla.fused_recurrent_gla": Kernel(f"q k v gk gv {_STATE}", gated_linear_attention),
    "flash_attn.flash_attn_func": Kernel("q k v dropout_p softmax_scale causal window_size softcap", flash_attention),
}
"""By the name under which kernels are recorded."""
