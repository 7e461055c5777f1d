"""Embeddings and projections with a twist."""

from __future__ import annotations

from openmodelatlas.catalogue.references.elementary import Array, Integers


def scaled_embedding(token_ids: Integers, table: Array, scale: float) -> Array:
    """Rows of the table times a constant: [B, T] to [B, T, d].

    Args:
        token_ids: [B, T].
        table: [vocab_size, d].
        scale: √d in Gemma, rounded to the table's type first.

    Returns:
        [B, T, d] (arXiv 2403.08295; ``transformers`` 5.24.0, ``Gemma3TextScaledWordEmbedding``).
    """
    result: Array = table[token_ids] * scale
    return result


def convolution_as_projection(features: Array, weight: Array, bias: Array) -> Array:
    """GPT-2's ``Conv1D``: a projection whose matrix is stored input first, x·W + b.

    Args:
        features: [B, T, n].
        weight: [n, m].
        bias: [m].

    Returns:
        [B, T, m] (``transformers`` 5.24.0, ``pytorch_utils.py``, ``Conv1D``).
    """
    result: Array = features @ weight + bias
    return result
