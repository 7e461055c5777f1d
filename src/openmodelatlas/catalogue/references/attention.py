"""Attention: every position reads a weighted mean of the values of the positions that it sees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from openmodelatlas.catalogue.references.elementary import Array, Integers, Truths, linear, sigmoid, softmax
from openmodelatlas.catalogue.references.norms import rms_norm
from openmodelatlas.catalogue.references.rotary import rotate_pairs


def scaled_dot_product(
    q: Array,
    k: Array,
    v: Array,
    scale: float | None = None,
    mask: NDArray[Any] | None = None,
    lowest: float = -np.inf,
    seen: Truths | None = None,
    upright: bool = False,
    causal: bool = False,
    hidden: Truths | None = None,
) -> tuple[Array, Array]:
    """Weights from products of queries and keys; a weighted mean of the values.

    Args:
        q: ``[..., T, D]``.
        k: keys as the product reads them, transposed: ``[..., D, S]``.
        v: ``[..., S, V]``.
        scale: of the products; 1 unless it is given.
        mask: added to the scores.
        lowest: score of what is hidden.
        seen: marks what is visible.
        upright: whether ``k`` is not transposed, ``[..., S, D]``, as torch's own function takes it; fewer heads of keys
            and values than of queries are then repeated, and the scale is 1/√D unless it is given.
        causal: whether a query sees no later key; both are then counted from the start.
        hidden: marks what is hidden.

    Returns:
        Weights ``[..., T, S]`` and outputs ``[..., T, V]`` (Vaswani et al., arXiv 1706.03762, equation 1).
    """
    if upright:
        shared = q.shape[-3] // k.shape[-3]
        k, v = np.repeat(np.swapaxes(k, -1, -2), shared, axis=-3), np.repeat(v, shared, axis=-3)
        scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = (1.0 if scale is None else scale) * (q @ k)
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=np.bool_), scores, -np.inf)
    if seen is not None:
        scores = np.where(seen, scores, lowest)
    if hidden is not None:
        scores = np.where(hidden, lowest, scores)
    if mask is not None:
        if mask.dtype == np.bool_:
            return NotImplemented  # type: ignore[no-any-return]  # truths are not added, they are `seen` or `hidden`
        scores = scores + mask
    weights = softmax(scores)
    return weights, weights @ v


def grouped_query(
    q: Array, k: Array, v: Array, scale: float = 1.0, mask: NDArray[Any] | None = None
) -> tuple[Array, Array]:
    """Scaled dot-product attention in which several query heads share one head of keys and values.

    Args:
        q: ``[B, H, T, D]``.
        k: ``[B, G, S, D]``, H a multiple of G and larger.
        v: ``[B, G, S, V]``.
        scale: of the products.
        mask: added to the scores.

    Returns:
        Weights ``[B, H, T, S]`` and outputs ``[B, H, T, V]`` (Ainslie et al., arXiv 2305.13245, section 2.2).
    """
    if k.ndim != 4 or q.ndim != 4 or q.shape[1] <= k.shape[1] or q.shape[1] % k.shape[1]:
        return NotImplemented  # type: ignore[no-any-return]
    shared = q.shape[1] // k.shape[1]
    keys, values = np.repeat(k, shared, axis=1), np.repeat(v, shared, axis=1)
    return scaled_dot_product(q, np.swapaxes(keys, -1, -2), values, scale, mask)


def causal_mask(i: Integers, j: Integers, hidden: float | None = None, visible: Any = 0.0) -> NDArray[Any]:
    """What each position may read: itself and the positions before it.

    Args:
        i: positions of queries, ``[..., T, 1]``.
        j: positions of keys, ``[..., 1, S]``.
        hidden: what is added to the score of a later position; without it the result says what is visible.
        visible: what is added to the others.

    Returns:
        ``[..., T, S]`` (arXiv 1706.03762, section 3.2.3).
    """
    if i.shape[-1] != 1 or (j.ndim > 1 and j.shape[-2] != 1):
        return NotImplemented  # type: ignore[no-any-return]
    seen = np.broadcast_to(j <= i, np.broadcast_shapes(i.shape, j.shape))
    return seen if hidden is None else np.where(seen, visible, hidden)


def low_rank(
    x: Array,
    A: Array,  # noqa: N803
    B: Array,  # noqa: N803
    eps: float,
    g: Array,
    narrowed: bool = False,
    past: Array | None = None,
) -> Array:
    """A projection through a narrow latent, which is normalised before it is widened again.

    Args:
        x: ``[..., d]``.
        A: into the latent, ``[r, d]``, or ``[r + D_R, d]`` where further features follow the latent.
        B: out of it, ``[n, r]``.
        eps: of the RMSNorm of the latent.
        g: its gain, ``[r]``.
        narrowed: whether only the first r features are the latent.
        past: normalised latents of earlier positions, ``[..., P, r]``.

    Returns:
        ``[..., n]`` (DeepSeek-AI, arXiv 2405.04434, equations 9–13; the norms in section 3.1.2).
    """
    latent = linear(x, A)
    if narrowed:
        latent = latent[..., : B.shape[-1]]
    return linear(_behind(past, rms_norm(latent, eps, g)), B)


def decoupled_rotary(content: Array, rotated: Array) -> Array:
    """A head of two parts: one that knows nothing of positions, and one that is rotated.

    Args:
        content: ``[B, H, T, N]``.
        rotated: ``[B, H or 1, T, R]``; one head of it serves all.

    Returns:
        ``[B, H, T, N + R]`` (arXiv 2405.04434, equations 14–17).
    """
    shape = (*content.shape[:-1], rotated.shape[-1])
    return np.concatenate([content, np.broadcast_to(rotated, shape)], axis=-1)


def multi_head_latent(
    x: Array,
    Q_B: Array,  # noqa: N803
    C: Array,  # noqa: N803
    g_c: Array,
    U: Array,  # noqa: N803
    O: Array,  # noqa: N803, E741
    scale: float,
    eps: float,
    content: list[int],
    Q_A: Array | None = None,  # noqa: N803
    g_q: Array | None = None,
    cos: Array | None = None,
    sin: Array | None = None,
    mask: NDArray[Any] | None = None,
    lowest: float = -np.inf,
    seen: Truths | None = None,
    G: Array | None = None,  # noqa: N803
    past: Array | None = None,
    past_key: Array | None = None,
) -> Array:
    """Attention whose keys and values come from one latent, beside one rotated key that all heads share.

    Args:
        x: ``[B, T, d]``.
        Q_B: to the queries, ``[H (N + R), r_q]``, or from ``x`` where queries have no latent.
        C: into the latent and the shared key, ``[r + R, d]``.
        g_c: gain of the latent's norm, ``[r]``.
        U: from the latent to keys and values, ``[H (N + V), r]``.
        O: of all heads to the output, ``[d, H V]``.
        scale: of the scores.
        eps: of both norms.
        content: sizes N and V of a head's key without position and of its value.
        Q_A: into the latent of the queries, ``[r_q, d]``.
        g_q: gain of its norm, ``[r_q]``.
        cos: ``[..., T, R]`` or ``[..., T, R/2]``; without it nothing is rotated.
        sin: as ``cos``.
        mask: added to the scores.
        lowest: score of what is hidden.
        seen: marks what is visible.
        G: of the gate on the heads' outputs, ``[H V, d]``.
        past: normalised latents of earlier positions, ``[B, (1,) P, r]``.
        past_key: their shared keys, rotated, ``[B, (1,) P, R]``.

    Returns:
        ``[B, T, d]`` (DeepSeek-AI, arXiv 2405.04434, equations 9–19).
    """
    plain, value_size = content
    batch, positions, _ = x.shape
    heads = U.shape[0] // (plain + value_size)
    query_latent = x if Q_A is None else rms_norm(linear(x, Q_A), eps, g_q)
    queries = _heads(linear(query_latent, Q_B), heads)
    rotary_size = queries.shape[-1] - plain
    down = linear(x, C)
    latent, shared_key = down[..., :-rotary_size], down[..., -rotary_size:]
    latent = _behind(past, rms_norm(latent, eps, g_c))
    widened = _heads(linear(latent, U), heads)
    keys, values = widened[..., :plain], widened[..., plain:]
    query_part, key_part = queries[..., plain:], shared_key[:, None]
    if cos is not None and sin is not None:
        query_part, key_part = rotate_pairs(query_part, cos, sin), rotate_pairs(key_part, cos, sin)
    key_part = _behind(past_key, key_part)
    queries = np.concatenate([queries[..., :plain], query_part], axis=-1)
    keys = decoupled_rotary(keys, key_part)
    _, outputs = scaled_dot_product(queries, np.swapaxes(keys, -1, -2), values, scale, mask, lowest, seen)
    outputs = np.swapaxes(outputs, 1, 2).reshape(batch, positions, heads * value_size)
    if G is not None:
        outputs = outputs * sigmoid(linear(x, G))
    return linear(outputs, O)


def _behind(past: Array | None, new: Array) -> Array:
    """Earlier positions before the new ones; both ``[B, …, T, n]``."""
    if past is None or past.size == 0:
        return new
    return np.concatenate([past.reshape(*new.shape[:-2], -1, new.shape[-1]), new], axis=-2)


def _heads(features: Array, heads: int) -> Array:
    """``[B, T, H n]`` to ``[B, H, T, n]``."""
    batch, positions, width = features.shape
    return np.swapaxes(features.reshape(batch, positions, heads, width // heads), 1, 2)
