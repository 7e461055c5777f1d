"""The short causal convolution of ``fla`` and its module."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from openmodelatlas.capture.standins.absent import refuse
from openmodelatlas.capture.standins.registry import kernel, public
from openmodelatlas.capture.standins.sequences import check_packed, spans
from openmodelatlas.capture.standins.specs import fla as specs

BACKENDS = ("triton", "cuda", "mix")


@kernel(specs.CAUSAL_CONV1D)
def causal_conv1d(
    x: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    residual: Tensor | None = None,
    initial_state: Tensor | None = None,
    output_final_state: bool | None = False,
    activation: str | None = None,
    backend: str | None = "triton",
    cu_seqlens: Tensor | None = None,
    cu_seqlens_cpu: Tensor | None = None,
    chunk_indices: Tensor | None = None,
    cp_context: Any = None,
    **unknown: Any,
) -> tuple[Tensor, Tensor | None]:
    """Causal convolution along the tokens, each channel on its own, computed in float32.

    Args:
        x: [B, T, D], or [B, T, …] with D features in all.
        weight: [D, W].
        bias: [D].
        residual: like ``x``; added after the activation.
        initial_state: the W inputs before the first token [N, D, W]; zero if ``None``.
        output_final_state: whether to return the last W inputs.
        activation: ``silu`` (also called ``swish``) or ``None``.
        cu_seqlens: starts of packed sequences [N+1].
        backend, cu_seqlens_cpu, chunk_indices: schedule of the GPU; no effect here.

    Returns:
        Output like ``x``, and the final state [N, D, W] in the type of ``x`` or ``None``.

    Raises:
        ValueError: arguments that contradict each other.
        UnsupportedCallError: no weight, context parallelism, or an argument the kernel does not have.
    """
    name = specs.CAUSAL_CONV1D.name
    if cp_context is not None:
        refuse(name, "cp_context", cp_context)
    if weight is None:
        refuse(name, "weight", "None")
    if backend not in BACKENDS:
        raise ValueError(f"the backend must be one of {', '.join(BACKENDS)}, not {backend}")
    for argument, value in unknown.items():
        refuse(name, argument, value)
    return convolve(x, weight, bias, residual, initial_state, bool(output_final_state), activation, cu_seqlens)


@kernel(specs.CAUSAL_CONV1D_UPDATE)
def causal_conv1d_update(
    x: Tensor,
    cache: Tensor,
    residual: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    activation: str | None = None,
) -> tuple[Tensor, Tensor]:
    """One token for each of N sequences; ``cache`` is updated in place.

    Args:
        x: N tokens as [N, D], [N, 1, D] or [1, N, D].
        cache: the last W inputs [N, D, W].
        residual: like ``x``; added after the activation.
        weight: [D, W].
        bias: [D].
        activation: ``silu`` (also called ``swish``) or ``None``.

    Returns:
        Output like ``x``, and ``cache`` itself.

    Raises:
        UnsupportedCallError: no weight.
    """
    if weight is None:
        refuse(specs.CAUSAL_CONV1D_UPDATE.name, "weight", "None")
    return update(x, cache, residual, weight, bias, activation)


@public("fla.modules.ShortConvolution", "fla.modules.convolution.ShortConvolution", "fla.modules.conv.ShortConvolution")
@public("fla.modules.causal_conv1d.ShortConvolution")
class ShortConvolution(nn.Conv1d):
    """Causal convolution along the tokens, each channel on its own, with its cache for decoding.

    Parameters are those of a depthwise ``nn.Conv1d``: ``weight`` [D, 1, W] and, if asked for, ``bias`` [D]
    (fla-core 0.6.0, fla/modules/causal_conv1d/ops.py ShortConvolution).

    Attributes:
        hidden_size: channels D.
        activation: ``silu``, ``swish`` or ``None``.
        backend: kept for callers that read it; no effect.
    """

    def __init__(
        self,
        hidden_size: int,
        kernel_size: int,
        bias: bool = False,
        activation: str | None = "silu",
        backend: str | None = "triton",
        device: torch.device | None = None,
        dtype: torch.dtype | None = None,
        **unknown: Any,
    ) -> None:
        super().__init__(
            in_channels=hidden_size,
            out_channels=hidden_size,
            kernel_size=kernel_size,
            padding=kernel_size - 1,
            groups=hidden_size,
            bias=bias,
            device=device,
            dtype=dtype,
        )
        if activation not in {None, "silu", "swish"}:
            raise ValueError(f"the activation must be silu, swish or None, not {activation}")
        if backend not in BACKENDS:
            raise ValueError(f"the backend must be one of {', '.join(BACKENDS)}, not {backend}")
        for argument, value in unknown.items():
            if argument != "use_fast_conv1d":  # an older choice of kernel
                refuse(specs.SHORT_CONVOLUTION.name, argument, value)
        self.hidden_size = hidden_size
        self.activation = activation
        self.backend = backend

    def forward(  # type: ignore[override]  # fla's class changes the signature of nn.Conv1d in the same way
        self,
        x: Tensor,
        residual: Tensor | None = None,
        mask: Tensor | None = None,
        cache: Tensor | None = None,
        output_final_state: bool = False,
        cu_seqlens: Tensor | None = None,
        chunk_indices: Tensor | None = None,
        **unknown: Any,
    ) -> tuple[Tensor, Tensor | None]:
        """Output [B, T, D] and the cache of the last W inputs [N, D, W], or ``None`` for the latter.

        Without gradients and with one token for each sequence, ``cache`` is updated in place and returned; otherwise
        the returned cache is new. ``mask`` [B, T] multiplies ``x`` in place first.
        """
        for argument, value in unknown.items():
            refuse(specs.SHORT_CONVOLUTION.name, argument, value)
        return _short_convolution(
            x,
            self.weight,
            self.bias,
            self.activation,
            residual=residual,
            mask=mask,
            cache=cache,
            output_final_state=output_final_state,
            cu_seqlens=cu_seqlens,
        )

    @property
    def state_size(self) -> int:
        """Elements of the cache for one sequence, D·W."""
        return self.hidden_size * self.kernel_size[0]


@kernel(specs.SHORT_CONVOLUTION, importable=False)
def _short_convolution(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    activation: str | None,
    *,
    residual: Tensor | None,
    mask: Tensor | None,
    cache: Tensor | None,
    output_final_state: bool,
    cu_seqlens: Tensor | None,
) -> tuple[Tensor, Tensor | None]:
    kernel_rows = weight.squeeze(1)
    if mask is not None:
        if cu_seqlens is not None:
            raise ValueError("mask and cu_seqlens exclude each other")
        x = x.mul_(mask.unsqueeze(-1))
    if not torch.is_grad_enabled() and _one_token_each(x, cu_seqlens):
        if cache is None:
            sequences = check_packed(x.shape[0], cu_seqlens)
            cache = x.new_zeros(sequences, *kernel_rows.shape)
        output, cache = update(x, cache, residual, kernel_rows, bias, activation)
        return output, cache if output_final_state else None
    return convolve(x, kernel_rows, bias, residual, cache, output_final_state, activation, cu_seqlens)


def _one_token_each(x: Tensor, cu_seqlens: Tensor | None) -> bool:
    batch, tokens = x.shape[:2]
    if cu_seqlens is None:
        return tokens == 1
    if batch * tokens != cu_seqlens.shape[0] - 1:
        return False
    # On the meta device lengths are unknown; as many tokens as sequences means one each but for empty sequences.
    return cu_seqlens.is_meta or bool((cu_seqlens.diff() == 1).all())


def convolve(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    residual: Tensor | None,
    initial_state: Tensor | None,
    output_final_state: bool,
    activation: str | None,
    cu_seqlens: Tensor | None,
) -> tuple[Tensor, Tensor | None]:
    """What :func:`causal_conv1d` does, without being an event."""
    channels, width = weight.shape
    flat = x.flatten(2) if x.shape[-1] != channels else x
    sequences = check_packed(flat.shape[0], cu_seqlens, initial_state)
    if x.is_meta:
        final = x.new_empty(sequences, channels, width) if output_final_state else None
        return torch.empty_like(x), final
    if initial_state is None:
        initial_state = x.new_zeros(sequences, channels, width)
    if cu_seqlens is None:
        output, final = _slide(flat, initial_state, weight)
    else:
        output = flat.new_zeros(flat.shape, dtype=torch.float32)  # tokens after the last sequence belong to none
        finals = []
        for number, (start, end) in enumerate(spans(cu_seqlens)):
            output[:, start:end], last = _slide(flat[:, start:end], initial_state[number : number + 1], weight)
            finals.append(last)
        final = torch.cat(finals)
    output = _finish(output.reshape(x.shape), bias, activation, residual).to(x.dtype)
    return output, final.to(x.dtype) if output_final_state else None


def update(
    x: Tensor,
    cache: Tensor,
    residual: Tensor | None,
    weight: Tensor,
    bias: Tensor | None,
    activation: str | None,
) -> tuple[Tensor, Tensor]:
    """What :func:`causal_conv1d_update` does, without being an event."""
    tokens = x.reshape(cache.shape[0], weight.shape[0], 1).float()
    window = torch.cat([cache[..., 1:].float(), tokens], dim=-1)
    output = (window * weight.float()).sum(-1)
    cache.copy_(window)
    return _finish(output.view(x.shape), bias, activation, residual).to(x.dtype), cache


def _slide(x: Tensor, history: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """Weighted windows [B, T, D] over ``x`` [B, T, D] after ``history`` [B, D, W], and the last W inputs; float32."""
    width = weight.shape[1]
    inputs = torch.cat([history.float(), x.float().transpose(1, 2)], dim=-1)
    final = inputs[..., inputs.shape[-1] - width :]
    if x.shape[1] == 0:
        return x.float(), final
    windows = inputs[..., 1:].unfold(-1, width, 1)
    return (windows * weight.float().unsqueeze(1)).sum(-1).transpose(1, 2), final


def _finish(output: Tensor, bias: Tensor | None, activation: str | None, residual: Tensor | None) -> Tensor:
    if bias is not None:
        output = output + bias.float()
    if activation in {"silu", "swish"}:
        output = functional.silu(output)
    elif activation is not None:
        raise ValueError(f"the activation must be silu, swish or None, not {activation}")
    if residual is not None:
        output = output + residual.float().view(output.shape)
    return output
