"""``causal_conv1d_fn``, ``causal_conv1d_update`` and ``causal_conv1d_varlen_states``."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from openmodelatlas.capture.standins.absent import refuse
from openmodelatlas.capture.standins.registry import kernel
from openmodelatlas.capture.standins.sequences import spans
from openmodelatlas.capture.standins.specs import causal_conv1d as specs


@kernel(specs.CAUSAL_CONV1D_FN)
def causal_conv1d_fn(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    seq_idx: Tensor | None = None,
    initial_states: Tensor | None = None,
    return_final_states: bool = False,
    final_states_out: Tensor | None = None,
    activation: str | None = None,
) -> Tensor | tuple[Tensor, Tensor]:
    """Causal convolution along the tokens, each channel on its own, computed in float32.

    Args:
        x: [B, D, T].
        weight: [D, W].
        bias: [D].
        seq_idx: number of the sequence of each token [B, T]; inputs of other sequences count as zero, and the output
            is zero where the number is negative.
        initial_states: inputs before the first token [B, D, W-1]; zero if ``None``.
        return_final_states: whether to return the last W-1 inputs.
        final_states_out: where to write them [B, D, W-1].
        activation: ``silu`` (also called ``swish``) or ``None``.

    Returns:
        Output [B, D, T] in the type of ``x``, with ``return_final_states`` and the final states in that type.

    Raises:
        NotImplementedError: another activation.
        ValueError: final states together with ``seq_idx``.
    """
    if seq_idx is not None and return_final_states:
        raise ValueError("seq_idx and return_final_states exclude each other")
    output, inputs = convolve(x, weight, bias, seq_idx, initial_states, activation)
    if not return_final_states:
        return output
    final = inputs[..., inputs.shape[-1] - (weight.shape[1] - 1) :].to(x.dtype)
    return output, final if final_states_out is None else final_states_out.copy_(final)


def convolve(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    seq_idx: Tensor | None,
    initial_states: Tensor | None,
    activation: str | None,
) -> tuple[Tensor, Tensor]:
    """What :func:`causal_conv1d_fn` does, without being an event; also the inputs with what came before them."""
    batch, channels, tokens = x.shape
    width = weight.shape[1]
    if initial_states is None:
        initial_states = x.new_zeros(batch, channels, width - 1)
    inputs = torch.cat([initial_states.float(), x.float()], dim=-1)
    if tokens == 0:
        return torch.empty_like(x), inputs
    windows = inputs.unfold(-1, width, 1)
    if seq_idx is not None:
        before = seq_idx[:, :1].expand(-1, width - 1)
        same = torch.cat([before, seq_idx], dim=-1).unfold(-1, width, 1) == seq_idx.unsqueeze(-1)
        windows = windows * same.unsqueeze(1)
    output = (windows * weight.float().unsqueeze(1)).sum(-1)
    if bias is not None:
        output = output + bias.float().unsqueeze(-1)
    if seq_idx is not None:
        output = output.masked_fill((seq_idx < 0).unsqueeze(1), 0.0)
    return activated(output, activation).to(x.dtype), inputs


@kernel(specs.CAUSAL_CONV1D_UPDATE)
def causal_conv1d_update(
    x: Tensor,
    conv_state: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    activation: str | None = None,
    cache_seqlens: Tensor | None = None,
    conv_state_indices: Tensor | None = None,
) -> Tensor:
    """The next tokens of a convolution; ``conv_state`` is updated in place.

    Args:
        x: [B, D] or [B, D, T].
        conv_state: past inputs [B, D, S] with S ≥ W-1, the latest last; or, with ``cache_seqlens``, a ring.
        weight: [D, W].
        bias: [D].
        activation: ``silu`` (also called ``swish``) or ``None``.
        cache_seqlens: tokens seen so far [B]; the next token is written at this number modulo S.
        conv_state_indices: rows of a larger ``conv_state`` that belong to the batch [B].

    Returns:
        Output like ``x``.

    Raises:
        NotImplementedError: another activation.
        UnsupportedCallError: both kinds of index at once.
    """
    if cache_seqlens is not None and conv_state_indices is not None:
        refuse(specs.CAUSAL_CONV1D_UPDATE.name, "conv_state_indices together with cache_seqlens")
    tokens = x.unsqueeze(-1) if x.ndim == 2 else x
    count, width, length = tokens.shape[-1], weight.shape[1], conv_state.shape[-1]
    if cache_seqlens is None:
        past = conv_state if conv_state_indices is None else conv_state[conv_state_indices.long()]
        inputs = torch.cat([past.float(), tokens.float()], dim=-1)
        latest = inputs[..., inputs.shape[-1] - length :].to(conv_state.dtype)
        if conv_state_indices is None:
            conv_state.copy_(latest)
        else:
            conv_state[conv_state_indices.long()] = latest
    else:
        seen = cache_seqlens.long().unsqueeze(1)
        read = (seen + torch.arange(1 - width, 0, device=x.device)) % length
        write = (seen + torch.arange(count, device=x.device)) % length
        past = conv_state.gather(2, read.unsqueeze(1).expand(-1, tokens.shape[1], -1))
        inputs = torch.cat([past.float(), tokens.float()], dim=-1)
        conv_state.scatter_(2, write.unsqueeze(1).expand(-1, tokens.shape[1], -1), tokens.to(conv_state.dtype))
    windows = inputs[..., inputs.shape[-1] - count - width + 1 :].unfold(-1, width, 1)
    output = (windows * weight.float().unsqueeze(1)).sum(-1)
    if bias is not None:
        output = output + bias.float().unsqueeze(-1)
    return activated(output, activation).to(x.dtype).view(x.shape)


@kernel(specs.CAUSAL_CONV1D_VARLEN_STATES)
def causal_conv1d_varlen_states(x: Tensor, cu_seqlens: Tensor, state_len: int) -> Tensor:
    """Last ``state_len`` inputs [N, D, S] of packed sequences ``x`` [T, D], zeros before their starts."""
    states = x.new_zeros(cu_seqlens.shape[0] - 1, x.shape[1], state_len)
    if x.is_meta:
        return states
    for number, (start, end) in enumerate(spans(cu_seqlens)):
        kept = x[max(start, end - state_len) : end]
        states[number, :, state_len - kept.shape[0] :] = kept.T
    return states


def activated(x: Tensor, activation: str | None) -> Tensor:
    """SiLU of ``x``, or ``x``.

    Raises:
        NotImplementedError: any other activation.
    """
    if activation in {"silu", "swish"}:
        return functional.silu(x)
    if activation is None:
        return x
    raise NotImplementedError(f"the activation must be silu, swish or None, not {activation}")
