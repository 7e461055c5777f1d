"""What decoding keeps of earlier positions.

Axes: B batch, H heads, P cached and T new positions, S = P + T, K and V features of a key and a value.
"""

from __future__ import annotations

import numpy as np

from openmodelatlas.catalogue.references.elementary import Array


def append_keys_and_values(cached_keys: Array, keys: Array, cached_values: Array, values: Array) -> tuple[Array, Array]:
    """The cache of one layer, longer by the new positions.

    Args:
        cached_keys: [B, H, P, K]; without elements before the first position.
        keys: [B, H, T, K], rotated already.
        cached_values: [B, H, P, V]; without elements before the first position.
        values: [B, H, T, V].

    Returns:
        Keys [B, H, S, K] and values [B, H, S, V] (arXiv 1911.02150; ``transformers`` 5.24.0,
        ``cache_utils.py``, ``DynamicLayer.update``).
    """
    return _behind(cached_keys, keys), _behind(cached_values, values)


def append_latents(cached_latents: Array, latents: Array, cached_key: Array, key: Array) -> tuple[Array, Array]:
    """The cache of one layer of latent attention, longer by the new positions.

    Args:
        cached_latents: [B, (1,) P, kv_lora_rank]; without elements before the first position.
        latents: [B, (1,) T, kv_lora_rank], normalised.
        cached_key: the part of the key that all heads share, [B, (1,) P, qk_rope_head_dim].
        key: [B, (1,) T, qk_rope_head_dim], rotated already where the model rotates it.

    Returns:
        Latents [B, (1,) S, kv_lora_rank] and shared key [B, (1,) S, qk_rope_head_dim] (arXiv 2405.04434, section 2.1).
    """
    return _behind(cached_latents, latents), _behind(cached_key, key)


def keep_window(all_keys: Array, all_values: Array, window: int) -> tuple[Array, Array]:
    """What a layer with a sliding window keeps for the next position.

    Args:
        all_keys: [B, H, S, K].
        all_values: [B, H, S, V].
        window: number of positions that a query sees, its own included.

    Returns:
        The last min(S, window - 1) positions of keys and values (``transformers`` 5.24.0, ``cache_utils.py``,
        ``DynamicSlidingWindowLayer.update``).
    """
    first = max(all_keys.shape[2] - (window - 1), 0)
    return all_keys[:, :, first:], all_values[:, :, first:]


def replace_state(new_state: Array) -> Array:
    """The new state takes the place of the old one: […] to […] (``transformers``, ``LinearAttentionLayer``)."""
    return new_state


def _behind(cached: Array, new: Array) -> Array:
    """Both along the second last axis; an empty cache has no axes yet."""
    return new if cached.size == 0 else np.concatenate([cached, new], axis=-2)
