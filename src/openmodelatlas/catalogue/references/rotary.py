"""Rotary position embedding: pairs of features turned by an angle that grows with the position."""

from __future__ import annotations

import numpy as np

from openmodelatlas.catalogue.references.elementary import Array


def rotate_halves(x: Array, cos: Array, sin: Array) -> Array:
    """Feature i turns together with feature i + D/2.

    Args:
        x: ``[..., T, D]``.
        cos: ``[..., T, D]`` with both halves equal, or ``[..., T, D/2]``.
        sin: as ``cos``.

    Returns:
        ``[..., T, D]``: first all first features of the pairs, then all second ones.

    Source: Su et al. (2021), arXiv 2104.09864, equation 34, with the pairs of GPT-NeoX.
    """
    half = x.shape[-1] // 2
    first, second = x[..., :half], x[..., half:]
    cos, sin = _angles(cos, x), _angles(sin, x)
    return np.concatenate([first * cos - second * sin, second * cos + first * sin], axis=-1)


def rotate_pairs(x: Array, cos: Array, sin: Array, interleaved: bool = False) -> Array:
    """Feature 2i turns together with feature 2i + 1.

    Args:
        x: ``[..., T, D]``.
        cos: ``[..., T, D]`` with both halves equal, or ``[..., T, D/2]``.
        sin: as ``cos``.
        interleaved: whether the results stand where the features stood; else all first ones stand before all second
            ones.

    Returns:
        ``[..., T, D]``.

    Source: Su et al. (2021), arXiv 2104.09864, equation 34; the order of the results as in ``transformers`` 5.24.0,
    ``apply_rotary_pos_emb_interleave`` of DeepSeek V3.
    """
    first, second = x[..., 0::2], x[..., 1::2]
    cos, sin = _angles(cos, x), _angles(sin, x)
    turned = (first * cos - second * sin, second * cos + first * sin)
    if interleaved:
        return np.stack(turned, axis=-1).reshape(x.shape)
    return np.concatenate(turned, axis=-1)


def _angles(table: Array, x: Array) -> Array:
    """One number a pair, ``[..., T, D/2]``, with an axis for the heads where the table has none."""
    table = table[..., : x.shape[-1] // 2]
    return table if table.ndim in (2, x.ndim) else np.expand_dims(table, -3)
