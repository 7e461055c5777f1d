"""Norms of ``mamba_ssm.ops.triton.layer_norm``, which add a residual first."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from openmodelatlas.capture.standins.absent import refuse
from openmodelatlas.capture.standins.normalise import residual_norm
from openmodelatlas.capture.standins.registry import kernel, public
from openmodelatlas.capture.standins.specs import mamba_ssm as specs

Normed = Tensor | tuple[Tensor, Tensor]


@kernel(specs.RMS_NORM_FN)
def rms_norm_fn(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    residual: Tensor | None = None,
    x1: Tensor | None = None,
    weight1: Tensor | None = None,
    bias1: Tensor | None = None,
    eps: float = 1e-6,
    dropout_p: float = 0.0,
    rowscale: Tensor | None = None,
    prenorm: bool = False,
    residual_in_fp32: bool = False,
    return_dropout_mask: bool = False,
) -> Normed:
    """Root-mean-square norm of ``x`` [..., D] plus ``residual``, in the type of ``x``.

    With ``prenorm`` the sum before the norm is returned too.

    Raises:
        UnsupportedCallError: dropout, row scales, or a second input or weight.
    """
    _check(specs.RMS_NORM_FN.name, x1, weight1, bias1, dropout_p, rowscale, return_dropout_mask)
    normed, kept = residual_norm(x, weight, bias, residual, eps, residual_in_fp32, centred=False)
    return (normed.to(x.dtype), kept) if prenorm else normed.to(x.dtype)


@kernel(specs.LAYER_NORM_FN)
def layer_norm_fn(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    residual: Tensor | None = None,
    x1: Tensor | None = None,
    weight1: Tensor | None = None,
    bias1: Tensor | None = None,
    eps: float = 1e-6,
    dropout_p: float = 0.0,
    rowscale: Tensor | None = None,
    prenorm: bool = False,
    residual_in_fp32: bool = False,
    is_rms_norm: bool = False,
    return_dropout_mask: bool = False,
) -> Normed:
    """Layer norm, or root-mean-square norm with ``is_rms_norm``; otherwise as :func:`rms_norm_fn`."""
    _check(specs.LAYER_NORM_FN.name, x1, weight1, bias1, dropout_p, rowscale, return_dropout_mask)
    normed, kept = residual_norm(x, weight, bias, residual, eps, residual_in_fp32, centred=not is_rms_norm)
    return (normed.to(x.dtype), kept) if prenorm else normed.to(x.dtype)


def _check(
    name: str,
    x1: Tensor | None,
    weight1: Tensor | None,
    bias1: Tensor | None,
    dropout_p: float,
    rowscale: Tensor | None,
    return_dropout_mask: bool,
) -> None:
    for argument, value in {"x1": x1, "weight1": weight1, "bias1": bias1, "rowscale": rowscale}.items():
        if value is not None:
            refuse(name, argument, value)
    if dropout_p or return_dropout_mask:
        refuse(name, "dropout_p, return_dropout_mask")


@public("mamba_ssm.ops.triton.layer_norm.RMSNorm", "mamba_ssm.ops.triton.layernorm.RMSNorm")
class RMSNorm(nn.Module):
    """Root-mean-square norm with ``weight`` [D] (mamba-ssm 2.3.2, mamba_ssm/ops/triton/layer_norm.py RMSNorm)."""

    def __init__(
        self,
        hidden_size: int,
        eps: float = 1e-5,
        dropout_p: float = 0.0,
        device: torch.device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.eps = eps
        self.drop = nn.Dropout(dropout_p) if dropout_p > 0.0 else None
        self.weight = nn.Parameter(torch.ones(hidden_size, device=device, dtype=dtype))
        self.register_parameter("bias", None)

    def reset_parameters(self) -> None:
        """Gain one."""
        nn.init.ones_(self.weight)

    def forward(
        self, x: Tensor, residual: Tensor | None = None, prenorm: bool = False, residual_in_fp32: bool = False
    ) -> Normed:
        """See :func:`rms_norm_fn`."""
        return rms_norm_fn(
            x,
            self.weight,
            None,
            residual=residual,
            eps=self.eps,
            dropout_p=self.drop.p if self.drop is not None and self.training else 0.0,
            prenorm=prenorm,
            residual_in_fp32=residual_in_fp32,
        )
