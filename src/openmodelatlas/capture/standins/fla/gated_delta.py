"""The delta rule with and without decay: ``fla.ops.gated_delta_rule`` and ``fla.ops.delta_rule``."""

# ruff: noqa: N803 - names and order of the arguments are those of the original
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from openmodelatlas.capture.standins.absent import refuse
from openmodelatlas.capture.standins.fla.kda import state_layout, write_strength
from openmodelatlas.capture.standins.fla.recurrence import Inputs, attend
from openmodelatlas.capture.standins.registry import kernel
from openmodelatlas.capture.standins.sequences import l2_normalise
from openmodelatlas.capture.standins.specs import fla_linear as specs


@kernel(specs.CHUNK_GATED_DELTA_RULE)
def chunk_gated_delta_rule(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    beta: Tensor,
    scale: float | None = None,
    initial_state: Tensor | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    use_beta_sigmoid_in_kernel: bool = False,
    allow_neg_eigval: bool = False,
    state_v_first: bool = False,
    cu_seqlens: Tensor | None = None,
    cu_seqlens_cpu: Tensor | None = None,
    chunk_indices: Tensor | None = None,
    cp_context: Any = None,
    *,
    use_gate_in_kernel: bool = False,
    A_log: Tensor | None = None,
    dt_bias: Tensor | None = None,
    chunk_size: int = 64,
    transpose_state_layout: bool | None = None,
    **unknown: Any,
) -> tuple[Tensor, Tensor | None]:
    """Gated delta rule over whole sequences.

    Queries and keys that are normalised here are rounded to their own type before use, as the kernel stores them.

    Args:
        q, k: [B, T, H, K].
        v: [B, T, HV, V].
        g: logarithm of the decay [B, T, HV], or the gate's input with ``use_gate_in_kernel``.
        beta: write strength [B, T, HV], or its logit with ``use_beta_sigmoid_in_kernel``.
        scale: factor of the queries, 1/√K unless given.
        initial_state: [N, HV, K, V], or [N, HV, V, K] with ``state_v_first`` (once ``transpose_state_layout``).
        output_final_state: whether to return the final state.
        use_qk_l2norm_in_kernel: whether to divide queries and keys by their length first.
        use_beta_sigmoid_in_kernel: whether to apply a sigmoid to ``beta``.
        allow_neg_eigval: whether to double that sigmoid.
        cu_seqlens: starts of packed sequences [N+1].
        use_gate_in_kernel: whether to compute the decay from ``g``, ``A_log`` [HV] and ``dt_bias`` [HV].
        cu_seqlens_cpu, chunk_indices, chunk_size: schedule of the GPU; no effect here.

    Returns:
        Output [B, T, HV, V] in the type of ``q``, and the final state in float32 or ``None``.

    Raises:
        ValueError: arguments that contradict each other.
        UnsupportedCallError: context parallelism, or an argument the kernel does not have.
    """
    name = specs.CHUNK_GATED_DELTA_RULE.name
    if cp_context is not None:
        refuse(name, "cp_context", cp_context)
    for argument, value in unknown.items():
        refuse(name, argument, value)
    if use_qk_l2norm_in_kernel:
        q, k = l2_normalise(q).to(q.dtype), l2_normalise(k).to(k.dtype)
    decay = _head_decay(g, A_log, dt_bias) if use_gate_in_kernel else g
    return attend(
        Inputs(
            q,
            k,
            v,
            row_decay=decay.unsqueeze(-1),
            beta=write_strength(beta, v, use_beta_sigmoid_in_kernel, allow_neg_eigval),
        ),
        scale=scale,
        initial_state=initial_state,
        output_final_state=output_final_state,
        state_v_first=state_layout(state_v_first, transpose_state_layout),
        cu_seqlens=cu_seqlens,
        output_dtype=q.dtype,
    )


@kernel(specs.FUSED_RECURRENT_GATED_DELTA_RULE)
def fused_recurrent_gated_delta_rule(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor | None = None,
    gk: Tensor | None = None,
    gv: Tensor | None = None,
    beta: Tensor | None = None,
    scale: float | None = None,
    initial_state: Tensor | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    use_gate_in_kernel: bool = False,
    A_log: Tensor | None = None,
    dt_bias: Tensor | None = None,
    use_beta_sigmoid_in_kernel: bool = False,
    allow_neg_eigval: bool = False,
    state_v_first: bool = False,
    cu_seqlens: Tensor | None = None,
    *,
    transpose_state_layout: bool | None = None,
    **unknown: Any,
) -> tuple[Tensor, Tensor | None]:
    """Gated delta rule token by token.

    Arguments and results are those of :func:`chunk_gated_delta_rule`, with these differences: the decay may be given
    for heads (``g`` [B, T, HV]), state rows (``gk`` [B, T, HV, K]) and state columns (``gv`` [B, T, HV, V]), all
    optional; ``beta`` may be one number for each value feature [B, T, HV, V], or absent (1); normalised queries and
    keys stay in float32; the output has the type of ``v``.

    Raises:
        ValueError: arguments that contradict each other.
        UnsupportedCallError: an argument the kernel does not have.
    """
    for argument, value in unknown.items():
        refuse(specs.FUSED_RECURRENT_GATED_DELTA_RULE.name, argument, value)
    if use_qk_l2norm_in_kernel:
        q, k = l2_normalise(q), l2_normalise(k)
    if use_gate_in_kernel:
        if g is None:
            raise ValueError("use_gate_in_kernel needs g")
        g = _head_decay(g, A_log, dt_bias)
    rows = None if g is None else g.float().unsqueeze(-1)
    if gk is not None:
        rows = gk.float() if rows is None else rows + gk.float()
    if beta is None:
        beta = torch.ones_like(v[..., 0])
    return attend(
        Inputs(
            q,
            k,
            v,
            row_decay=rows,
            column_decay=gv,
            beta=write_strength(beta, v, use_beta_sigmoid_in_kernel, allow_neg_eigval),
        ),
        scale=scale,
        initial_state=initial_state,
        output_final_state=output_final_state,
        state_v_first=state_layout(state_v_first, transpose_state_layout),
        cu_seqlens=cu_seqlens,
        output_dtype=v.dtype,
    )


def _head_decay(g: Tensor, log_rate: Tensor | None, bias: Tensor | None) -> Tensor:
    """-e^A softplus(g + b) for each head [B, T, HV], in float32."""
    if log_rate is None:
        raise ValueError("use_gate_in_kernel needs A_log")
    gate = g.float() if bias is None else g.float() + bias.float()
    return -log_rate.float().exp() * functional.softplus(gate)


@kernel(specs.CHUNK_DELTA_RULE)
def chunk_delta_rule(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    beta: Tensor,
    scale: float | None = None,
    initial_state: Tensor | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Tensor | None = None,
    cu_seqlens_cpu: Tensor | None = None,
    *,
    chunk_size: int = 64,
    **unknown: Any,
) -> tuple[Tensor, Tensor | None]:
    """Delta rule over whole sequences; arguments as in :func:`chunk_gated_delta_rule`, without decay.

    The original refuses float32, which probes use; this one takes any floating-point type.

    Raises:
        UnsupportedCallError: an argument the kernel does not have.
    """
    for argument, value in unknown.items():
        refuse(specs.CHUNK_DELTA_RULE.name, argument, value)
    if use_qk_l2norm_in_kernel:
        q, k = l2_normalise(q).to(q.dtype), l2_normalise(k).to(k.dtype)
    return attend(
        Inputs(q, k, v, beta=write_strength(beta, v, False, False)),
        scale=scale,
        initial_state=initial_state,
        output_final_state=output_final_state,
        state_v_first=False,
        cu_seqlens=cu_seqlens,
        output_dtype=q.dtype,
    )


@kernel(specs.FUSED_RECURRENT_DELTA_RULE)
def fused_recurrent_delta_rule(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    beta: Tensor | None = None,
    scale: float | None = None,
    initial_state: Tensor | None = None,
    output_final_state: bool = False,
    use_qk_l2norm_in_kernel: bool = False,
    cu_seqlens: Tensor | None = None,
) -> tuple[Tensor, Tensor | None]:
    """Delta rule token by token; ``beta`` [B, T, HV], [B, T, HV, V] or absent (1)."""
    if use_qk_l2norm_in_kernel:
        q, k = l2_normalise(q), l2_normalise(k)
    strength = torch.ones_like(v[..., 0]) if beta is None else beta
    return attend(
        Inputs(q, k, v, beta=write_strength(strength, v, False, False)),
        scale=scale,
        initial_state=initial_state,
        output_final_state=output_final_state,
        state_v_first=False,
        cu_seqlens=cu_seqlens,
        output_dtype=v.dtype,
    )
