"""The state space of Mamba-2, step by step and by chunks (arXiv 2405.21060).

Axes: B batch, T positions, H heads, P features of a head, N features of the state, G groups of heads that share what
goes into and comes out of the state.
"""

from __future__ import annotations

import numpy as np

from openmodelatlas.catalogue.references.elementary import Array, softplus


def state_space_step(
    inputs: Array, step: Array, rate: Array, into: Array, out_of: Array, skip: Array, step_bias: Array, state: Array
) -> tuple[Array, Array]:
    """One position: h ← exp(δ·A)·h + δ·x·Bᵀ, then y = h·C + D·x, with δ = softplus(step + bias).

    Args:
        inputs: x, B·H·P elements.
        step: before bias and softplus, [B, H], or repeated for the features of a head, [B, H, P].
        rate: A, negative, [H], or repeated for features of head and state, [H, P, N].
        into: B, B·G·N elements.
        out_of: C, B·G·N elements.
        skip: D, [H] or [H, P].
        step_bias: [H] or [H, P].
        state: h, [B, H, P, N].

    Returns:
        The output [B, H, P] and the next state [B, H, P, N] (arXiv 2405.21060, sections 2 and 7; ``transformers``
        5.24.0, ``models/mamba2/modeling_mamba2.py``, ``mamba2_selective_state_update``).
    """
    batch, heads, size, states = state.shape
    features = inputs.reshape(batch, heads, size)
    delta = softplus(step + step_bias).reshape(batch, heads, -1)[..., :1]
    rate, skip = rate.reshape(heads, -1)[:, :1], skip.reshape(heads, -1)[:, :1]
    entering, leaving = (_for_heads(part.reshape(batch, -1, states), heads) for part in (into, out_of))
    driven = (delta * features)[..., None] * entering[:, :, None, :]
    state = np.exp(delta * rate)[..., None] * state + driven
    return np.sum(state * leaving[:, :, None, :], axis=-1) + skip * features, state


def state_space(
    inputs: Array,
    step: Array,
    rate: Array,
    into: Array,
    out_of: Array,
    skip: Array,
    step_bias: Array,
    least_step: float = 0.0,
    greatest_step: float = float("inf"),
) -> Array:
    """The recurrence of :func:`state_space_step` from a zero state; δ is kept between two bounds after the softplus.

    Args:
        inputs: x, [B, T, H, P].
        step: [B, T, H].
        rate: A, [H].
        into: B, for each head or for each group of neighbouring heads, [B, T, H or G, N]; T may be cut into chunks, and
            padded at the end.
        out_of: C, like B.
        skip: D, [H].
        step_bias: [H].
        least_step, greatest_step: bounds of δ.

    Returns:
        Outputs [B, T, H, P] (arXiv 2405.21060, sections 2 and 7; mamba-ssm 2.3.2, ``ssd_chunk_state.py`` for the order
        bias, softplus, bounds).
    """
    batch, positions, heads, size = inputs.shape
    skip = skip.reshape(heads, 1)
    delta = np.clip(softplus(step + step_bias), least_step, greatest_step)
    entering, leaving = (
        _for_heads(part.reshape(batch, -1, *part.shape[-2:]), heads)[:, :positions] for part in (into, out_of)
    )
    state = np.zeros((batch, heads, size, into.shape[-1]))
    outputs = np.zeros_like(inputs)
    for t in range(positions):
        driven = (delta[:, t, :, None] * inputs[:, t])[..., None] * entering[:, t, :, None, :]
        state = np.exp(delta[:, t] * rate)[..., None, None] * state + driven
        outputs[:, t] = np.sum(state * leaving[:, t, :, None, :], axis=-1)
    result: Array = outputs + skip * inputs
    return result


def chunked_state_space(
    inputs: Array, delta: Array, rate: Array, into: Array, out_of: Array, state: Array, chunk: int
) -> tuple[Array, Array]:
    """The recurrence without D, a chunk at a time as a masked product of C and B.

    Args:
        inputs: x, [B, T, H, P].
        delta: δ, [B, T, H].
        rate: A, [H].
        into, out_of: B and C of each head, [B, T, H, N].
        state: h, [B, H, P, N].
        chunk: positions of a chunk.

    Returns:
        Outputs [B, T, H, P] and the state after the last position (arXiv 2405.21060, section 6).
    """
    outputs = np.zeros_like(inputs)
    for start in range(0, inputs.shape[1], chunk):
        part = slice(start, start + chunk)
        total = np.cumsum(delta[:, part] * rate, axis=1)
        reach = np.exp(np.minimum(total[:, :, None] - total[:, None], 0.0)) * np.tri(total.shape[1])[None, :, :, None]
        scores = np.einsum("blhn,bshn->blsh", out_of[:, part], into[:, part]) * reach
        driven = delta[:, part, :, None] * inputs[:, part]
        from_before = np.einsum("blhn,bhpn->blhp", out_of[:, part], state) * np.exp(total)[..., None]
        outputs[:, part] = np.einsum("blsh,bshp->blhp", scores, driven) + from_before
        written = np.einsum("blh,blhn,blhp->bhpn", np.exp(total[:, -1:] - total), into[:, part], driven)
        state = np.exp(total[:, -1])[..., None, None] * state + written
    return outputs, state


def _for_heads(grouped: Array, heads: int) -> Array:
    """[…, G, N] to […, H, N]: each group once for each of its neighbouring heads."""
    return np.repeat(grouped, heads // grouped.shape[-2], axis=-2)
