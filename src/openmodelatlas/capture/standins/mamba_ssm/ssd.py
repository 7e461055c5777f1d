"""Mamba-2: ``mamba_chunk_scan_combined`` and ``mamba_split_conv1d_scan_combined``."""

# ruff: noqa: N803 - names and order of the arguments are those of the original
from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from openmodelatlas.capture.standins.absent import refuse
from openmodelatlas.capture.standins.causal_conv1d.convolution import convolve
from openmodelatlas.capture.standins.mamba_ssm.norms import gated_norm
from openmodelatlas.capture.standins.mamba_ssm.state_space import NO_LIMIT, per_head, prepared_step, scan
from openmodelatlas.capture.standins.registry import kernel
from openmodelatlas.capture.standins.specs import mamba_ssm as specs


@kernel(specs.MAMBA_CHUNK_SCAN)
def mamba_chunk_scan_combined(
    x: Tensor,
    dt: Tensor,
    A: Tensor,
    B: Tensor,
    C: Tensor,
    chunk_size: int,
    D: Tensor | None = None,
    z: Tensor | None = None,
    dt_bias: Tensor | None = None,
    initial_states: Tensor | None = None,
    seq_idx: Tensor | None = None,
    cu_seqlens: Tensor | None = None,
    dt_softplus: bool = False,
    dt_limit: tuple[float, float] = NO_LIMIT,
    return_final_states: bool = False,
    return_varlen_states: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Mamba-2's state space along the tokens, in float32.

    Args:
        x: input [B, T, H, P].
        dt: step [B, T, H].
        A: rate [H].
        B, C: [B, T, G, N].
        chunk_size: schedule of the GPU; no effect here.
        D: [H] or [H, P].
        z: gate [B, T, H, P].
        dt_bias: [H].
        initial_states: [B, H, P, N].
        seq_idx: number of the sequence of each token [B, T]; the state restarts from zero where it changes.
        dt_softplus: whether the step goes through a softplus, after its bias.
        dt_limit: least and greatest step, applied last.
        return_final_states: whether to return the final state.

    Returns:
        Output [B, T, H, P] in the type of ``x``, with ``return_final_states`` and the state [B, H, P, N] in float32.

    Raises:
        UnsupportedCallError: final states of packed sequences.
        ValueError: the heads are no multiple of the groups.
    """
    if return_varlen_states or cu_seqlens is not None:
        refuse(specs.MAMBA_CHUNK_SCAN.name, "cu_seqlens, return_varlen_states")
    output, state = chunk_scan(x, dt, A, B, C, D, z, dt_bias, initial_states, seq_idx, dt_softplus, dt_limit)
    return (output, state) if return_final_states else output


def chunk_scan(
    x: Tensor,
    dt: Tensor,
    rate: Tensor,
    into: Tensor,
    out_of: Tensor,
    skip: Tensor | None,
    gate: Tensor | None,
    dt_bias: Tensor | None,
    initial_states: Tensor | None,
    seq_idx: Tensor | None,
    dt_softplus: bool,
    dt_limit: tuple[float, float],
) -> tuple[Tensor, Tensor]:
    """What :func:`mamba_chunk_scan_combined` does, without being an event; always with the final state."""
    batch, _, heads, size = x.shape
    state = x.new_zeros((batch, heads, size, into.shape[-1])).float() if initial_states is None else initial_states
    if x.is_meta:
        return x.new_empty(x.shape), torch.empty_like(state, dtype=torch.float32)
    restart = None
    if seq_idx is not None:
        restart = functional.pad(seq_idx[:, 1:] != seq_idx[:, :-1], (1, 0), value=False)
    output, state = scan(
        x,
        prepared_step(dt, dt_bias, dt_softplus, dt_limit).unsqueeze(-1),
        rate.view(heads, 1, 1),
        per_head(into, heads, axis=2),
        per_head(out_of, heads, axis=2),
        state.float(),
        restart=restart,
    )
    if skip is not None:
        output = output + x.float() * skip.float().view(heads, -1)
    if gate is not None:
        output = output * functional.silu(gate.float())
    return output.to(x.dtype), state


@kernel(specs.MAMBA_SPLIT_CONV1D_SCAN)
def mamba_split_conv1d_scan_combined(
    zxbcdt: Tensor,
    conv1d_weight: Tensor,
    conv1d_bias: Tensor | None,
    dt_bias: Tensor,
    A: Tensor,
    D: Tensor,
    chunk_size: int,
    initial_states: Tensor | None = None,
    seq_idx: Tensor | None = None,
    dt_limit: tuple[float, float] = NO_LIMIT,
    return_final_states: bool = False,
    activation: str | None = "silu",
    rmsnorm_weight: Tensor | None = None,
    rmsnorm_eps: float = 1e-6,
    outproj_weight: Tensor | None = None,
    outproj_bias: Tensor | None = None,
    headdim: int | None = None,
    ngroups: int = 1,
    norm_before_gate: bool = True,
) -> Tensor | tuple[Tensor, Tensor]:
    """A Mamba-2 mixer after its input projection.

    Args:
        zxbcdt: [B, T, 2F + 2·H·P + 2·G·N + H]: two halves of a gated feed-forward of width F ≥ 0, the gate, the
            input, B, C and the step.
        conv1d_weight: [H·P + 2·G·N, W]; conv1d_bias: [H·P + 2·G·N].
        dt_bias, A: [H].
        D: [H, P], or [H] with ``headdim`` P.
        chunk_size: schedule of the GPU; no effect here.
        initial_states, seq_idx, dt_limit, return_final_states: see :func:`mamba_chunk_scan_combined`.
        activation: after the convolution.
        rmsnorm_weight: gain [H·P] of the norm over each of the G groups, gated before or after it
            (``norm_before_gate``); without it the output is gated by SiLU.
        outproj_weight: [M, F + H·P]; outproj_bias: [M].

    Returns:
        [B, T, M], or [B, T, F + H·P] without projection; with ``return_final_states`` and the state [B, H, P, N].

    Raises:
        ValueError: sizes that do not fit together, or a bias without projection.
    """
    heads = D.shape[0]
    size = D.shape[1] if D.ndim == 2 else headdim
    if size is None:
        raise ValueError("with D [H], headdim must be given")
    if outproj_weight is None and outproj_bias is not None:
        raise ValueError("outproj_bias needs outproj_weight")
    width = heads * size
    states = (conv1d_weight.shape[0] - width) // 2
    feed_forward = zxbcdt.shape[-1] - 2 * width - 2 * states - heads
    if feed_forward < 0 or feed_forward % 2:
        raise ValueError(f"zxbcdt has {zxbcdt.shape[-1]} features, which heads, states and gate do not add up to")
    extra, z, mixed, dt = torch.split(zxbcdt, [feed_forward, width, width + 2 * states, heads], dim=-1)
    mixed, _ = convolve(mixed.transpose(1, 2), conv1d_weight, conv1d_bias, seq_idx, None, activation)
    x, into, out_of = torch.split(mixed.transpose(1, 2), [width, states, states], dim=-1)
    shape = (*zxbcdt.shape[:2], ngroups, states // ngroups)
    output, final = chunk_scan(
        x.reshape(*zxbcdt.shape[:2], heads, size),
        dt,
        A,
        into.reshape(shape),
        out_of.reshape(shape),
        D,
        z.reshape(*zxbcdt.shape[:2], heads, size) if rmsnorm_weight is None else None,
        dt_bias,
        initial_states,
        seq_idx,
        True,
        dt_limit,
    )
    output = output.flatten(2)
    if rmsnorm_weight is not None:
        group = width // ngroups
        output = gated_norm(output, rmsnorm_weight, None, z, rmsnorm_eps, group, norm_before_gate, centred=False)
    if feed_forward:
        up, gate = extra.float().chunk(2, dim=-1)
        output = torch.cat([(functional.silu(up) * gate).to(output.dtype), output], dim=-1)
    if outproj_weight is not None:
        output = functional.linear(output, outproj_weight, outproj_bias)
    return (output, final) if return_final_states else output
