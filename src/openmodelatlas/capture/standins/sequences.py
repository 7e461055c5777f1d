"""Packed sequences: what every kernel with ``cu_seqlens`` checks and does alike."""

from __future__ import annotations

import itertools

import torch
from torch import Tensor


def check_packed(batch: int, cu_seqlens: Tensor | None, initial_state: Tensor | None = None) -> int:
    """Number of sequences N: ``batch``, or that of ``cu_seqlens`` [N+1] over a batch of one.

    Raises:
        ValueError: a packed batch is not a batch of one, or the initial states are not one for each sequence.
    """
    if cu_seqlens is None:
        return batch
    sequences = cu_seqlens.shape[0] - 1
    if batch != 1:
        raise ValueError(f"with cu_seqlens the batch must be 1 with the sequences one after another, not {batch}")
    if initial_state is not None and initial_state.shape[0] != sequences:
        raise ValueError(f"{sequences} sequences need as many initial states, not {initial_state.shape[0]}")
    return sequences


def spans(cu_seqlens: Tensor) -> list[tuple[int, int]]:
    """Start and end of each packed sequence; ``cu_seqlens`` [N+1] holds values, so not on the meta device."""
    edges = [int(edge) for edge in cu_seqlens.tolist()]
    return list(itertools.pairwise(edges))


def l2_normalise(x: Tensor, eps: float = 1e-6) -> Tensor:
    """Divides vectors along the last axis by √(Σx² + eps), in float32 (fla-core 0.6.0 fla/modules/norm/l2norm.py)."""
    wide = x.float()
    return wide * torch.rsqrt(wide.square().sum(-1, keepdim=True) + eps)
