"""The decay gate of Kimi Delta Attention."""

# ruff: noqa: N803 - names and order of the arguments are those of the original
from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from openmodelatlas.capture.standins.absent import refuse
from openmodelatlas.capture.standins.registry import kernel
from openmodelatlas.capture.standins.specs import fla as specs


def log_decay(g: Tensor, log_rate: Tensor | None, bias: Tensor | None, lower_bound: float | None) -> Tensor:
    """Logarithm of the decay, in float32.

    With a lower bound: lower_bound · σ(e^A (g + b)), so that each step keeps at least e^lower_bound of the state;
    without: -e^A softplus(g + b) (fla-core 0.6.0, fla/ops/kda/gate.py kda_gate_fwd_kernel).

    Args:
        g: input of the gate [..., H, K].
        log_rate: A, H elements; may be ``None`` with a lower bound, and the rate is then 1.
        bias: b, H·K elements, or ``None``.
        lower_bound: negative number, or ``None``.

    Raises:
        ValueError: neither rate nor lower bound.
    """
    heads = g.shape[-2]
    gate = g.float()
    if bias is not None:
        gate = gate + bias.float().view(heads, -1)
    rate = None if log_rate is None else log_rate.float().reshape(heads, 1).exp()
    if lower_bound is not None:
        return lower_bound * torch.sigmoid(gate if rate is None else rate * gate)
    if rate is None:
        raise ValueError("the gate needs A_log, or a lower_bound")
    return -rate * functional.softplus(gate)


@kernel(specs.FUSED_KDA_GATE)
def fused_kda_gate(
    g: Tensor,
    A_log: Tensor | None = None,
    dt_bias: Tensor | int | None = None,
    lower_bound: float | None = None,
    output_dtype: torch.dtype = torch.float32,
    *,
    A: Tensor | None = None,
    head_k_dim: int | None = None,
    g_bias: Tensor | None = None,
    beta: float = 1.0,
    threshold: float = 20.0,
) -> Tensor:
    """Logarithm of the decay [..., H, K] from the gate's input.

    Two calls are understood: that of fla-core 0.6.0, with ``g`` [..., H, K], and that of 0.4.0, with ``g``
    [..., H·K] and the key size ``head_k_dim`` (third positional argument there), for which Kimi Linear's first code
    was written.

    Raises:
        UnsupportedCallError: ``beta`` or ``threshold`` other than softplus's own.
    """
    if isinstance(dt_bias, int):
        dt_bias, head_k_dim = None, dt_bias
    if beta != 1.0:
        refuse(specs.FUSED_KDA_GATE.name, "beta", beta)
    if threshold != 20.0:
        refuse(specs.FUSED_KDA_GATE.name, "threshold", threshold)
    if head_k_dim is not None:
        g = g.reshape(*g.shape[:-1], -1, head_k_dim)
    bias = g_bias if dt_bias is None else dt_bias
    return log_decay(g, A if A_log is None else A_log, bias, lower_bound).to(output_dtype)
