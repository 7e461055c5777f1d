"""Positions that are no rotation: learned vectors, and slopes added to the scores."""

from __future__ import annotations

import numpy as np

from openmodelatlas.catalogue.references.elementary import Array, Integers


def learned_positions(token_embeddings: Array, positions: Integers, table: Array) -> Array:
    """Adds a learned vector for the position to each token's: e + table[p].

    Args:
        token_embeddings: [B, T, d].
        positions: [B, T] or [T].
        table: [n_positions, d].

    Returns:
        [B, T, d] (Radford et al. 2019; ``transformers`` 5.24.0, ``models/gpt2/modeling_gpt2.py``, ``GPT2Model``).
    """
    result: Array = token_embeddings + table[positions]
    return result


def alibi(scores: Array, slopes: Array, distances: Array) -> Array:
    """Adds to every score a bias that falls with the distance of key and query, each head at its own slope.

    The slopes are 2^(-8h/H) for h = 1 … H if the number of heads H is a power of two; otherwise those of the next
    smaller power of two, then every other slope of the next larger one (arXiv 2108.12409, section 3 and its code).

    Args:
        scores: [B, H, T, S].
        slopes: the code's slopes, H elements; only their number is read.
        distances: s - t or, which gives the same weights, s alone, [T, S] or [1, S].

    Returns:
        [B, H, T, S].
    """
    heads = slopes.size
    whole = 2 ** int(np.log2(heads))
    powers = 2.0 ** (-8.0 * np.arange(1, whole + 1) / whole)
    between = 2.0 ** (-4.0 * np.arange(1, 2 * (heads - whole), 2) / whole)
    result: Array = scores + np.concatenate([powers, between])[:, None, None] * distances
    return result
