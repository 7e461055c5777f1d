"""Norms of ``fla``: root-mean-square and layer norm, plain and gated, and the length of a vector."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from openmodelatlas.capture.standins.normalise import residual_norm
from openmodelatlas.capture.standins.registry import kernel, public
from openmodelatlas.capture.standins.sequences import l2_normalise
from openmodelatlas.capture.standins.specs import fla as specs

Normed = Tensor | tuple[Tensor, Tensor]
GATES = ("swish", "silu", "sigmoid")


def _gated(normed: Tensor, g: Tensor, activation: str) -> Tensor:
    gate = g.float().reshape(normed.shape)
    if activation not in GATES:
        raise ValueError(f"the activation must be one of {', '.join(GATES)}, not {activation}")
    return normed * (torch.sigmoid(gate) if activation == "sigmoid" else functional.silu(gate))


@kernel(specs.RMS_NORM)
def rms_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    residual: Tensor | None = None,
    eps: float = 1e-5,
    prenorm: bool = False,
    residual_in_fp32: bool = False,
) -> Normed:
    """Root-mean-square norm of ``x`` [..., D] (plus ``residual``) over the last axis, in the type of ``x``.

    With ``prenorm`` the sum before the norm is returned too.
    """
    normed, kept = residual_norm(x, weight, bias, residual, eps, residual_in_fp32, centred=False)
    return (normed.to(x.dtype), kept) if prenorm else normed.to(x.dtype)


@kernel(specs.LAYER_NORM)
def layer_norm(
    x: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    residual: Tensor | None = None,
    eps: float = 1e-5,
    prenorm: bool = False,
    residual_in_fp32: bool = False,
) -> Normed:
    """Layer norm of ``x`` [..., D] (plus ``residual``) over the last axis, in the type of ``x``.

    With ``prenorm`` the sum before the norm is returned too.
    """
    normed, kept = residual_norm(x, weight, bias, residual, eps, residual_in_fp32, centred=True)
    return (normed.to(x.dtype), kept) if prenorm else normed.to(x.dtype)


@kernel(specs.RMS_NORM_GATED)
def rms_norm_gated(
    x: Tensor,
    g: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    activation: str = "swish",
    residual: Tensor | None = None,
    prenorm: bool = False,
    residual_in_fp32: bool = False,
    eps: float = 1e-6,
) -> Normed:
    """Root-mean-square norm of ``x`` [..., D] times the activated gate ``g`` [..., D], in the type of ``x``.

    The gate is ``silu`` (also called ``swish``) or ``sigmoid`` of ``g``, and applied after gain and bias.
    """
    normed, kept = residual_norm(x, weight, bias, residual, eps, residual_in_fp32, centred=False)
    output = _gated(normed, g, activation).to(x.dtype)
    return (output, kept) if prenorm else output


@kernel(specs.LAYER_NORM_GATED)
def layer_norm_gated(
    x: Tensor,
    g: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    activation: str = "swish",
    residual: Tensor | None = None,
    prenorm: bool = False,
    residual_in_fp32: bool = False,
    eps: float = 1e-6,
) -> Normed:
    """Layer norm of ``x`` [..., D] times the activated gate ``g`` [..., D], in the type of ``x``."""
    normed, kept = residual_norm(x, weight, bias, residual, eps, residual_in_fp32, centred=True)
    output = _gated(normed, g, activation).to(x.dtype)
    return (output, kept) if prenorm else output


@kernel(specs.L2NORM)
def l2norm(x: Tensor, eps: float = 1e-6, output_dtype: torch.dtype | None = None) -> Tensor:
    """``x`` [..., D] divided by its length along the last axis, in its own type unless another is given."""
    return l2_normalise(x, eps).to(output_dtype or x.dtype)


class _Norm(nn.Module):
    """Gain and, if asked for, bias of a norm over ``hidden_size`` features."""

    weight: nn.Parameter | None
    bias: nn.Parameter | None

    def __init__(
        self,
        hidden_size: int,
        elementwise_affine: bool = True,
        bias: bool = False,
        eps: float = 1e-5,
        device: torch.device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.elementwise_affine = elementwise_affine
        self.eps = eps
        self.register_parameter("weight", None)
        self.register_parameter("bias", None)
        if elementwise_affine:
            self.weight = nn.Parameter(torch.ones(hidden_size, device=device, dtype=dtype))
            if bias:
                self.bias = nn.Parameter(torch.zeros(hidden_size, device=device, dtype=dtype))

    def reset_parameters(self) -> None:
        """Gain one, bias zero."""
        if self.weight is not None:
            nn.init.ones_(self.weight)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def extra_repr(self) -> str:
        """Size and the constant under the root."""
        return f"{self.hidden_size}, eps={self.eps}"


@public("fla.modules.RMSNorm", "fla.modules.layernorm.RMSNorm", "fla.modules.norm.RMSNorm")
class RMSNorm(_Norm):
    """Root-mean-square norm with ``weight`` [D] (fla-core 0.6.0, fla/modules/norm/layernorm.py RMSNorm)."""

    def forward(
        self, x: Tensor, residual: Tensor | None = None, prenorm: bool = False, residual_in_fp32: bool = False
    ) -> Normed:
        """See :func:`rms_norm`."""
        return rms_norm(x, self.weight, self.bias, residual, self.eps, prenorm, residual_in_fp32)


@public("fla.modules.LayerNorm", "fla.modules.layernorm.LayerNorm", "fla.modules.norm.LayerNorm")
class LayerNorm(_Norm):
    """Layer norm with ``weight`` [D] (fla-core 0.6.0, fla/modules/norm/layernorm.py LayerNorm)."""

    def forward(
        self, x: Tensor, residual: Tensor | None = None, prenorm: bool = False, residual_in_fp32: bool = False
    ) -> Normed:
        """See :func:`layer_norm`."""
        return layer_norm(x, self.weight, self.bias, residual, self.eps, prenorm, residual_in_fp32)


@public("fla.modules.FusedRMSNormGated", "fla.modules.fused_norm_gate.FusedRMSNormGated")
@public("fla.modules.norm.FusedRMSNormGated")
class FusedRMSNormGated(_Norm):
    """Gated root-mean-square norm with ``weight`` [D] (fla-core 0.6.0, fla/modules/norm/fused_norm_gate.py)."""

    def __init__(
        self,
        hidden_size: int,
        elementwise_affine: bool = True,
        eps: float = 1e-5,
        activation: str = "swish",
        device: torch.device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(hidden_size, elementwise_affine, eps=eps, device=device, dtype=dtype)
        if activation not in GATES:
            raise ValueError(f"the activation must be one of {', '.join(GATES)}, not {activation}")
        self.activation = activation

    def forward(
        self,
        x: Tensor,
        g: Tensor,
        residual: Tensor | None = None,
        prenorm: bool = False,
        residual_in_fp32: bool = False,
    ) -> Normed:
        """See :func:`rms_norm_gated`."""
        return rms_norm_gated(
            x, g, self.weight, self.bias, self.activation, residual, prenorm, residual_in_fp32, self.eps
        )


@public("fla.modules.FusedLayerNormGated", "fla.modules.fused_norm_gate.FusedLayerNormGated")
class FusedLayerNormGated(_Norm):
    """Gated layer norm with ``weight`` and, if asked for, ``bias`` [D] (same file as :class:`FusedRMSNormGated`)."""

    def __init__(
        self,
        hidden_size: int,
        elementwise_affine: bool = True,
        bias: bool = False,
        activation: str = "swish",
        eps: float = 1e-5,
        device: torch.device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(hidden_size, elementwise_affine, bias, eps, device, dtype)
        if activation not in GATES:
            raise ValueError(f"the activation must be one of {', '.join(GATES)}, not {activation}")
        self.activation = activation

    def forward(
        self,
        x: Tensor,
        g: Tensor,
        residual: Tensor | None = None,
        prenorm: bool = False,
        residual_in_fp32: bool = False,
    ) -> Normed:
        """See :func:`layer_norm_gated`."""
        return layer_norm_gated(
            x, g, self.weight, self.bias, self.activation, residual, prenorm, residual_in_fp32, self.eps
        )


@public("fla.modules.FusedRMSNormSwishGate", "fla.modules.fused_norm_gate.FusedRMSNormSwishGate")
class FusedRMSNormSwishGate(FusedRMSNormGated):
    """:class:`FusedRMSNormGated` with a SiLU gate."""

    def __init__(
        self,
        hidden_size: int,
        elementwise_affine: bool = True,
        eps: float = 1e-5,
        device: torch.device | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__(hidden_size, elementwise_affine, eps, "swish", device, dtype)


@public("fla.modules.L2Norm", "fla.modules.l2norm.L2Norm", "fla.modules.norm.L2Norm")
class L2Norm(nn.Module):
    """Divides vectors by their length (fla-core 0.6.0, fla/modules/norm/l2norm.py L2Norm)."""

    def __init__(self, eps: float = 1e-6, output_dtype: torch.dtype | None = None) -> None:
        super().__init__()
        self.eps = eps
        self.output_dtype = output_dtype

    def forward(self, x: Tensor) -> Tensor:
        """See :func:`l2norm`."""
        return l2norm(x, self.eps, self.output_dtype)
