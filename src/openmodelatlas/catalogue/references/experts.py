"""Experts: how chosen ones run and add up, and the activations that only they use.

Axes: N tokens, d hidden size, E experts, k experts chosen per token, I features inside an expert, L latent size.
"""

from __future__ import annotations

import numpy as np

from openmodelatlas.catalogue.references.elementary import Array, Integers, linear, sigmoid, silu


def situ(gate: Array, up: Array, gate_bound: float, up_bound: float) -> Array:
    """Gated activation with soft bounds: β·tanh(g/β)·σ(g) · λ·tanh(u/λ).

    Args:
        gate: g, […, I].
        up: u, […, I].
        gate_bound: β, ``activation_situ_beta``.
        up_bound: λ, ``activation_situ_linear_beta``.

    Returns:
        […, I], of absolute value below β·λ (``llmcompressor`` 0.14.0.1, ``kimi_k3/modeling_kimi_linear.py`` 100-118).
    """
    result: Array = gate_bound * np.tanh(gate / gate_bound) * sigmoid(gate) * up_bound * np.tanh(up / up_bound)
    return result


def clamped_swiglu(packed: Array, slope: float, limit: float) -> Array:
    """gpt-oss's gated activation of columns that alternate between gate and up.

    Args:
        packed: […, 2I]; even columns are the gate, odd ones the up branch.
        slope: α in the gate's sigmoid, ``swiglu_alpha``.
        limit: the gate is cut off above, the up branch above and below, ``swiglu_limit``.

    Returns:
        […, I]: (u + 1) · g · σ(α·g) (``transformers`` 5.24.0, ``GptOssExperts._apply_gate``).
    """
    gate = np.minimum(packed[..., 0::2], limit)
    up = np.clip(packed[..., 1::2], -limit, limit)
    return (up + 1.0) * gate * sigmoid(slope * gate)


def weigh_and_add(total: Array, token: Integers, outputs: Array, weights: Array) -> Array:
    """Adds one expert's outputs, times their weights, to the rows of the tokens that chose it.

    Args:
        total: sum over the experts before, [N, d].
        token: numbers of the n tokens that chose the expert, [n].
        outputs: [n, d].
        weights: [n, 1].

    Returns:
        [N, d] (arXiv 1701.06538, equation 1).
    """
    result = total.copy()
    np.add.at(result, token, outputs * weights)
    return result


def packed_experts(tokens: Array, chosen: Integers, weights: Array, gate_up: Array, down: Array) -> Array:
    """Weighted sum of the chosen experts, each a gated network whose gate and up matrices are stored as one.

    Args:
        tokens: [N, d].
        chosen: numbers of each token's experts, [N, k].
        weights: [N, k].
        gate_up: [E, 2I, d]; the first I rows of an expert make the gate, the others the up branch.
        down: [E, d, I].

    Returns:
        [N, d]: Σ_j w_j · W_down (SiLU(W_gate·x) ⊙ W_up·x) (arXiv 2401.04088, section 2.1; ``transformers`` 5.24.0,
        ``MixtralExperts``, ``DeepseekV3Experts``, ``Qwen3MoeExperts``).
    """
    total = np.zeros_like(tokens)
    for expert in sorted(set(chosen.flat)):
        token, place = np.nonzero(chosen == expert)
        gate, up = np.split(linear(tokens[token], gate_up[expert]), 2, axis=-1)
        total[token] += linear(silu(gate) * up, down[expert]) * weights[token, place, None]
    return total


def clamped_experts(
    tokens: Array,
    chosen: Integers,
    weights: Array,
    gate_up: Array,
    gate_up_bias: Array,
    down: Array,
    down_bias: Array,
    slope: float,
    limit: float,
) -> Array:
    """gpt-oss's chosen experts, added up by weight; matrices are stored input first, and each has a bias.

    Args:
        tokens: [N, d].
        chosen: [N, k].
        weights: [N, k].
        gate_up: [E, d, 2I], columns alternating between gate and up; gate_up_bias: [E, 2I].
        down: [E, I, d]; down_bias: [E, d].
        slope, limit: as in :func:`clamped_swiglu`.

    Returns:
        [N, d] (``transformers`` 5.24.0, ``GptOssExperts``).
    """
    total = np.zeros_like(tokens)
    for expert in sorted(set(chosen.flat)):
        token, place = np.nonzero(chosen == expert)
        inside = clamped_swiglu(tokens[token] @ gate_up[expert] + gate_up_bias[expert], slope, limit)
        total[token] += (inside @ down[expert] + down_bias[expert]) * weights[token, place, None]
    return total


def add_shared_expert(routed: Array, shared: Array) -> Array:
    """Routed and shared output added with weight 1 each; both [B, T, d] (arXiv 2401.06066, section 3.2)."""
    return routed + shared


def latent_experts(
    tokens: Array, down: Array, routed_latents: Array, gain: Array, eps: float, up: Array
) -> tuple[Array, Array]:
    """Into the narrower latent that experts read and write, and back from it: projection, experts, RMSNorm, projection.

    Args:
        tokens: [N, d].
        down: [L, d].
        routed_latents: weighted sum of the experts' outputs, [N, L].
        gain: [L].
        eps: of the norm.
        up: [d, L].

    Returns:
        What the experts read [N, L], and what leaves the latent [N, d] (``llmcompressor`` 0.14.0.1,
        ``kimi_k3/modeling_kimi_linear.py`` 866-950).
    """
    mean_square = np.mean(routed_latents**2, axis=-1, keepdims=True)
    return linear(tokens, down), linear(gain * routed_latents / np.sqrt(mean_square + eps), up)
