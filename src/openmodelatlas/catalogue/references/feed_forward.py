"""Feed-forward networks of one position."""

from __future__ import annotations

from math import erf

import numpy as np

from openmodelatlas.catalogue.references.elementary import Array, linear, silu


def gelu(x: Array, tanh: bool = False) -> Array:
    """x Φ(x); ``tanh`` for its approximation (Hendrycks, Gimpel, arXiv 1606.08415, section 2)."""
    if tanh:
        result: Array = 0.5 * x * (1.0 + np.tanh(np.sqrt(2.0 / np.pi) * (x + 0.044715 * x**3)))
        return result
    normal: Array = 0.5 * x * (1.0 + np.vectorize(erf)(x / np.sqrt(2.0)))
    return normal


def swiglu(x: Array, D: Array, G: Array | None = None, U: Array | None = None, P: Array | None = None) -> Array:  # noqa: N803
    """A product of two projections, one of them through SiLU, projected back.

    Args:
        x: ``[..., d]``.
        D: back to the features, ``[d, f]``.
        G: of the gate, ``[f, d]``.
        U: of the other factor, ``[f, d]``.
        P: both of them stacked, ``[2 f, d]``, the gate first, where the code keeps them in one matrix.

    Returns:
        ``[..., d]`` (Shazeer, arXiv 2002.05202, equation 6).
    """
    if P is not None:
        G, U = np.split(P, 2)  # noqa: N806
    assert G is not None
    assert U is not None
    return linear(silu(linear(x, G)) * linear(x, U), D)


def geglu(x: Array, G: Array, U: Array, D: Array, tanh: bool = False) -> Array:  # noqa: N803
    """A product of two projections, one of them through GELU, projected back.

    Args:
        x: ``[..., d]``.
        G: of the gate, ``[f, d]``.
        U: of the other factor, ``[f, d]``.
        D: back to the features, ``[d, f]``.
        tanh: whether GELU is approximated with a hyperbolic tangent.

    Returns:
        ``[..., d]`` (Shazeer, arXiv 2002.05202, equation 6).
    """
    return linear(gelu(linear(x, G), tanh) * linear(x, U), D)


def mlp(
    x: Array,
    U: Array,  # noqa: N803
    D: Array,  # noqa: N803
    b: Array | None = None,
    c: Array | None = None,
    activation: str = "gelu_tanh",
    transposed: bool = False,
) -> Array:
    """Two projections with a function of each feature between them.

    Args:
        x: ``[..., d]``.
        U: ``[f, d]``.
        D: ``[d, f]``.
        b: ``[f]``.
        c: ``[d]``.
        activation: ``gelu_tanh``, ``gelu``, ``relu`` or ``silu``.
        transposed: whether the code stores the matrices transposed, as GPT-2 does.

    Returns:
        ``[..., d]`` (Vaswani et al., arXiv 1706.03762, equation 2).
    """
    if transposed:
        U, D = U.T, D.T  # noqa: N806
    inner = linear(x, U, b)
    if activation == "relu":
        inner = np.maximum(inner, 0.0)
    elif activation == "silu":
        inner = silu(inner)
    else:
        inner = gelu(inner, tanh=activation == "gelu_tanh")
    return linear(inner, D, c)
