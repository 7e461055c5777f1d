"""From token numbers to features, and back to a score for every token of the vocabulary."""

from __future__ import annotations

import numpy as np

from openmodelatlas.catalogue.references.elementary import Array, Integers, linear
from openmodelatlas.catalogue.references.norms import rms_norm


def token_embedding(t: Integers, E: Array) -> Array:  # noqa: N803  the symbol of the formula
    """One row of the table for every token.

    Args:
        t: token numbers ``[B, T]``.
        E: table ``[V, d]``.

    Returns:
        ``[B, T, d]`` (Vaswani et al., arXiv 1706.03762, section 3.4, without its scale).
    """
    return E[t]


def head(x: Array, W: Array) -> Array:  # noqa: N803
    """A score for every token of the vocabulary.

    Args:
        x: features ``[..., d]``.
        W: ``[V, d]``.

    Returns:
        Logits ``[..., V]`` (arXiv 1706.03762, section 3.4).
    """
    return linear(x, W)


def final_norm(x: Array, eps: float, g: Array | None = None, offset: float = 0.0, b: Array | None = None) -> Array:
    """The last norm: RMSNorm, or LayerNorm where there is a bias ``b`` ``[d]``.

    Args:
        x: ``[..., d]``.
        eps: added to the mean square or the variance.
        g: gain ``[d]``.
        offset: added to the gain.
        b: bias ``[d]`` of a LayerNorm.

    Returns:
        ``[..., d]`` (arXiv 1910.07467, equation 4; arXiv 1607.06450, equation 4).
    """
    if b is None:
        return rms_norm(x, eps, g, offset)
    centred = x - np.mean(x, axis=-1, keepdims=True)
    return rms_norm(centred, eps, g, offset) + b


def tied_head(x: Array, E: Array) -> Array:  # noqa: N803
    """As :func:`head`, with the table of the token embedding ``[V, d]`` (arXiv 1608.05859)."""
    return head(x, E)
