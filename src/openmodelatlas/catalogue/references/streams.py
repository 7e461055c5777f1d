"""The residual stream."""

from __future__ import annotations

from openmodelatlas.catalogue.references.elementary import Array


def residual_addition(x: Array, u: Array) -> Array:
    """The stream plus the update that a mechanism computed from it.

    Args:
        x: stream ``[B, T, d]``.
        u: update ``[B, T, d]``.

    Returns:
        ``[B, T, d]`` (He et al., arXiv 1512.03385, equation 1); nothing is repeated to fit.
    """
    if x.shape != u.shape:
        return NotImplemented  # type: ignore[no-any-return]
    return x + u
