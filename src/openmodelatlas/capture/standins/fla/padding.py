"""Helpers of ``fla.layers.utils``: packing a padded batch and undoing it."""

from __future__ import annotations

import torch
from torch import Tensor

from openmodelatlas.capture.standins.fla.index import starts
from openmodelatlas.capture.standins.registry import kernel
from openmodelatlas.capture.standins.specs import fla as specs


@kernel(specs.GET_UNPAD_DATA)
def get_unpad_data(attention_mask: Tensor) -> tuple[Tensor, Tensor, int]:
    """Where the tokens of a padded batch are.

    On the meta device, where a mask has no values, no token counts as padding.

    Args:
        attention_mask: [B, T], non-zero for tokens.

    Returns:
        Indices of the tokens in the flattened batch [tokens]; starts of the packed sequences [B+1], int32; length of
        the longest.
    """
    return unpadding(attention_mask)


def unpadding(mask: Tensor) -> tuple[Tensor, Tensor, int]:
    """What :func:`get_unpad_data` does, without being an event."""
    lens = mask.sum(dim=-1, dtype=torch.int32)
    if mask.is_meta:
        return torch.empty(mask.numel(), dtype=torch.int64, device="meta"), starts(lens, torch.int32), mask.shape[1]
    indices = mask.flatten().nonzero().flatten()
    return indices, starts(lens, torch.int32), int(lens.max())


@kernel(specs.INDEX_FIRST_AXIS)
def index_first_axis(x: Tensor, indices: Tensor) -> Tensor:
    """Rows ``indices`` [tokens] of ``x`` [B·T, …]: [tokens, …]."""
    return x[indices]


@kernel(specs.INDEX_PUT_FIRST_AXIS)
def index_put_first_axis(x: Tensor, indices: Tensor, first_axis_dim: int) -> Tensor:
    """Zeros [first_axis_dim, …] with rows ``indices`` [tokens] set to those of ``x`` [tokens, …]."""
    return scattered(x, indices, first_axis_dim)


def scattered(x: Tensor, indices: Tensor, rows: int) -> Tensor:
    """What :func:`index_put_first_axis` does, without being an event."""
    output = x.new_zeros(rows, *x.shape[1:])
    output[indices] = x
    return output


@kernel(specs.PAD_INPUT)
def pad_input(hidden_states: Tensor, indices: Tensor, batch_size: int, seq_len: int) -> Tensor:
    """Packed tokens [tokens, …] back in a padded batch [B, T, …]; padding is zero."""
    flat = scattered(hidden_states, indices, batch_size * seq_len)
    return flat.view(batch_size, seq_len, *flat.shape[1:])


@kernel(specs.UNPAD_INPUT)
def unpad_input(
    q: Tensor | tuple[Tensor, ...],
    states: tuple[Tensor, ...],
    attention_mask: Tensor,
    q_len: int,
    keepdim: bool = False,
) -> tuple[Tensor | tuple[Tensor, ...], tuple[Tensor, ...], Tensor, tuple[Tensor, Tensor], tuple[int, int]]:
    """Packs queries and states of a padded batch.

    Args:
        q: queries [B, q_len, …], or several.
        states: keys, values and the like [B, T, …].
        attention_mask: [B, T], non-zero for tokens.
        q_len: T, or 1 when decoding.
        keepdim: whether packed tensors keep a batch axis of one.

    Returns:
        Packed queries, packed states, indices of the queries, starts of packed queries and states [B+1], and the
        longest of each.

    Raises:
        NotImplementedError: another ``q_len``; the original raises it too.
    """
    indices, starts_k, longest_k = unpadding(attention_mask)
    batch, length = states[0].shape[:2]
    packed = tuple(state.flatten(0, 1)[indices] for state in states)
    queries = (q,) if isinstance(q, Tensor) else q
    if q_len == length:
        queries = tuple(query.flatten(0, 1)[indices] for query in queries)
        indices_q, starts_q, longest_q = indices, starts_k, longest_k
    elif q_len == 1:
        queries = tuple(query.squeeze(1) for query in queries)
        starts_q, longest_q = torch.arange(batch + 1, dtype=torch.int32, device=queries[0].device), 1
        indices_q = starts_q[:-1]
    else:
        raise NotImplementedError(f"{q_len} queries for {length} states: only as many, or one, are supported")
    if keepdim:
        queries = tuple(query.unsqueeze(0) for query in queries)
        packed = tuple(state.unsqueeze(0) for state in packed)
    return (
        queries[0] if isinstance(q, Tensor) else queries,
        packed,
        indices_q,
        (starts_q, starts_k),
        (longest_q, longest_k),
    )
