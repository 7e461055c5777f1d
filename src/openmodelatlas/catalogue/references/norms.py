"""Normalisations."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def rms_norm(x: Array, eps: float, g: Array | None = None, offset: float = 0.0) -> Array:
    """Divides by the root mean square over the last axis, then scales each feature.

    Args:
        x: ``[..., d]``.
        eps: added to the mean square, inside the root.
        g: gain ``[d]``; none where the code has none.
        offset: added to the gain: 1 where the code stores the gain's distance from one.

    Returns:
        ``[..., d]``.

    Source: Zhang, Sennrich (2019), arXiv 1910.07467, equation 4; eps as in the authors' code.
    """
    mean_square = np.mean(x**2, axis=-1, keepdims=True)
    normed = x / np.sqrt(mean_square + eps)
    result: Array = normed if g is None else normed * (g + offset)
    return result


def layer_norm(x: Array, eps: float, g: Array, b: Array) -> Array:
    """Subtracts the mean over the last axis, divides by the standard deviation, scales and shifts each feature.

    Args:
        x: ``[..., d]``.
        eps: added to the variance, inside the root; the variance divides by d, not by d − 1.
        g: gain ``[d]``.
        b: bias ``[d]``.

    Returns:
        ``[..., d]``.

    Source: Ba, Kiros, Hinton (2016), arXiv 1607.06450, equation 4.
    """
    centred = x - np.mean(x, axis=-1, keepdims=True)
    variance = np.mean(centred**2, axis=-1, keepdims=True)
    result: Array = centred / np.sqrt(variance + eps) * g + b
    return result
