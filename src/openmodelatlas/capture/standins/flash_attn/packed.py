"""``flash_attn``: softmax attention within packed sequences."""

from __future__ import annotations

from torch import Tensor

from openmodelatlas.capture.standins.absent import refuse
from openmodelatlas.capture.standins.flash_attn.scores import EVERYTHING, Window, attend_packed, checked
from openmodelatlas.capture.standins.registry import kernel
from openmodelatlas.capture.standins.specs import flash_attn as specs


@kernel(specs.FLASH_ATTN_VARLEN)
def flash_attn_varlen_func(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: Window = EVERYTHING,
    softcap: float = 0.0,
    alibi_slopes: Tensor | None = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
    block_table: Tensor | None = None,
) -> Tensor:
    """Softmax attention within each packed sequence, in float32.

    Args:
        q: [ΣTq, H, D].
        k, v: [ΣTk, HK, D]; H is a multiple of HK.
        cu_seqlens_q, cu_seqlens_k: starts of the sequences, and the end [B+1].
        max_seqlen_q, max_seqlen_k: longest sequences; schedule of the GPU, no effect here.
        softmax_scale, causal, window_size, softcap: see ``flash_attn_func``.

    Returns:
        [ΣTq, H, D] in the type of ``q``.

    Raises:
        UnsupportedCallError: dropout, ALiBi, returned probabilities, paged keys.
        ValueError: heads that do not share evenly, or different numbers of sequences.
    """
    name = specs.FLASH_ATTN_VARLEN.name
    if block_table is not None:
        refuse(name, "block_table", block_table)
    options = checked(name, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, return_attn_probs)
    return attend_packed(q, k, v, cu_seqlens_q, cu_seqlens_k, options)


@kernel(specs.FLASH_ATTN_VARLEN_KVPACKED)
def flash_attn_varlen_kvpacked_func(
    q: Tensor,
    kv: Tensor,
    cu_seqlens_q: Tensor,
    cu_seqlens_k: Tensor,
    max_seqlen_q: int,
    max_seqlen_k: int,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: Window = EVERYTHING,
    softcap: float = 0.0,
    alibi_slopes: Tensor | None = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Tensor:
    """:func:`flash_attn_varlen_func` with keys and values in ``kv`` [ΣTk, 2, HK, D]."""
    name = specs.FLASH_ATTN_VARLEN_KVPACKED.name
    options = checked(name, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, return_attn_probs)
    return attend_packed(q, kv[:, 0], kv[:, 1], cu_seqlens_q, cu_seqlens_k, options)


@kernel(specs.FLASH_ATTN_VARLEN_QKVPACKED)
def flash_attn_varlen_qkvpacked_func(
    qkv: Tensor,
    cu_seqlens: Tensor,
    max_seqlen: int,
    dropout_p: float = 0.0,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: Window = EVERYTHING,
    softcap: float = 0.0,
    alibi_slopes: Tensor | None = None,
    deterministic: bool = False,
    return_attn_probs: bool = False,
) -> Tensor:
    """:func:`flash_attn_varlen_func` with queries, keys and values in ``qkv`` [ΣT, 3, H, D]."""
    name = specs.FLASH_ATTN_VARLEN_QKVPACKED.name
    options = checked(name, dropout_p, softmax_scale, causal, window_size, softcap, alibi_slopes, return_attn_probs)
    return attend_packed(qkv[:, 0], qkv[:, 1], qkv[:, 2], cu_seqlens, cu_seqlens, options)
