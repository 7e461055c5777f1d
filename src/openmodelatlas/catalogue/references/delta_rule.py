"""The delta rule with decay, step by step and by chunks, and the two decays of Kimi Delta Attention.

Axes: B batch, H heads, T positions, K and V features of a key and a value, C positions of a chunk.
"""

from __future__ import annotations

import numpy as np

from openmodelatlas.catalogue.references.elementary import Array, linear, sigmoid, softplus


def l2_norm(features: Array, eps: float) -> Array:
    """Vectors of length 1: x / √(Σx² + eps) along the last axis, a sum and not a mean.

    […, K] to […, K] (fla-core 0.6.0, ``modules/norm/l2norm.py``; ``transformers`` 5.24.0, Kimi Linear, ``l2norm``).
    """
    result: Array = features / np.sqrt(np.sum(features**2, axis=-1, keepdims=True) + eps)
    return result


def bounded_decay(
    hidden_states: Array,
    down: Array,
    up: Array,
    bias: Array,
    log_rate: Array,
    lower_bound: float,
    heads_first: int = 0,
) -> Array:
    """Logarithm of Kimi K3's decay: ℓ · σ(exp(A)·(g + b)), between ℓ and 0, with g = W↑·W↓·x.

    Args:
        hidden_states: x, [B, T, d].
        down: W↓, [r, d].
        up: W↑, [H·K, r].
        bias: b, H·K elements.
        log_rate: A, H elements.
        lower_bound: ℓ, negative.
        heads_first: 1 for a result [B, H, T, K].

    Returns:
        [B, T, H, K], or [B, H, T, K] (fla-core 0.6.0, ``ops/kda/gate.py``).
    """
    shifted = _shifted_gate(hidden_states, down, up, bias, log_rate.size)
    log_decay = lower_bound * sigmoid(np.exp(log_rate).reshape(-1, 1) * shifted)
    return log_decay.swapaxes(1, 2) if heads_first else log_decay


def softplus_decay(hidden_states: Array, down: Array, up: Array, bias: Array, log_rate: Array) -> Array:
    """Logarithm of Kimi Linear's decay: -exp(A)·softplus(g + b), without a lower bound, with g = W↑·W↓·x.

    Args:
        hidden_states: x, [B, T, d].
        down: W↓, [r, d].
        up: W↑, [H·K, r].
        bias: b, H·K elements.
        log_rate: A, H elements.

    Returns:
        [B, T, H, K] (arXiv 2510.26692; ``transformers`` 5.24.0, ``KimiLinearForgetGate``).
    """
    shifted = _shifted_gate(hidden_states, down, up, bias, log_rate.size)
    result: Array = -np.exp(log_rate).reshape(-1, 1) * softplus(shifted)
    return result


def _shifted_gate(hidden_states: Array, down: Array, up: Array, bias: Array, heads: int) -> Array:
    """Low-rank gate plus bias, [B, T, H, K]."""
    gate = linear(linear(hidden_states, down), up) + bias.reshape(-1)
    return gate.reshape(*gate.shape[:2], heads, -1)


def delta_rule_step(
    query: Array, key: Array, value: Array, log_decay: Array, beta: Array, state: Array
) -> tuple[Array, Array]:
    """One position: the memory forgets, the value is written under the key as far as it differs, the query reads.

    Args:
        query: q, B·H·K elements, scaled already.
        key: k, B·H·K elements.
        value: v, B·H·V elements.
        log_decay: g, B·H·K elements.
        beta: β, how much of the correction is written, B·H elements.
        state: S, [B, H, K, V].

    Returns:
        The output, B·H·V elements in [B, H, V], and the next state [B, H, K, V]: S ← Diag(exp g)·S, then
        S ← S + β·k·(v - kᵀS)ᵀ, then o = Sᵀq (arXiv 2102.11174, 2412.06464; with a decay for each key feature
        arXiv 2510.26692, equation 1).
    """
    batch, heads = state.shape[:2]
    query, key, log_decay = (part.reshape(batch, heads, -1, 1) for part in (query, key, log_decay))
    state = np.exp(log_decay) * state
    recalled = np.sum(key * state, axis=2)
    correction = beta.reshape(batch, heads, 1) * (value.reshape(batch, heads, -1) - recalled)
    state = state + key * correction[:, :, None, :]
    return np.sum(query * state, axis=2), state


def delta_rule(
    queries: Array, keys: Array, values: Array, log_decay: Array, beta: Array, state: Array
) -> tuple[Array, Array]:
    """:func:`delta_rule_step` for one position after another.

    Args:
        queries, keys, log_decay: [B, H, T, K].
        values: [B, H, T, V].
        beta: B·H·T elements.
        state: [B, H, K, V], before the first position.

    Returns:
        Outputs [B, H, T, V] and the state after the last position.
    """
    outputs = np.zeros_like(values)
    beta = beta.reshape(values.shape[:3])
    for t in range(values.shape[2]):
        outputs[:, :, t], state = delta_rule_step(
            queries[:, :, t], keys[:, :, t], values[:, :, t], log_decay[:, :, t], beta[:, :, t], state
        )
    return outputs, state


def delta_rule_of_chunk(
    queries: Array, keys: Array, values: Array, log_decay: Array, beta: Array, state: Array
) -> tuple[Array, Array]:
    """The same as :func:`delta_rule`, all positions of a chunk at once; arguments and results as there.

    What the positions write is the solution of a triangular system: position i writes
    u_i = β_i·(v_i - (k_i ⊙ exp G_i)ᵀS) - β_i·Σ_{j<i} ⟨k_i, exp(G_i - G_j) ⊙ k_j⟩·u_j, with G the running sum of g
    (arXiv 2406.06484, section 3; arXiv 2510.26692, section 3).
    """
    total = np.cumsum(log_decay, axis=2)
    between = np.exp(np.minimum(total[:, :, :, None] - total[:, :, None], 0.0))
    strength = beta.reshape(*values.shape[:3], 1)
    overlap = np.tril(np.einsum("bhik,bhijk,bhjk->bhij", keys, between, keys), -1)
    corrections = strength * (values - (keys * np.exp(total)) @ state)
    written = np.linalg.solve(np.eye(values.shape[2]) + strength * overlap, corrections)
    seen = np.tril(np.einsum("bhik,bhijk,bhjk->bhij", queries, between, keys))
    outputs = (queries * np.exp(total)) @ state + seen @ written
    last = total[:, :, -1:]
    remaining = np.exp(last).swapaxes(2, 3) * state
    return outputs, remaining + (keys * np.exp(last - total)).swapaxes(2, 3) @ written


def kimi_delta_attention(
    queries: Array,
    keys: Array,
    values: Array,
    beta: Array,
    eps: float,
    log_decay: Array | None = None,
    gate: Array | None = None,
    state: Array | None = None,
    positions_first: int = 0,
    log_rate: Array | None = None,
    bias: Array | None = None,
    lower_bound: float | None = None,
) -> Array:
    """Delta rule on queries and keys of length 1, the queries divided by √K.

    Args:
        queries, keys: [B, H, T, K], as they leave the short convolution.
        values: [B, H, T, V].
        beta: [B, H, T].
        eps: of the norm of queries and keys.
        log_decay: [B, H, T, K]; ``None`` where the kernel makes it.
        gate: [B, H, T, K], from which the kernel makes the decay with ``log_rate`` and ``bias``.
        state: [B, H, K, V], before the first position; an empty memory if ``None``.
        positions_first: 1 where positions come before heads, in what is given and in the outputs.
        log_rate: [H], for ``gate``.
        bias: [H·K], of ``gate``.
        lower_bound: of the decay; without it the decay is a softplus.

    Returns:
        Outputs [B, H, T, V] (arXiv 2510.26692, section 3; ``transformers`` 5.24.0, Kimi Linear,
        ``chunk_kimi_delta_attention`` and ``recurrent_kimi_delta_attention``).
    """
    if positions_first:
        queries, keys, values, beta = (part.swapaxes(1, 2) for part in (queries, keys, values, beta))
        log_decay, gate = (None if part is None else part.swapaxes(1, 2) for part in (log_decay, gate))
    if gate is not None and log_rate is not None:
        shifted = gate if bias is None else gate + bias.reshape(-1, 1, gate.shape[-1])
        rate = np.exp(log_rate).reshape(-1, 1, 1)
        log_decay = -rate * softplus(shifted) if lower_bound is None else lower_bound * sigmoid(rate * shifted)
    if log_decay is None:
        raise ValueError("either log_decay or gate and log_rate must be given")
    if state is None:
        state = np.zeros((*queries.shape[:2], queries.shape[3], values.shape[3]))
    scaled = l2_norm(queries, eps) / np.sqrt(queries.shape[-1])
    outputs, _ = delta_rule(scaled, l2_norm(keys, eps), values, log_decay, beta, state)
    return outputs.swapaxes(1, 2) if positions_first else outputs
