"""Gated norms of ``mamba_ssm``."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from openmodelatlas.capture.standins.registry import kernel, public
from openmodelatlas.capture.standins.specs import mamba_ssm as specs


def gated_norm(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    z: Tensor | None,
    eps: float,
    group_size: int | None,
    norm_before_gate: bool,
    *,
    centred: bool,
) -> Tensor:
    """Norm of ``x`` [..., D] over groups of features, gated by SiLU of ``z``; in float32, result in the type of ``x``.

    Raises:
        ValueError: ``group_size`` does not divide D.
    """
    wide = x.float()
    gate = None if z is None else functional.silu(z.float())
    if gate is not None and not norm_before_gate:
        wide = wide * gate
    size = x.shape[-1] if group_size is None else group_size
    if x.shape[-1] % size:
        raise ValueError(f"groups of {size} features do not divide {x.shape[-1]}")
    groups = wide.reshape(*x.shape[:-1], -1, size)
    if centred:
        groups = groups - groups.mean(-1, keepdim=True)
    groups = groups * torch.rsqrt(groups.square().mean(-1, keepdim=True) + eps)
    output = groups.view(x.shape) * weight.float()
    if bias is not None:
        output = output + bias.float()
    if gate is not None and norm_before_gate:
        output = output * gate
    return output.to(x.dtype)


@kernel(specs.RMSNORM_FN)
def rmsnorm_fn(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    z: Tensor | None = None,
    eps: float = 1e-6,
    group_size: int | None = None,
    norm_before_gate: bool = True,
) -> Tensor:
    """Root-mean-square norm of ``x`` [..., D] over groups of ``group_size`` features, gated by SiLU of ``z``.

    The gate multiplies the result (``norm_before_gate``) or the input.
    """
    return gated_norm(x, weight, bias, z, eps, group_size, norm_before_gate, centred=False)


@kernel(specs.LAYERNORM_FN)
def layernorm_fn(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    z: Tensor | None = None,
    eps: float = 1e-6,
    group_size: int | None = None,
    norm_before_gate: bool = True,
    is_rms_norm: bool = False,
) -> Tensor:
    """Layer norm of ``x`` [..., D] over groups of ``group_size`` features, gated by SiLU of ``z``."""
    return gated_norm(x, weight, bias, z, eps, group_size, norm_before_gate, centred=not is_rms_norm)


class _GatedNorm(nn.Module):
    weight: nn.Parameter
    bias: nn.Parameter | None

    def __init__(
        self,
        hidden_size: int,
        eps: float = 1e-5,
        group_size: int | None = None,
        norm_before_gate: bool = True,
        device: torch.device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(hidden_size, device=device, dtype=dtype))
        self.register_parameter("bias", None)
        self.group_size = group_size
        self.norm_before_gate = norm_before_gate

    def reset_parameters(self) -> None:
        """Gain one, bias zero."""
        nn.init.ones_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)


@public("mamba_ssm.ops.triton.layernorm_gated.RMSNorm")
class RMSNorm(_GatedNorm):
    """Root-mean-square norm with ``weight`` [D] (mamba-ssm 2.3.2, mamba_ssm/ops/triton/layernorm_gated.py)."""

    def forward(self, x: Tensor, z: Tensor | None = None) -> Tensor:
        """See :func:`rmsnorm_fn`."""
        return rmsnorm_fn(x, self.weight, self.bias, z, self.eps, self.group_size, self.norm_before_gate)


@public("mamba_ssm.ops.triton.layernorm_gated.LayerNorm")
class LayerNorm(_GatedNorm):
    """Layer norm with ``weight`` and ``bias`` [D] (mamba-ssm 2.3.2, mamba_ssm/ops/triton/layernorm_gated.py)."""

    def __init__(
        self,
        hidden_size: int,
        eps: float = 1e-5,
        group_size: int | None = None,
        norm_before_gate: bool = True,
        device: torch.device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(hidden_size, eps, group_size, norm_before_gate, device, dtype)
        self.bias = nn.Parameter(torch.zeros(hidden_size, device=device, dtype=dtype))

    def forward(self, x: Tensor, z: Tensor | None = None) -> Tensor:
        """See :func:`layernorm_fn`."""
        return layernorm_fn(x, self.weight, self.bias, z, self.eps, self.group_size, self.norm_before_gate)
