"""``flash_attn.bert_padding``: packing a padded batch and undoing it."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from openmodelatlas.capture.standins.registry import kernel
from openmodelatlas.capture.standins.specs import flash_attn as specs


@kernel(specs.UNPAD_INPUT)
def unpad_input(
    hidden_states: Tensor, attention_mask: Tensor, unused_mask: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor, int, Tensor]:
    """Packs a padded batch.

    On the meta device, where a mask has no values, no token counts as padding.

    Args:
        hidden_states: [B, T, …].
        attention_mask: [B, T], non-zero for tokens.
        unused_mask: further places to keep [B, T].

    Returns:
        Kept places [tokens, …]; their indices in the flattened batch [tokens]; starts of the packed sequences [B+1],
        int32; length of the longest; tokens of each sequence, without the unused ones [B], int32.
    """
    kept = attention_mask if unused_mask is None else attention_mask + unused_mask
    lengths = kept.sum(dim=-1, dtype=torch.int32)
    starts = functional.pad(lengths.cumsum(dim=0, dtype=torch.int32), (1, 0))
    used = attention_mask.sum(dim=-1, dtype=torch.int32)
    if kept.is_meta:
        indices, longest = torch.empty(kept.numel(), dtype=torch.int64, device="meta"), kept.shape[1]
    else:
        indices, longest = kept.flatten().nonzero().flatten(), int(lengths.max())
    return hidden_states.flatten(0, 1)[indices], indices, starts, longest, used


@kernel(specs.PAD_INPUT)
def pad_input(hidden_states: Tensor, indices: Tensor, batch: int, seqlen: int) -> Tensor:
    """Packed tokens [tokens, …] back in a padded batch [B, T, …]; padding is zero."""
    flat = _scattered(hidden_states, indices, batch * seqlen)
    return flat.view(batch, seqlen, *flat.shape[1:])


@kernel(specs.INDEX_FIRST_AXIS)
def index_first_axis(input: Tensor, indices: Tensor) -> Tensor:  # noqa: A002 - the original's name
    """Rows ``indices`` [tokens] of ``input`` [B·T, …]: [tokens, …]."""
    return input[indices]


@kernel(specs.INDEX_PUT_FIRST_AXIS)
def index_put_first_axis(values: Tensor, indices: Tensor, first_axis_dim: int) -> Tensor:
    """Zeros [first_axis_dim, …] with rows ``indices`` [tokens] set to those of ``values`` [tokens, …]."""
    return _scattered(values, indices, first_axis_dim)


def _scattered(values: Tensor, indices: Tensor, rows: int) -> Tensor:
    output = values.new_zeros(rows, *values.shape[1:])
    output[indices] = values
    return output
