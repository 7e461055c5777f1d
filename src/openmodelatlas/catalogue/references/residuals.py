"""Attention residuals: what travels between layers beside one residual stream (arXiv 2603.15031).

Axes: B batch, T positions, d hidden size, R sums stored so far. "Lines" are those of PyPI's ``llmcompressor`` 0.14.0.1,
``modeling/kimi_k3/modeling_kimi_linear.py``.
"""

from __future__ import annotations

import numpy as np

from openmodelatlas.catalogue.references.elementary import Array, softmax


def store_sum(stored_sums: Array, running_sum: Array) -> Array:
    """Puts the running sum behind the stored ones.

    Args:
        stored_sums: [B, T, R, d].
        running_sum: [B, T, 1, d].

    Returns:
        [B, T, R + 1, d] (lines 1105-1174).
    """
    return np.concatenate([stored_sums, running_sum], axis=2)


def mix_sums(stored_sums: Array, running_sum: Array, gain: Array, projection: Array, eps: float) -> Array:
    """Attention over depth: a softmax-weighted mean of the stored sums and the running sum.

    Args:
        stored_sums: [B, T, R, d].
        running_sum: [B, T, 1, d].
        gain: of the norm, [d].
        projection: the learned query, d elements.
        eps: of the norm.

    Returns:
        [B, T, d]: the keys are the normalised sums, the values the raw ones, scores are not scaled by the size
        (lines 1210-1223).
    """
    sums = store_sum(stored_sums, running_sum)
    keys = gain * sums / np.sqrt(np.mean(sums**2, axis=-1, keepdims=True) + eps)
    weights = softmax(keys @ projection.reshape(-1))
    result: Array = np.einsum("btr,btrd->btd", weights, sums)
    return result


def final_mix(
    stored_sums: Array,
    running_sum: Array,
    gain: Array,
    projection: Array,
    eps: float,
    norm_gain: Array,
    norm_eps: float,
) -> Array:
    """The last mixture, normalised for the head.

    Args:
        stored_sums, running_sum, gain, projection, eps: as in :func:`mix_sums`.
        norm_gain: of the final norm, [d].
        norm_eps: of the final norm.

    Returns:
        [B, T, d] (lines 1252-1413).
    """
    mixed = mix_sums(stored_sums, running_sum, gain, projection, eps)
    result: Array = norm_gain * mixed / np.sqrt(np.mean(mixed**2, axis=-1, keepdims=True) + norm_eps)
    return result
