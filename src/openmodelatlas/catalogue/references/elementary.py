"""Functions of one number and the softmax, in float64, which several references use."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
"""Real numbers in float64."""
Integers = NDArray[np.int64]
"""Positions, token numbers, numbers of experts."""
Truths = NDArray[np.bool_]
"""True or false, such as which positions are visible."""


def sigmoid(numbers: Array) -> Array:
    """[…] to […]: 1 / (1 + exp(-x)), without overflow for large negative x."""
    small = np.exp(-np.abs(numbers))
    result: Array = np.where(numbers >= 0, 1.0, small) / (1.0 + small)
    return result


def silu(numbers: Array) -> Array:
    """[…] to […]: x · sigmoid(x) (arXiv 1702.03118)."""
    return numbers * sigmoid(numbers)


def softplus(numbers: Array) -> Array:
    """[…] to […]: log(1 + exp(x)), without overflow."""
    result: Array = np.maximum(numbers, 0.0) + np.log1p(np.exp(-np.abs(numbers)))
    return result


def softmax(scores: Array) -> Array:
    """[…, n] to […, n]: exp(x) / Σ exp(x) along the last axis, the largest score subtracted first."""
    shifted = np.exp(scores - scores.max(axis=-1, keepdims=True))
    result: Array = shifted / shifted.sum(axis=-1, keepdims=True)
    return result


def linear(features: Array, weight: Array, bias: Array | None = None) -> Array:
    """[…, in] to […, out] with ``weight`` [out, in] and ``bias`` [out]: x·Wᵀ + b."""
    result: Array = features @ weight.T
    return result if bias is None else result + bias
