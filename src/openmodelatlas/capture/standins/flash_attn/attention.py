"""``flash_attn``: softmax attention over padded batches and caches."""

from __future__ import annotations

import torch
from torch import Tensor

from openmodelatlas.capture.standins.absent import refuse
from openmodelatlas.capture.standins.flash_attn.rotary import rotate
from openmodelatlas.capture.standins.flash_attn.scores import EVERYTHING, Window, attend, checked
from openmodelatlas.capture.standins.registry import kernel
from openmodelatlas.capture.standins.specs import flash_attn as specs


@kernel(specs.FLASH_ATTN)
def flash_attn_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: Window = EVERYTHING,
    softcap: float = 0.0,
    alibi_slopes: Tensor | None = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Tensor:
    """Softmax attention in float32.

    Args:
        q: [B, Tq, H, D].
        k, v: [B, Tk, HK, D]; H is a multiple of HK.
        softmax_scale: scale of the scores, 1/√D unless given.
        causal: whether a query sees only keys up to its own position; the last query is at the last key.
        window_size: keys seen to the left and to the right of that position; -1 for all.
        softcap: c of c·tanh(score/c); 0 for none.
        deterministic: concerns gradients only.

    Returns:
        [B, Tq, H, D] in the type of ``q``; zero for queries that see no key.

    Raises:
        UnsupportedCallError: dropout, ALiBi, returned probabilities.
        ValueError: heads that do not share evenly.
    """
    name = specs.FLASH_ATTN.name
    options = checked(name, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, return_attn_probs)
    return attend(q, k, v, options)[0]


@kernel(specs.FLASH_ATTN_KVPACKED)
def flash_attn_kvpacked_func(
    q: Tensor,
    kv: Tensor,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: Window = EVERYTHING,
    softcap: float = 0.0,
    alibi_slopes: Tensor | None = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Tensor:
    """:func:`flash_attn_func` with keys and values in ``kv`` [B, Tk, 2, HK, D]."""
    name = specs.FLASH_ATTN_KVPACKED.name
    options = checked(name, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, return_attn_probs)
    return attend(q, kv[:, :, 0], kv[:, :, 1], options)[0]


@kernel(specs.FLASH_ATTN_QKVPACKED)
def flash_attn_qkvpacked_func(
    qkv: Tensor,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: Window = EVERYTHING,
    softcap: float = 0.0,
    alibi_slopes: Tensor | None = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Tensor:
    """:func:`flash_attn_func` with queries, keys and values in ``qkv`` [B, T, 3, H, D]."""
    name = specs.FLASH_ATTN_QKVPACKED.name
    options = checked(name, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, return_attn_probs)
    return attend(qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2], options)[0]


@kernel(specs.FLASH_ATTN_WITH_KVCACHE)
def flash_attn_with_kvcache(
    q: Tensor,
    k_cache: Tensor,
    v_cache: Tensor,
    k: Tensor | None = None,
    v: Tensor | None = None,
    rotary_cos: Tensor | None = None,
    rotary_sin: Tensor | None = None,
    cache_seqlens: int | Tensor | None = None,
    cache_batch_idx: Tensor | None = None,
    cache_leftpad: Tensor | None = None,
    block_table: Tensor | None = None,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: Window = EVERYTHING,
    softcap: float = 0.0,
    rotary_interleaved: bool = True,
    alibi_slopes: Tensor | None = None,
    num_splits: int = 0,
    return_softmax_lse: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Attention over a cache, into which new keys and values are written first, in place.

    Args:
        q: [B, Tq, H, D].
        k_cache, v_cache: [Bc, Tmax, HK, D].
        k, v: new keys and values [B, Tnew, HK, D], written after the first ``cache_seqlens`` tokens.
        rotary_cos, rotary_sin: [positions, R/2]; turn new keys, and queries, by their positions.
        cache_seqlens: tokens in the cache before this call, one number or [B]; all of it if ``None``.
        cache_batch_idx: rows of the cache that belong to the batch [B].
        softmax_scale, causal, window_size, softcap: see :func:`flash_attn_func`.
        rotary_interleaved: whether neighbouring features form a pair, rather than the two halves.
        num_splits: schedule of the GPU; no effect here.
        return_softmax_lse: whether to return log Σ exp of the scores.

    Returns:
        [B, Tq, H, D] in the type of ``q``, with ``return_softmax_lse`` and [B, H, Tq] in float32.

    Raises:
        UnsupportedCallError: ALiBi, paged or left-padded caches.
        ValueError: no room for the new keys, heads that do not share evenly, or rotation without new keys.
    """
    name = specs.FLASH_ATTN_WITH_KVCACHE.name
    for argument, value in {"cache_leftpad": cache_leftpad, "block_table": block_table}.items():
        if value is not None:
            refuse(name, argument, value)
    options = checked(name, 0.0, softmax_scale, causal, window_size, softcap, alibi_slopes, False)
    if q.is_meta:
        both = attend(q, k_cache, v_cache, options)
        return both if return_softmax_lse else both[0]
    batch = q.shape[0]
    lengths = _lengths(cache_seqlens, batch, 0 if k is not None else k_cache.shape[1])
    if rotary_cos is not None and rotary_sin is not None:
        if k is None:
            raise ValueError("rotary_cos needs new keys")
        offsets = torch.tensor(lengths, device=q.device)
        k = rotate(k, rotary_cos, rotary_sin, rotary_interleaved, offsets)
        same_place = not causal and window_size == EVERYTHING
        q = rotate(q, rotary_cos, rotary_sin, rotary_interleaved, offsets, same_place=same_place)
    rows = range(batch) if cache_batch_idx is None else [int(row) for row in cache_batch_idx.tolist()]
    results = []
    for number, (row, length) in enumerate(zip(rows, lengths, strict=True)):
        end = length
        if k is not None and v is not None:
            end = _write(k_cache, k, number, row, length)
            _write(v_cache, v, number, row, length)
        results.append(attend(q[number, None], k_cache[row, None, :end], v_cache[row, None, :end], options))
    output = torch.cat([result for result, _ in results])
    return (output, torch.cat([lse for _, lse in results])) if return_softmax_lse else output


def _write(cache: Tensor, new: Tensor, number: int, row: int, start: int) -> int:
    """Writes sequence ``number`` of ``new`` [B, Tnew, …] into a row of the cache and returns where it ends."""
    end = start + new.shape[1]
    if end > cache.shape[1]:
        raise ValueError(f"a cache of {cache.shape[1]} tokens has no room for {end}")
    cache[row, start:end] = new[number].to(cache.dtype)
    return end


def _lengths(cache_seqlens: int | Tensor | None, batch: int, unknown: int) -> list[int]:
    if cache_seqlens is None:
        return [unknown] * batch
    if isinstance(cache_seqlens, int):
        return [cache_seqlens] * batch
    return [int(length) for length in cache_seqlens.tolist()]
