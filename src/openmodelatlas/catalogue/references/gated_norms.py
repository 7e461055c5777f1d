"""RMSNorms with a gate, and with a gain that is stored as its distance from 1."""

from __future__ import annotations

import numpy as np

from openmodelatlas.catalogue.references.elementary import Array, sigmoid, silu


def normalise(features: Array, eps: float) -> Array:
    """[…, D] to […, D]: x / √(mean(x²) + eps) along the last axis (arXiv 1910.07467)."""
    result: Array = features / np.sqrt(np.mean(features**2, axis=-1, keepdims=True) + eps)
    return result


def rms_norm_one_plus(features: Array, gain: Array, eps: float) -> Array:
    """RMSNorm whose gain is stored as w and used as 1 + w.

    Args:
        features: […, D].
        gain: w, [D]; zero leaves the normalised features as they are.
        eps: added to the mean square.

    Returns:
        […, D] (``transformers`` 5.24.0, ``models/gemma3/modeling_gemma3.py``, ``Gemma3RMSNorm``).
    """
    return (1.0 + gain) * normalise(features, eps)


def gated_rms_norm(features: Array, gate: Array, gain: Array, eps: float) -> Array:
    """RMSNorm over each head's features, then times the sigmoid of a gate.

    Args:
        features: [B, T, H, V].
        gate: [B, T, H, V].
        gain: [V].
        eps: added to the mean square.

    Returns:
        [B, T, H, V] (arXiv 2510.26692, section 4; fla-core 0.6.0, ``modules/norm/fused_norm_gate.py``; ``transformers``
        5.24.0, ``KimiLinearRMSNormGated``).
    """
    return gain * normalise(features, eps) * sigmoid(gate)


def gate_then_rms_norm(features: Array, gate: Array, gain: Array, eps: float) -> Array:
    """Mamba-2's order: times SiLU of a gate first, then RMSNorm.

    Args:
        features: […, D].
        gate: […, D].
        gain: [D].
        eps: added to the mean square.

    Returns:
        […, D] (arXiv 2405.21060, section 7.1; ``transformers`` 5.24.0, ``MambaRMSNormGated`` with one group).
    """
    return gain * normalise(features * silu(gate), eps)
