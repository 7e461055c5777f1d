"""Kimi Delta Attention: ``chunk_kda`` and ``fused_recurrent_kda``."""

# ruff: noqa: N803 - names and order of the arguments are those of the original
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from openmodelatlas.capture.standins.absent import refuse
from openmodelatlas.capture.standins.fla.gate import log_decay
from openmodelatlas.capture.standins.fla.recurrence import Inputs, attend
from openmodelatlas.capture.standins.registry import kernel
from openmodelatlas.capture.standins.sequences import l2_normalise
from openmodelatlas.capture.standins.specs import fla as specs


@kernel(specs.CHUNK_KDA)
def chunk_kda(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    scale: float | None = None,
    initial_state: Tensor | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    use_gate_in_kernel: bool = False,
    use_beta_sigmoid_in_kernel: bool = False,
    allow_neg_eigval: bool = False,
    safe_gate: bool = False,
    lower_bound: float | None = None,
    disable_recompute: bool = False,
    return_intermediate_states: bool = False,
    state_v_first: bool = False,
    cu_seqlens: Tensor | None = None,
    cu_seqlens_cpu: Tensor | None = None,
    cp_context: Any = None,
    use_graph: bool = False,
    max_num_seqs: int | None = None,
    *,
    A_log: Tensor | None = None,
    dt_bias: Tensor | None = None,
    chunk_size: int = 64,
    transpose_state_layout: bool | None = None,
    **unknown: Any,
) -> tuple[Tensor, Tensor | None]:
    """Kimi Delta Attention over whole sequences.

    Queries and keys that are normalised here are rounded to their own type before use, as the kernel stores them.

    Args:
        q, k: [B, T, H, K].
        v: [B, T, HV, V].
        g: logarithm of the decay [B, T, HV, K], or the gate's input with ``use_gate_in_kernel``.
        beta: write strength [B, T, HV], or its logit with ``use_beta_sigmoid_in_kernel``.
        scale: factor of the queries, 1/√K unless given.
        initial_state: [N, HV, K, V], or [N, HV, V, K] with ``state_v_first`` (once ``transpose_state_layout``).
        output_final_state: whether to return the final state.
        use_qk_l2norm_in_kernel: whether to divide queries and keys by their length first.
        use_gate_in_kernel: whether to compute the decay from ``g``, ``A_log`` [HV] and ``dt_bias`` [HV·K].
        use_beta_sigmoid_in_kernel: whether to apply a sigmoid to ``beta``.
        allow_neg_eigval: whether to double that sigmoid.
        safe_gate: promise that decays are bounded; checked, without effect on the result.
        lower_bound: bound of the gate's logarithm, see ``log_decay``.
        state_v_first, transpose_state_layout: layout of the states.
        cu_seqlens: starts of packed sequences [N+1].
        chunk_size, disable_recompute, cu_seqlens_cpu, use_graph, max_num_seqs: schedule of the GPU; no effect here.

    Returns:
        Output [B, T, HV, V] in the type of ``q``, and the final state in float32 or ``None``.

    Raises:
        ValueError: arguments that contradict each other.
        UnsupportedCallError: context parallelism, intermediate states, or an argument the kernel does not have.
    """
    name = specs.CHUNK_KDA.name
    if return_intermediate_states:
        refuse(name, "return_intermediate_states", True)
    if cp_context is not None:
        refuse(name, "cp_context", cp_context)
    for argument, value in unknown.items():
        refuse(name, argument, value)
    if safe_gate and use_gate_in_kernel and (lower_bound is None or not -5 <= lower_bound < 0):
        raise ValueError(f"safe_gate needs a lower_bound in [-5, 0), not {lower_bound}")
    if use_qk_l2norm_in_kernel:
        q, k = l2_normalise(q).to(q.dtype), l2_normalise(k).to(k.dtype)
    return attend(
        Inputs(
            q,
            k,
            v,
            row_decay=log_decay(g, A_log, dt_bias, lower_bound) if use_gate_in_kernel else g,
            beta=write_strength(beta, v, use_beta_sigmoid_in_kernel, allow_neg_eigval),
        ),
        scale=scale,
        initial_state=initial_state,
        output_final_state=output_final_state,
        state_v_first=state_layout(state_v_first, transpose_state_layout),
        cu_seqlens=cu_seqlens,
        output_dtype=q.dtype,
    )


@kernel(specs.FUSED_RECURRENT_KDA)
def fused_recurrent_kda(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor | None = None,
    A_log: Tensor | None = None,
    dt_bias: Tensor | None = None,
    scale: float | None = None,
    initial_state: Tensor | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    use_gate_in_kernel: bool = False,
    use_beta_sigmoid_in_kernel: bool = False,
    allow_neg_eigval: bool = False,
    lower_bound: float | None = None,
    state_v_first: bool = False,
    cu_seqlens: Tensor | None = None,
    *,
    transpose_state_layout: bool | None = None,
    **unknown: Any,
) -> tuple[Tensor, Tensor | None]:
    """Kimi Delta Attention token by token.

    Arguments and results are those of :func:`chunk_kda`, with these differences: ``beta`` may also be one number for
    each value feature [B, T, HV, V], or absent (1); normalised queries and keys stay in float32; the output has the
    type of ``v``.

    Raises:
        ValueError: arguments that contradict each other.
        UnsupportedCallError: an argument the kernel does not have.
    """
    for argument, value in unknown.items():
        refuse(specs.FUSED_RECURRENT_KDA.name, argument, value)
    if use_qk_l2norm_in_kernel:
        q, k = l2_normalise(q), l2_normalise(k)
    if beta is None:
        beta = torch.ones_like(v[..., 0])
    return attend(
        Inputs(
            q,
            k,
            v,
            row_decay=log_decay(g, A_log, dt_bias, lower_bound) if use_gate_in_kernel else g,
            beta=write_strength(beta, v, use_beta_sigmoid_in_kernel, allow_neg_eigval),
        ),
        scale=scale,
        initial_state=initial_state,
        output_final_state=output_final_state,
        state_v_first=state_layout(state_v_first, transpose_state_layout),
        cu_seqlens=cu_seqlens,
        output_dtype=v.dtype,
    )


def state_layout(state_v_first: bool, transpose_state_layout: bool | None) -> bool:
    """Whether states are [V, K]; the second argument is the older name of the first.

    Raises:
        ValueError: both are given.
    """
    if transpose_state_layout is None:
        return state_v_first
    if state_v_first:
        raise ValueError("state_v_first and its older name transpose_state_layout are both given")
    return transpose_state_layout


def write_strength(beta: Tensor, v: Tensor, sigmoid: bool, doubled: bool) -> Tensor:
    """Write strength [B, T, HV, 1] or [B, T, HV, V] in float32."""
    if doubled and not sigmoid:
        raise ValueError("allow_neg_eigval needs use_beta_sigmoid_in_kernel")
    strength = beta.float()
    if sigmoid:
        strength = torch.sigmoid(strength) * (2.0 if doubled else 1.0)
    return strength if strength.ndim == v.ndim else strength.unsqueeze(-1)
