"""Norms that add a residual first, as several packages have them."""

from __future__ import annotations

import torch
from torch import Tensor


def residual_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    residual: Tensor | None,
    eps: float,
    residual_in_fp32: bool,
    *,
    centred: bool,
) -> tuple[Tensor, Tensor]:
    """Normalised ``x`` [..., D] in float32, and the sum it came from as later layers keep it.

    That sum has the residual's type, or float32 if asked for, or is ``x`` itself without a residual (fla-core 0.6.0,
    fla/modules/norm/layernorm.py layer_norm_fwd; mamba-ssm 2.3.2, mamba_ssm/ops/triton/layer_norm.py _layer_norm_fwd).

    Raises:
        ValueError: the residual has another shape.
    """
    wide = x.float()
    if residual is not None:
        if residual.shape != x.shape:
            raise ValueError(f"the residual {list(residual.shape)} must have the shape of the input {list(x.shape)}")
        wide = wide + residual.float()
    kept_type = residual.dtype if residual is not None else torch.float32 if residual_in_fp32 else x.dtype
    kept = wide.to(kept_type) if residual is not None or kept_type != x.dtype else x
    if centred:
        wide = wide - wide.mean(-1, keepdim=True)
    normed = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + eps)
    if weight is not None:
        normed = normed * weight.float()
    if bias is not None:
        normed = normed + bias.float()
    return normed, kept
