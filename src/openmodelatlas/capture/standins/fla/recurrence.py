"""The recurrence behind the linear-attention kernels of ``fla``, in float32, token by token.

The chunked kernels compute the same sums in another order; what distinguishes them (rounding of normalised queries
and keys, type of the output) is in the functions that call this.
"""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor

from openmodelatlas.capture.standins.sequences import check_packed, spans


@dataclasses.dataclass(frozen=True)
class Inputs:
    """What one step reads.

    Attributes:
        q, k: queries (not scaled) and keys [B, T, H, K].
        v: values [B, T, HV, V]; HV is a multiple of H, and each query and key serves HV/H neighbouring value heads.
        row_decay: logarithm of the decay of state rows [B, T, HV, K] or, one for a head, [B, T, HV, 1]; or none.
        column_decay: logarithm of the decay of state columns [B, T, HV, V]; or none.
        beta: write strength [B, T, HV, V] or [B, T, HV, 1]. With it, a token writes the difference to what the state
            already recalls for its key (delta rule); without it, a token just adds its value.
    """

    q: Tensor
    k: Tensor
    v: Tensor
    row_decay: Tensor | None = None
    column_decay: Tensor | None = None
    beta: Tensor | None = None

    def cut(self, start: int, end: int) -> Inputs:
        """The tokens from ``start`` to ``end``, exclusive."""
        return Inputs(
            self.q[:, start:end],
            self.k[:, start:end],
            self.v[:, start:end],
            None if self.row_decay is None else self.row_decay[:, start:end],
            None if self.column_decay is None else self.column_decay[:, start:end],
            None if self.beta is None else self.beta[:, start:end],
        )


def attend(
    inputs: Inputs,
    *,
    scale: float | None,
    initial_state: Tensor | None,
    output_final_state: bool,
    state_v_first: bool,
    cu_seqlens: Tensor | None,
    output_dtype: torch.dtype,
) -> tuple[Tensor, Tensor | None]:
    """Runs the recurrence over every sequence of a batch.

    Args:
        inputs: see :class:`Inputs`, in any floating-point type.
        scale: factor of the queries, 1/√K if ``None``.
        initial_state: [N, HV, K, V], or [N, HV, V, K] with ``state_v_first``; zero if ``None``.
        output_final_state: whether to return the final state.
        state_v_first: layout of initial and final state.
        cu_seqlens: starts of packed sequences [N+1], or ``None`` for N = B sequences of T tokens.
        output_dtype: type of the output.

    Returns:
        Output [B, T, HV, V] and the final state in float32, or ``None``.

    Raises:
        ValueError: shapes that do not fit together.
    """
    q, v = inputs.q, inputs.v
    batch, tokens, heads, key_size = q.shape
    value_heads, value_size = v.shape[2:]
    if value_heads % heads:
        raise ValueError(f"{value_heads} value heads must be a multiple of {heads} query heads")
    sequences = check_packed(batch, cu_seqlens, initial_state)
    layout = (value_size, key_size) if state_v_first else (key_size, value_size)
    if q.is_meta:
        final = q.new_empty((sequences, value_heads, *layout), dtype=torch.float32) if output_final_state else None
        return v.new_empty((batch, tokens, value_heads, value_size), dtype=output_dtype), final

    wide = _widen(inputs, key_size**-0.5 if scale is None else scale, value_heads // heads)
    if initial_state is None:
        state = q.new_zeros((sequences, value_heads, key_size, value_size), dtype=torch.float32)
    else:
        state = initial_state.float()
        state = state.transpose(-1, -2) if state_v_first else state
    if cu_seqlens is None:
        output, state = _scan(wide, state)
    else:
        output, state = _scan_packed(wide, state, spans(cu_seqlens))
    if state_v_first:
        state = state.transpose(-1, -2).contiguous()
    return output.to(output_dtype), state if output_final_state else None


def _widen(inputs: Inputs, scale: float, share: int) -> Inputs:
    q, k = inputs.q.float() * scale, inputs.k.float()
    if share > 1:
        q, k = q.repeat_interleave(share, dim=2), k.repeat_interleave(share, dim=2)
    return Inputs(
        q,
        k,
        inputs.v.float(),
        None if inputs.row_decay is None else inputs.row_decay.float(),
        None if inputs.column_decay is None else inputs.column_decay.float(),
        None if inputs.beta is None else inputs.beta.float(),
    )


def _scan_packed(inputs: Inputs, state: Tensor, where: list[tuple[int, int]]) -> tuple[Tensor, Tensor]:
    output = torch.zeros_like(inputs.v)  # tokens after the last sequence belong to none
    finals = []
    for number, (start, end) in enumerate(where):
        piece, final = _scan(inputs.cut(start, end), state[number : number + 1])
        output[:, start:end] = piece
        finals.append(final)
    return output, torch.cat(finals)


def _scan(inputs: Inputs, state: Tensor) -> tuple[Tensor, Tensor]:
    tokens = inputs.q.shape[1]
    q, k = inputs.q.unsqueeze(-2).unbind(1), inputs.k.unsqueeze(-1).unbind(1)
    v = inputs.v.unsqueeze(-2).unbind(1)
    rows = None if inputs.row_decay is None else inputs.row_decay.exp().unsqueeze(-1).unbind(1)
    columns = None if inputs.column_decay is None else inputs.column_decay.exp().unsqueeze(-2).unbind(1)
    beta = None if inputs.beta is None else inputs.beta.unsqueeze(-2).unbind(1)
    outputs = []
    for t in range(tokens):
        if rows is not None:
            state = state * rows[t]
        if columns is not None:
            state = state * columns[t]
        written = v[t]
        if beta is not None:
            written = beta[t] * (written - k[t].transpose(-1, -2) @ state)
        state = state + k[t] * written
        outputs.append(q[t] @ state)
    if not outputs:
        return torch.zeros_like(inputs.v), state
    return torch.stack(outputs, dim=1).squeeze(-2), state
