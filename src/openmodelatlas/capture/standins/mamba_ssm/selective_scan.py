"""Mamba: ``selective_scan_fn``, ``selective_state_update``, ``mamba_inner_fn``."""

# ruff: noqa: N803 - names and order of the arguments are those of the original
from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from openmodelatlas.capture.standins.absent import refuse
from openmodelatlas.capture.standins.causal_conv1d.convolution import convolve
from openmodelatlas.capture.standins.mamba_ssm.state_space import per_head, prepared_step, scan
from openmodelatlas.capture.standins.registry import kernel
from openmodelatlas.capture.standins.specs import mamba_ssm as specs


@kernel(specs.SELECTIVE_SCAN)
def selective_scan_fn(
    u: Tensor,
    delta: Tensor,
    A: Tensor,
    B: Tensor,
    C: Tensor,
    D: Tensor | None = None,
    z: Tensor | None = None,
    delta_bias: Tensor | None = None,
    delta_softplus: bool = False,
    return_last_state: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Selective state space along the tokens, in float32.

    Args:
        u: input [B, D, T].
        delta: step [B, D, T].
        A: rate [D, N], real.
        B, C: [D, N], [B, N, T] or [B, G, N, T].
        D: [D].
        z: gate [B, D, T].
        delta_bias: [D].
        delta_softplus: whether the step goes through a softplus.
        return_last_state: whether to return the final state.

    Returns:
        Output [B, D, T] in the type of ``u``, with ``return_last_state`` and the state [B, D, N] in float32.

    Raises:
        UnsupportedCallError: complex ``A``.
    """
    output, state = selective_scan(u, delta, A, B, C, D, z, delta_bias, delta_softplus)
    return (output, state) if return_last_state else output


def selective_scan(
    u: Tensor,
    delta: Tensor,
    rate: Tensor,
    into: Tensor,
    out_of: Tensor,
    skip: Tensor | None,
    gate: Tensor | None,
    delta_bias: Tensor | None,
    delta_softplus: bool,
) -> tuple[Tensor, Tensor]:
    """What :func:`selective_scan_fn` does, without being an event; always with the final state."""
    if rate.is_complex():
        refuse(specs.SELECTIVE_SCAN.name, "A", "complex")
    batch, channels, tokens = u.shape
    zero = u.new_zeros((batch, channels, 1, rate.shape[1])).float()
    if u.is_meta:
        return u.new_empty(u.shape), zero.squeeze(2)
    step = prepared_step(delta.transpose(1, 2), delta_bias, delta_softplus)
    output, state = scan(
        u.transpose(1, 2).unsqueeze(-1),
        step.unsqueeze(-1),
        rate.unsqueeze(1),
        _per_token(into, batch, channels, tokens),
        _per_token(out_of, batch, channels, tokens),
        zero,
    )
    output = output.squeeze(-1).transpose(1, 2)
    if skip is not None:
        output = output + u.float() * skip.float().unsqueeze(-1)
    if gate is not None:
        output = output * functional.silu(gate.float())
    return output.to(u.dtype), state.squeeze(2)


def _per_token(matrix: Tensor, batch: int, channels: int, tokens: int) -> Tensor:
    """B or C as [B, T, D, N], whichever of its three forms was given."""
    if matrix.ndim == 2:
        return matrix.expand(batch, tokens, *matrix.shape)
    grouped = matrix.unsqueeze(1) if matrix.ndim == 3 else matrix
    return per_head(grouped, channels, axis=1).permute(0, 3, 1, 2)


@kernel(specs.SELECTIVE_STATE_UPDATE)
def selective_state_update(
    state: Tensor,
    x: Tensor,
    dt: Tensor,
    A: Tensor,
    B: Tensor,
    C: Tensor,
    D: Tensor | None = None,
    z: Tensor | None = None,
    dt_bias: Tensor | None = None,
    dt_softplus: bool = False,
    state_batch_indices: Tensor | None = None,
) -> Tensor:
    """One token of the selective state space, in float32; ``state`` is updated in place.

    Args:
        state: [B, D, N] or [B, H, P, N].
        x, dt, z: [B, D] or [B, H, P].
        A: [D, N] or [H, P, N].
        B, C: [B, N] or [B, G, N].
        D, dt_bias: [D] or [H, P].
        dt_softplus: whether the step goes through a softplus.
        state_batch_indices: rows of a larger ``state`` that belong to the batch [B].

    Returns:
        Output like ``x``.

    Raises:
        ValueError: the heads are no multiple of the groups.
    """
    channels_only = state.ndim == 3
    memory = state.unsqueeze(1) if channels_only else state
    x_, dt_ = _with_heads(x, channels_only), _with_heads(dt, channels_only)
    rate = A.unsqueeze(0) if A.ndim == 2 else A
    heads = memory.shape[1]
    into = per_head(B.unsqueeze(1) if B.ndim == 2 else B, heads, axis=1)
    out_of = per_head(C.unsqueeze(1) if C.ndim == 2 else C, heads, axis=1)
    step = prepared_step(dt_, dt_bias, dt_softplus)
    past = memory if state_batch_indices is None else memory[state_batch_indices.long()]
    now = past.float() * (step.unsqueeze(-1) * rate.float()).exp()
    now = now + (step * x_.float()).unsqueeze(-1) * into.float().unsqueeze(-2)
    if state_batch_indices is None:
        memory.copy_(now)
    else:
        memory[state_batch_indices.long()] = now.to(memory.dtype)
    output = (now @ out_of.float().unsqueeze(-1)).squeeze(-1)
    if D is not None:
        output = output + x_.float() * D.float()
    if z is not None:
        output = output * functional.silu(_with_heads(z, channels_only).float())
    return output.to(x.dtype).view(x.shape)


def _with_heads(x: Tensor, channels_only: bool) -> Tensor:
    return x.unsqueeze(1) if channels_only and x.ndim == 2 else x


@kernel(specs.MAMBA_INNER)
def mamba_inner_fn(
    xz: Tensor,
    conv1d_weight: Tensor,
    conv1d_bias: Tensor | None,
    x_proj_weight: Tensor,
    delta_proj_weight: Tensor,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    A: Tensor,
    B: Tensor | None = None,
    C: Tensor | None = None,
    D: Tensor | None = None,
    delta_bias: Tensor | None = None,
    B_proj_bias: Tensor | None = None,
    C_proj_bias: Tensor | None = None,
    delta_softplus: bool = True,
    checkpoint_lvl: int = 1,
    b_rms_weight: Tensor | None = None,
    c_rms_weight: Tensor | None = None,
    dt_rms_weight: Tensor | None = None,
    b_c_dt_rms_eps: float = 1e-6,
) -> Tensor:
    """A Mamba mixer after its input projection.

    Args:
        xz: input and gate [B, 2D, T].
        conv1d_weight: [D, 1, W]; conv1d_bias: [D].
        x_proj_weight: [R+2N, D]; delta_proj_weight: [D, R].
        out_proj_weight: [M, D]; out_proj_bias: [M].
        A: [D, N], real; D, delta_bias: [D].
        B, C: given instead of projected from the input, see :func:`selective_scan_fn`.
        B_proj_bias, C_proj_bias: [N], added to the projected B and C.
        b_rms_weight, c_rms_weight: gains [N] of root-mean-square norms on B and C; dt_rms_weight: on the step [D].
        checkpoint_lvl: memory of training; no effect here.

    Returns:
        [B, T, M].
    """
    x, z = xz.chunk(2, dim=1)
    x, _ = convolve(x, conv1d_weight.squeeze(1), conv1d_bias, None, None, "silu")
    projected = functional.linear(x.transpose(1, 2), x_proj_weight)
    rank, states = delta_proj_weight.shape[1], A.shape[-1]
    low, into, out_of = torch.split(projected, [rank, states, projected.shape[-1] - rank - states], dim=-1)
    delta = _rms(functional.linear(low, delta_proj_weight), dt_rms_weight, b_c_dt_rms_eps).transpose(1, 2)
    if B is not None:
        into = B
    else:
        into = into if B_proj_bias is None else into + B_proj_bias.to(into.dtype)
        into = _rms(into, b_rms_weight, b_c_dt_rms_eps).transpose(1, 2)
    if C is not None:
        out_of = C
    else:
        out_of = out_of[..., out_of.shape[-1] - states :]
        out_of = out_of if C_proj_bias is None else out_of + C_proj_bias.to(out_of.dtype)
        out_of = _rms(out_of, c_rms_weight, b_c_dt_rms_eps).transpose(1, 2)
    y, _ = selective_scan(x, delta, A, into, out_of, D, z, delta_bias, delta_softplus)
    return functional.linear(y.transpose(1, 2), out_proj_weight, out_proj_bias)


def _rms(x: Tensor, weight: Tensor | None, eps: float) -> Tensor:
    if weight is None:
        return x
    wide = x.float()
    return (wide * (wide.square().mean(-1, keepdim=True) + eps).rsqrt() * weight.float()).to(x.dtype)
