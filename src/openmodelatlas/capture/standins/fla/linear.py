"""Linear attention that only adds to its state: ``simple_gla``, ``gla`` and ``linear_attn`` of ``fla.ops``."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from openmodelatlas.capture.standins.absent import refuse
from openmodelatlas.capture.standins.fla.kda import state_layout
from openmodelatlas.capture.standins.fla.recurrence import Inputs, attend
from openmodelatlas.capture.standins.registry import kernel
from openmodelatlas.capture.standins.specs import fla_linear as specs

Result = tuple[Tensor, Tensor | None]


@kernel(specs.CHUNK_SIMPLE_GLA)
def chunk_simple_gla(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor | None = None,
    g_gamma: Tensor | None = None,
    scale: float | None = None,
    initial_state: Tensor | None = None,
    output_final_state: bool = False,
    state_v_first: bool = False,
    cu_seqlens: Tensor | None = None,
    cu_seqlens_cpu: Tensor | None = None,
    *,
    chunk_size: int | None = None,
    **unknown: Any,
) -> Result:
    """Linear attention with one decay for a head, over whole sequences.

    Args:
        q, k: [B, T, H, K].
        v: [B, T, H, V].
        g: logarithm of the decay of each token [B, T, H].
        g_gamma: logarithm of a decay that does not depend on the token [H]; both decays apply.
        scale: factor of the queries, 1/√K unless given.
        initial_state: [N, H, K, V], or [N, H, V, K] with ``state_v_first``.
        output_final_state: whether to return the final state.
        cu_seqlens: starts of packed sequences [N+1].
        cu_seqlens_cpu, chunk_size: schedule of the GPU; no effect here.

    Returns:
        Output [B, T, H, V] in the type of ``q``, and the final state in float32 or ``None``.

    Raises:
        UnsupportedCallError: an argument the kernel does not have.
    """
    for argument, value in unknown.items():
        refuse(specs.CHUNK_SIMPLE_GLA.name, argument, value)
    return _simple(q, k, v, g, g_gamma, scale, initial_state, output_final_state, state_v_first, cu_seqlens)


@kernel(specs.FUSED_RECURRENT_SIMPLE_GLA)
def fused_recurrent_simple_gla(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor | None = None,
    g_gamma: Tensor | None = None,
    scale: float | None = None,
    initial_state: Tensor | None = None,
    output_final_state: bool = False,
    reverse: bool = False,
    state_v_first: bool = False,
    cu_seqlens: Tensor | None = None,
    *,
    transpose_state_layout: bool | None = None,
    **unknown: Any,
) -> Result:
    """Linear attention with one decay for a head, token by token; arguments as in :func:`chunk_simple_gla`.

    Raises:
        UnsupportedCallError: ``reverse``, or an argument the kernel does not have.
    """
    name = specs.FUSED_RECURRENT_SIMPLE_GLA.name
    if reverse:
        refuse(name, "reverse", True)
    for argument, value in unknown.items():
        refuse(name, argument, value)
    layout = state_layout(state_v_first, transpose_state_layout)
    return _simple(q, k, v, g, g_gamma, scale, initial_state, output_final_state, layout, cu_seqlens)


def _simple(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor | None,
    g_gamma: Tensor | None,
    scale: float | None,
    initial_state: Tensor | None,
    output_final_state: bool,
    state_v_first: bool,
    cu_seqlens: Tensor | None,
) -> Result:
    decay = None if g is None else g.float().unsqueeze(-1)
    if g_gamma is not None:
        constant = g_gamma.float().view(-1, 1).expand(*q.shape[:2], -1, 1)
        decay = constant if decay is None else decay + constant
    return attend(
        Inputs(q, k, v, row_decay=decay),
        scale=scale,
        initial_state=initial_state,
        output_final_state=output_final_state,
        state_v_first=state_v_first,
        cu_seqlens=cu_seqlens,
        output_dtype=q.dtype,
    )


@kernel(specs.CHUNK_GLA)
def chunk_gla(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    g: Tensor,
    scale: float | None = None,
    initial_state: Tensor | None = None,
    output_final_state: bool = False,
    state_v_first: bool = False,
    cu_seqlens: Tensor | None = None,
    cu_seqlens_cpu: Tensor | None = None,
) -> Result:
    """Gated linear attention over whole sequences: each state row decays by ``g`` [B, T, H, K].

    Other arguments and results are those of :func:`chunk_simple_gla`.

    Raises:
        ValueError: queries, keys and decay differ in shape.
    """
    if not q.shape == k.shape == g.shape:
        raise ValueError(f"q {list(q.shape)}, k {list(k.shape)} and g {list(g.shape)} must have one shape")
    return attend(
        Inputs(q, k, v, row_decay=g),
        scale=scale,
        initial_state=initial_state,
        output_final_state=output_final_state,
        state_v_first=state_v_first,
        cu_seqlens=cu_seqlens,
        output_dtype=q.dtype,
    )


@kernel(specs.FUSED_RECURRENT_GLA)
def fused_recurrent_gla(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    gk: Tensor | None = None,
    gv: Tensor | None = None,
    scale: float | None = None,
    initial_state: Tensor | None = None,
    output_final_state: bool = False,
    reverse: bool = False,
    state_v_first: bool = False,
    cu_seqlens: Tensor | None = None,
    *,
    transpose_state_layout: bool | None = None,
    **unknown: Any,
) -> Result:
    """Gated linear attention token by token; rows decay by ``gk`` [B, T, H, K], columns by ``gv`` [B, T, H, V].

    Raises:
        UnsupportedCallError: ``reverse``, or an argument the kernel does not have.
    """
    name = specs.FUSED_RECURRENT_GLA.name
    if reverse:
        refuse(name, "reverse", True)
    for argument, value in unknown.items():
        refuse(name, argument, value)
    return attend(
        Inputs(q, k, v, row_decay=gk, column_decay=gv),
        scale=scale,
        initial_state=initial_state,
        output_final_state=output_final_state,
        state_v_first=state_layout(state_v_first, transpose_state_layout),
        cu_seqlens=cu_seqlens,
        output_dtype=q.dtype,
    )
