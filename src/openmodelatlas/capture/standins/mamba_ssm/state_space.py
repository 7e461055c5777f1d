"""The recurrence of selective state spaces in float32, token by token, and what prepares its step."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

NO_LIMIT = (0.0, float("inf"))


def prepared_step(step: Tensor, bias: Tensor | None, softplus: bool, limit: tuple[float, float] = NO_LIMIT) -> Tensor:
    """Step δ in float32: bias, then softplus, then limits (mamba-ssm 2.3.2, ssd_chunk_state.py _chunk_cumsum_fwd).

    ``bias`` broadcasts against the last axes of ``step``.
    """
    step = step.float()
    if bias is not None:
        step = step + bias.float()
    if softplus:
        step = functional.softplus(step)
    return step if limit == NO_LIMIT else step.clamp(*limit)


def scan(
    x: Tensor, step: Tensor, rate: Tensor, into: Tensor, out_of: Tensor, state: Tensor, *, restart: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """h_t = e^{δ_t A} h_{t-1} + δ_t x_t B_tᵀ and y_t = h_t C_t.

    Args:
        x: input [B, T, H, P].
        step: δ, [B, T, H, P] or [B, T, H, 1].
        rate: A, broadcasts against [H, P, N].
        into, out_of: B and C, [B, T, H, N].
        state: h_0 [B, H, P, N].
        restart: where a new sequence begins [B, T]; its state starts from zero.

    Returns:
        y [B, T, H, P] and h_T [B, H, P, N], all in float32.
    """
    decay = (step.unsqueeze(-1) * rate.float()).exp()
    if restart is not None:
        decay = decay * (~restart)[:, :, None, None, None]
    driven = (step * x.float()).unsqueeze(-1).unbind(1)
    decays = decay.unbind(1)
    rows, columns = into.float().unsqueeze(-2).unbind(1), out_of.float().unsqueeze(-1).unbind(1)
    outputs = []
    for t in range(x.shape[1]):
        state = state * decays[t] + driven[t] * rows[t]
        outputs.append(state @ columns[t])
    if not outputs:
        return x.float(), state
    return torch.stack(outputs, dim=1).squeeze(-1), state


def per_head(grouped: Tensor, heads: int, axis: int) -> Tensor:
    """Repeats each of G groups along ``axis`` for the H/G neighbouring heads that share it.

    Raises:
        ValueError: H is no multiple of G.
    """
    groups = grouped.shape[axis]
    if heads % groups:
        raise ValueError(f"{heads} heads must be a multiple of {groups} groups")
    return grouped if heads == groups else grouped.repeat_interleave(heads // groups, dim=axis)
