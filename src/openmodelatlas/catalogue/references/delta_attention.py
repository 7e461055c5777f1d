"""A whole layer of Kimi Delta Attention, put together from the references of its parts.

Axes: B batch, H heads, T positions, K and V features of a key and a value, W positions that a kernel sees.
"""

from __future__ import annotations

from openmodelatlas.catalogue.references.delta_rule import bounded_decay, kimi_delta_attention
from openmodelatlas.catalogue.references.elementary import Array, linear, sigmoid
from openmodelatlas.catalogue.references.gated_norms import gated_rms_norm
from openmodelatlas.catalogue.references.short_convolution import short_convolution


def kimi_delta_attention_layer(
    x: Array,
    query_weight: Array,
    key_weight: Array,
    value_weight: Array,
    query_kernel: Array,
    key_kernel: Array,
    value_kernel: Array,
    down: Array,
    up: Array,
    bias: Array,
    log_rate: Array,
    lower_bound: float,
    beta_weight: Array,
    gate_weight: Array,
    gain: Array,
    eps: float,
    unit_eps: float,
    output_weight: Array,
    query_window: Array,
    key_window: Array,
    value_window: Array,
    state: Array | None = None,
) -> Array:
    """Update of the residual stream by one layer of Kimi K3's delta attention.

    Args:
        x: normalised input, [B, T, d].
        query_weight, key_weight: [H·K, d]; value_weight: [H·V, d].
        query_kernel, key_kernel: [H·K, 1, W]; value_kernel: [H·V, 1, W].
        down, up, bias, log_rate, lower_bound: of the decay (``delta_rule.bounded_decay``).
        beta_weight: [H, d].
        gate_weight: [H·V, d].
        gain: [V].
        eps: of the norm of the outputs.
        unit_eps: of the L2 norm of queries and keys.
        output_weight: [d, H·V].
        query_window, key_window: inputs of the convolutions before, [B, W - 1, H·K]; value_window: [B, W - 1, H·V].
        state: memory of earlier positions, [B, H, K, V]; empty if ``None``.

    Returns:
        [B, T, d] (arXiv 2510.26692; ``llmcompressor`` 0.14.0.1, ``kimi_k3/modeling_kimi_linear.py`` lines 564-759).
    """
    batch, positions = x.shape[:2]
    heads = log_rate.size

    def convolved(weight: Array, kernel: Array, window: Array) -> Array:
        """[B, H, T, K] or [B, H, T, V]."""
        features = linear(x, weight).swapaxes(1, 2)
        channels = short_convolution(features, kernel, window=window.swapaxes(1, 2))
        return channels.reshape(batch, heads, -1, positions).swapaxes(2, 3)

    read = kimi_delta_attention(
        convolved(query_weight, query_kernel, query_window),
        convolved(key_weight, key_kernel, key_window),
        convolved(value_weight, value_kernel, value_window),
        sigmoid(linear(x, beta_weight)).swapaxes(1, 2),
        unit_eps,
        log_decay=bounded_decay(x, down, up, bias, log_rate, lower_bound, heads_first=1),
        state=state,
    ).swapaxes(1, 2)
    gate = linear(x, gate_weight).reshape(read.shape)
    return linear(gated_rms_norm(read, gate, gain, eps).reshape(batch, positions, -1), output_weight)
