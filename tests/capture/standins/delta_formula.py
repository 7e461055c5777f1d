"""Kimi Delta Attention and its relatives straight from the papers' equations: NumPy, float64, one head at a time."""

from __future__ import annotations

import numpy as np
import torch


def numbers(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().to(torch.float64).numpy()


def softplus(x: np.ndarray) -> np.ndarray:
    return np.logaddexp(0.0, x)


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1.0 / (1.0 + np.exp(-x))


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.sqrt(np.sum(x * x, axis=-1, keepdims=True) + 1e-6)


def delta_attention(q, k, v, log_decay, beta, scale, state):
    """One sequence, one head: q, k, log_decay [T, K]; v [T, V]; beta [T]; state [K, V].

    S_t = (I - beta k kᵀ) diag(exp g) S_{t-1} + beta k vᵀ, o_t = scale Sᵀ q, with full matrices.
    """
    tokens, key_size = k.shape
    outputs = np.zeros((tokens, v.shape[1]))
    for t in range(tokens):
        transition = (np.eye(key_size) - beta[t] * np.outer(k[t], k[t])) @ np.diag(np.exp(log_decay[t]))
        state = transition @ state + beta[t] * np.outer(k[t], v[t])
        outputs[t] = scale * state.T @ q[t]
    return outputs, state


def delta_attention_heads(q, k, v, log_decay, beta, scale=None, state=None):
    """All heads of a batch, shapes as in ``fla``; query head of value head h is h // (HV / H)."""
    batch, tokens, heads, key_size = q.shape
    value_heads, value_size = v.shape[2:]
    share = value_heads // heads
    scale = key_size**-0.5 if scale is None else scale
    state = np.zeros((batch, value_heads, key_size, value_size)) if state is None else state
    outputs, finals = np.zeros((batch, tokens, value_heads, value_size)), np.zeros_like(state)
    for b in range(batch):
        for h in range(value_heads):
            outputs[b, :, h], finals[b, h] = delta_attention(
                q[b, :, h // share],
                k[b, :, h // share],
                v[b, :, h],
                log_decay[b, :, h],
                beta[b, :, h],
                scale,
                state[b, h],
            )
    return outputs, finals
