"""Parts of attention that come in several models: windows, sinks, gates, norms and caps of queries, keys and scores.

Axes: B batch, H heads, T queries, S keys, D features of a head.
"""

from __future__ import annotations

import numpy as np

from openmodelatlas.catalogue.references.elementary import Array, Integers, Truths, sigmoid, softmax


def sliding_window(query_positions: Integers, key_positions: Integers, window: int) -> Truths:
    """Which keys a query sees: its own position and the ``window`` - 1 before it.

    Args:
        query_positions: t, […, T, 1].
        key_positions: s, […, 1, S].
        window: number of visible keys w.

    Returns:
        […, T, S]: t - w < s ≤ t (``transformers`` 5.24.0, ``masking_utils.py``, ``sliding_window_overlay`` and
        ``causal_mask_function``; arXiv 2004.05150, 2310.06825).
    """
    result: Truths = (key_positions > query_positions - window) & (key_positions <= query_positions)
    return result


def attention_with_sinks(
    queries: Array, keys: Array, values: Array, sinks: Array, scale: float, mask: Array | None = None
) -> tuple[Array, Array]:
    """Softmax attention in which each head has one more score that no value answers to.

    Args:
        queries: [B, H, T, D].
        keys: transposed for the product, [B, H, D, S], repeated already for the query heads that share them.
        values: [B, H, S, V].
        sinks: learned score of each head, [H].
        scale: multiplies the dot products, not the sinks.
        mask: added to the scores, [1 or B, 1 or H, T, S]; very negative where a key is hidden.

    Returns:
        The head outputs [B, H, T, V] and the weights [B, H, T, S], whose rows sum to less than 1 (arXiv 2508.10925;
        ``transformers`` 5.24.0, ``models/gpt_oss/modeling_gpt_oss.py``, ``eager_attention_forward``).
    """
    scores = scale * (queries @ keys)
    if mask is not None:
        scores = scores + mask
    column = np.broadcast_to(sinks[None, :, None, None], (*scores.shape[:-1], 1))
    weights = softmax(np.concatenate([scores, column], axis=-1))[..., :-1]
    return weights @ values, weights


def query_key_norm(
    query_heads: Array, key_heads: Array, query_gain: Array, key_gain: Array, eps: float, offset: float = 0.0
) -> tuple[Array, Array]:
    """RMSNorm of each head of the queries and of the keys on its own, one gain shared by all heads.

    Args:
        query_heads: [B, T, H, D] or [B, H, T, D].
        key_heads: [B, T, G, D] or [B, G, T, D].
        query_gain, key_gain: [D].
        eps: added to the mean square.
        offset: added to the gains: 1 where the code stores their distance from one.

    Returns:
        Like ``query_heads`` and ``key_heads``: x / √(mean(x²) + eps) · gain over the D features of one head
        (``transformers`` 5.24.0, ``models/qwen3/modeling_qwen3.py``, ``Qwen3Attention``).
    """

    def normalise(heads: Array, gain: Array) -> Array:
        mean_square = np.mean(heads**2, axis=-1, keepdims=True)
        result: Array = (gain + offset) * heads / np.sqrt(mean_square + eps)
        return result

    return normalise(query_heads, query_gain), normalise(key_heads, key_gain)


def output_gate(head_outputs: Array, gate: Array) -> Array:
    """Head outputs times the sigmoid of a gate, element by element, before the output projection.

    Args:
        head_outputs: [B, H, T, V] or [B, T, H·V].
        gate: projection of the layer's input, [B, T, H·V].

    Returns:
        [B, T, H·V] (arXiv 2505.06708; ``llmcompressor`` 0.14.0.1, Kimi K3).
    """
    return head_outputs * sigmoid(gate)


def soft_cap(scores: Array, cap: float) -> Array:
    """Keeps scores between -cap and cap: cap · tanh(x / cap); […] to […] (arXiv 2408.00118, section 2)."""
    result: Array = cap * np.tanh(scores / cap)
    return result


def repeat_heads(features: Array, weights: Array) -> Array:
    """Hands each key or value head to the neighbouring query heads of its group.

    Args:
        features: [B, G, S, D], G key and value heads.
        weights: attention weights, [B, H, T, S]; only the number of query heads H is read.

    Returns:
        [B, H, S, D]; query head h reads key head ⌊h·G/H⌋ (arXiv 2305.13245; ``transformers``' ``repeat_kv``).
        ``NotImplemented`` where there is nothing to repeat.
    """
    if weights.ndim != 4 or features.ndim != 4 or weights.shape[1] == features.shape[1]:
        return NotImplemented  # type: ignore[no-any-return]  # it says that this is no case of the mechanism
    if features.ndim != weights.ndim or features.ndim < 2 or weights.shape[1] <= features.shape[1]:
        return NotImplemented  # type: ignore[no-any-return]
    return np.repeat(features, weights.shape[1] // features.shape[1], axis=1)


def dropout_at_evaluation(features: Array) -> Array:
    """Outside training dropout changes nothing: […] to […] (arXiv 1207.0580)."""
    return features
