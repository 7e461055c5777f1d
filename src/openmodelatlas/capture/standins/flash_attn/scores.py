"""The attention of ``flash_attn`` in float32: scores, masks aligned at the last token, softmax."""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor

from openmodelatlas.capture.standins.absent import refuse
from openmodelatlas.capture.standins.sequences import spans

Window = tuple[int, int]
EVERYTHING: Window = (-1, -1)


@dataclasses.dataclass(frozen=True)
class Options:
    """What every variant of the kernel takes.

    Attributes:
        scale: of the scores, 1/√D if ``None``.
        causal: whether a query sees only keys up to its own position.
        window: keys seen to the left and to the right of that position; negative for all.
        softcap: c of c·tanh(score/c); 0 for none.
    """

    scale: float | None
    causal: bool
    window: tuple[int, int]
    softcap: float


def checked(
    name: str,
    dropout_p: float,
    softmax_scale: float | None,
    causal: bool,
    window_size: Window,
    softcap: float,
    alibi_slopes: Tensor | None,
    return_attn_probs: bool,
) -> Options:
    """The options a kernel was called with.

    Raises:
        UnsupportedCallError: dropout, ALiBi, returned probabilities.
    """
    if dropout_p:
        refuse(name, "dropout_p", dropout_p)
    if alibi_slopes is not None:
        refuse(name, "alibi_slopes", alibi_slopes)
    if return_attn_probs:
        refuse(name, "return_attn_probs", True)
    return Options(softmax_scale, causal, window_size, softcap)


def attend(q: Tensor, k: Tensor, v: Tensor, options: Options) -> tuple[Tensor, Tensor]:
    """Attention over a padded batch.

    Args:
        q: [B, Tq, H, D].
        k: [B, Tk, HK, D].
        v: [B, Tk, HK, DV].
        options: see :class:`Options`.

    Returns:
        [B, Tq, H, DV] in the type of ``q``, and log Σ exp of the scores [B, H, Tq] in float32.

    Raises:
        ValueError: H is no multiple of HK.
    """
    batch, queries, heads, size = q.shape
    keys, shared = k.shape[1:3]
    if heads % shared:
        raise ValueError(f"{heads} query heads must be a multiple of {shared} key-value heads")
    if q.is_meta:
        return q.new_empty((batch, queries, heads, v.shape[-1])), q.new_empty(
            (batch, heads, queries), dtype=torch.float32
        )
    wide_k, wide_v = (x.float().transpose(1, 2).repeat_interleave(heads // shared, dim=1) for x in (k, v))
    scale = size**-0.5 if options.scale is None else options.scale
    scores = scale * q.float().transpose(1, 2) @ wide_k.transpose(-1, -2)
    if options.softcap > 0:
        scores = options.softcap * torch.tanh(scores / options.softcap)
    scores = scores.masked_fill(~_visible(queries, keys, options, q.device), float("-inf"))
    weights = torch.softmax(scores, dim=-1).nan_to_num(nan=0.0)  # a query that sees no key gets zero
    return (weights @ wide_v).transpose(1, 2).to(q.dtype), torch.logsumexp(scores, dim=-1)


def attend_packed(q: Tensor, k: Tensor, v: Tensor, starts_q: Tensor, starts_k: Tensor, options: Options) -> Tensor:
    """Attention within each packed sequence: ``q`` [ΣTq, H, D], ``k`` and ``v`` [ΣTk, HK, D] to [ΣTq, H, D].

    Raises:
        ValueError: H is no multiple of HK, or the numbers of sequences differ.
    """
    if starts_q.shape != starts_k.shape:
        raise ValueError(f"{starts_q.shape[0] - 1} query sequences need as many of keys, not {starts_k.shape[0] - 1}")
    output = q.new_zeros((*q.shape[:2], v.shape[-1]))
    if q.is_meta:
        return output
    for (from_q, to_q), (from_k, to_k) in zip(spans(starts_q), spans(starts_k), strict=True):
        pieces = q[from_q:to_q].unsqueeze(0), k[from_k:to_k].unsqueeze(0), v[from_k:to_k].unsqueeze(0)
        output[from_q:to_q] = attend(*pieces, options)[0].squeeze(0)
    return output


def _visible(queries: int, keys: int, options: Options, device: torch.device) -> Tensor:
    """Which key [Tk] each query [Tq] sees; query i is at position i + Tk - Tq."""
    left, right = options.window
    if options.causal:
        right = 0
    place = torch.arange(queries, device=device).unsqueeze(1) + (keys - queries)
    distance = torch.arange(keys, device=device) - place
    seen = torch.ones_like(distance, dtype=torch.bool)
    if left >= 0:
        seen &= distance >= -left
    if right >= 0:
        seen &= distance <= right
    return seen
