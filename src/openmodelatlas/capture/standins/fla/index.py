"""Helpers of ``fla`` for packed sequences. The originals keep recent results; ours compute them each time."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from openmodelatlas.capture.standins.registry import kernel
from openmodelatlas.capture.standins.specs import fla as specs


@kernel(specs.PREPARE_LENS)
def prepare_lens(cu_seqlens: Tensor) -> Tensor:
    """Lengths [N] of packed sequences with starts ``cu_seqlens`` [N+1]."""
    return torch.diff(cu_seqlens)


@kernel(specs.PREPARE_LENS_FROM_MASK)
def prepare_lens_from_mask(mask: Tensor) -> Tensor:
    """Lengths [B], int32, of the sequences of a padded batch with ``mask`` [B, T]."""
    return mask.sum(dim=-1, dtype=torch.int32)


@kernel(specs.PREPARE_CU_SEQLENS_FROM_LENS)
def prepare_cu_seqlens_from_lens(lens: Tensor, dtype: torch.dtype | None = torch.int32) -> Tensor:
    """Starts [N+1] of packed sequences with lengths ``lens`` [N]."""
    return starts(lens, dtype)


@kernel(specs.PREPARE_CU_SEQLENS_FROM_MASK)
def prepare_cu_seqlens_from_mask(mask: Tensor, dtype: torch.dtype | None = torch.int32) -> Tensor:
    """Starts [B+1] of the sequences of a padded batch with ``mask`` [B, T], once they are packed."""
    return starts(mask.sum(dim=-1, dtype=torch.int32), dtype)


@kernel(specs.PREPARE_POSITION_IDS)
def prepare_position_ids(cu_seqlens: Tensor, cu_seqlens_cpu: Tensor | None = None) -> Tensor:
    """Position of each token within its sequence [T], in the type of ``cu_seqlens`` [N+1]; not on the meta device."""
    lens = torch.diff(cu_seqlens if cu_seqlens_cpu is None else cu_seqlens_cpu)
    first = torch.repeat_interleave(lens.cumsum(0) - lens, lens)
    return (torch.arange(first.shape[0], device=first.device) - first).to(cu_seqlens)


def starts(lens: Tensor, dtype: torch.dtype | None) -> Tensor:
    """Zero, then the cumulative sums of ``lens`` [N]: [N+1]."""
    return functional.pad(lens.cumsum(dim=0, dtype=dtype), (1, 0))
