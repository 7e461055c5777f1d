"""The short causal convolution of linear-attention and state-space layers, and its cache.

Axes: B batch, C channels, T positions, W positions that the kernel sees.
"""

from __future__ import annotations

import numpy as np

from openmodelatlas.catalogue.references.elementary import Array, silu


def short_convolution(
    features: Array,
    kernel: Array,
    bias: Array | None = None,
    window: Array | None = None,
    positions_first: int = 0,
) -> Array:
    """Each channel's weighted sum over its last W values, then SiLU.

    Args:
        features: [B, C, T] or [B, T, C].
        kernel: [C, 1, W]; the last column belongs to the position itself.
        bias: [C], or ``None``.
        window: the values before, at least W - 1, [B, C, …] or [B, …, C] like ``features``; zeros if ``None``.
        positions_first: 1 where the result has positions before channels.

    Returns:
        [B, C, T], or [B, T, C] (arXiv 2405.21060, section 7.1; fla-core 0.6.0, ``modules/causal_conv1d``;
        ``transformers`` 5.24.0, ``models/mamba2/modeling_mamba2.py``, ``causal_conv1d_fn``).
    """
    channels, width = kernel.shape[0], kernel.shape[-1]
    if features.shape[1] != channels:
        features = features.swapaxes(1, 2)
        window = None if window is None else window.swapaxes(1, 2)
    if window is None:
        window = np.zeros((*features.shape[:2], width - 1))
    extended = np.concatenate([window[..., window.shape[-1] - (width - 1) :], features], axis=-1)
    windows = np.lib.stride_tricks.sliding_window_view(extended, width, axis=-1)
    summed = np.einsum("bctw,cw->bct", windows, kernel[:, 0])
    result = silu(summed if bias is None else summed + bias[:, None])
    return result.swapaxes(1, 2) if positions_first else result


def next_window(features: Array, kernel: Array, spare: int = 0, positions_first: int = 0) -> Array:
    """The cache of a convolution after new positions: the last values that it has seen.

    Args:
        features: cached window and new features together, or new features alone if there are enough, [B, C, N].
        kernel: [C, 1, W]; only W is read.
        spare: 1 where the code keeps W values, one more than the convolution will read.
        positions_first: 1 where positions come before channels, in what is given and in the result.

    Returns:
        The last W - 1 (or W) values of each channel, [B, C, W - 1] (``transformers`` 5.24.0, ``cache_utils.py``,
        ``LinearAttentionLayer.update_conv_state``, keeps W).
    """
    kept = kernel.shape[-1] - 1 + spare
    if positions_first:
        return features[:, features.shape[1] - kept :]
    return features[..., features.shape[-1] - kept :]
