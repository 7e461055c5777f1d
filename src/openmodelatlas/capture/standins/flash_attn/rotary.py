"""``flash_attn.layers.rotary``: rotary position embedding."""

from __future__ import annotations

import torch
from torch import Tensor

from openmodelatlas.capture.standins.registry import kernel, public
from openmodelatlas.capture.standins.sequences import spans
from openmodelatlas.capture.standins.specs import flash_attn as specs


def rotate(
    x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool, offsets: int | Tensor, *, same_place: bool = False
) -> Tensor:
    """Turns the first R features of ``x`` [B, T, H, D] by the angles of their positions, in float32.

    Args:
        x: input.
        cos, sin: [positions, R/2].
        interleaved: whether neighbouring features form a pair, rather than the two halves of the R features.
        offsets: position of the first token, one number or [B].
        same_place: whether all tokens stand at the first one's position.

    Raises:
        ValueError: R exceeds D.
    """
    turned = cos.shape[-1] * 2
    if turned > x.shape[-1]:
        raise ValueError(f"cannot turn {turned} of {x.shape[-1]} features")
    steps = torch.arange(x.shape[1], device=x.device)
    first = torch.as_tensor(offsets, device=x.device).reshape(-1, 1)
    places = (first + (torch.zeros_like(steps) if same_place else steps)).expand(x.shape[0], -1)
    cosine, sine = cos[places].float().unsqueeze(2), sin[places].float().unsqueeze(2)
    head, tail = x[..., :turned].float(), x[..., turned:]
    if interleaved:
        a, b = head[..., 0::2], head[..., 1::2]
    else:
        a, b = head.chunk(2, dim=-1)
    new_a, new_b = a * cosine - b * sine, a * sine + b * cosine
    new = torch.stack([new_a, new_b], dim=-1).flatten(-2) if interleaved else torch.cat([new_a, new_b], dim=-1)
    return torch.cat([new.to(x.dtype), tail], dim=-1)


@kernel(specs.APPLY_ROTARY)
def apply_rotary_emb(
    x: Tensor,
    cos: Tensor,
    sin: Tensor,
    interleaved: bool = False,
    inplace: bool = False,
    seqlen_offsets: int | Tensor = 0,
    cu_seqlens: Tensor | None = None,
    max_seqlen: int | None = None,
) -> Tensor:
    """Rotary position embedding of the first R features.

    Args:
        x: [B, T, H, D], or packed [ΣT, H, D] with ``cu_seqlens``.
        cos, sin: [positions, R/2].
        interleaved: whether neighbouring features form a pair, rather than the two halves of the R features.
        inplace: whether ``x`` itself is overwritten and returned.
        seqlen_offsets: position of the first token, one number or [B].
        cu_seqlens: starts of packed sequences, and the end [B+1].
        max_seqlen: longest sequence; schedule of the GPU, no effect here.

    Returns:
        Like ``x``.

    Raises:
        ValueError: R exceeds D.
    """
    if x.is_meta:
        return x if inplace else torch.empty_like(x)
    if cu_seqlens is None:
        output = rotate(x, cos, sin, interleaved, seqlen_offsets)
    else:
        output = x.clone()
        for number, (start, end) in enumerate(spans(cu_seqlens)):
            offset = seqlen_offsets if isinstance(seqlen_offsets, int) else int(seqlen_offsets[number])
            output[start:end] = rotate(x[start:end].unsqueeze(0), cos, sin, interleaved, offset).squeeze(0)
    return x.copy_(output) if inplace else output


public("flash_attn.layers.rotary.apply_rotary_emb_func")(apply_rotary_emb)
