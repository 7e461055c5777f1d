"""Linear attention without decay, with and without normalisation: ``fla.ops.linear_attn``."""

from __future__ import annotations

import torch
from torch import Tensor

from openmodelatlas.capture.standins.absent import refuse
from openmodelatlas.capture.standins.fla.recurrence import Inputs, attend
from openmodelatlas.capture.standins.registry import kernel
from openmodelatlas.capture.standins.sequences import spans
from openmodelatlas.capture.standins.specs import fla_linear as specs

State = Tensor | tuple[Tensor, Tensor]
Result = tuple[Tensor, Tensor | tuple[Tensor | None, Tensor] | None]


@kernel(specs.CHUNK_LINEAR_ATTN)
def chunk_linear_attn(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float | None = None,
    initial_state: State | None = None,
    output_final_state: bool = False,
    normalize: bool = True,
    cu_seqlens: Tensor | None = None,
) -> Result:
    """Linear attention without decay, over whole sequences.

    Args:
        q, k: [B, T, H, K].
        v: [B, T, H, V].
        scale: factor of the queries, 1/√K unless given.
        initial_state: [N, H, K, V]; with ``normalize`` also a pair of it and the sum of earlier keys [N, 1, H, K].
        output_final_state: whether to return the final state.
        normalize: whether to divide by the query's product with the sum of all keys so far.
        cu_seqlens: starts of packed sequences [N+1].

    Returns:
        Output [B, T, H, V], and the final state in float32 or ``None``; with ``normalize`` a pair of that and the sum
        of keys [N, 1, H, K].
    """
    return _attend(q, k, v, scale, initial_state, output_final_state, normalize, cu_seqlens)


@kernel(specs.FUSED_RECURRENT_LINEAR_ATTN)
def fused_recurrent_linear_attn(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float | None = None,
    initial_state: State | None = None,
    output_final_state: bool = False,
    reverse: bool = False,
    normalize: bool = False,
    cu_seqlens: Tensor | None = None,
) -> Result:
    """Linear attention without decay, token by token; arguments and results as in :func:`chunk_linear_attn`.

    Raises:
        UnsupportedCallError: ``reverse``.
    """
    if reverse:
        refuse(specs.FUSED_RECURRENT_LINEAR_ATTN.name, "reverse", True)
    return _attend(q, k, v, scale, initial_state, output_final_state, normalize, cu_seqlens)


def _attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    scale: float | None,
    initial_state: State | None,
    output_final_state: bool,
    normalize: bool,
    cu_seqlens: Tensor | None,
) -> Result:
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    state, keys = initial_state if isinstance(initial_state, tuple) else (initial_state, None)
    output, final = attend(
        Inputs(q, k, v),
        scale=scale,
        initial_state=state,
        output_final_state=output_final_state,
        state_v_first=False,
        cu_seqlens=cu_seqlens,
        output_dtype=q.dtype,
    )
    if not normalize:
        return output, final
    sums, last = _sums_of_keys(k, keys, cu_seqlens)
    return output / ((q * scale * sums).sum(-1, keepdim=True) + 1e-10), (final, last)


def _sums_of_keys(k: Tensor, before: Tensor | None, cu_seqlens: Tensor | None) -> tuple[Tensor, Tensor]:
    """Sum of all keys up to each token [B, T, H, K], and up to the last [N, 1, H, K]."""
    if cu_seqlens is None:
        sums = k.cumsum(1) if before is None else k.cumsum(1) + before
        return sums, sums[:, -1:]
    sequences = cu_seqlens.shape[0] - 1
    if before is None:
        before = k.new_zeros(sequences, 1, *k.shape[2:])
    if k.is_meta:
        return torch.empty_like(k), torch.empty_like(before)
    sums, last = torch.zeros_like(k), before.clone()
    for number, (start, end) in enumerate(spans(cu_seqlens)):
        sums[:, start:end] = k[:, start:end].cumsum(1) + before[number]
        if end > start:
            last[number] = sums[:, end - 1]
    return sums, last
