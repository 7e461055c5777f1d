"""The worked examples of the catalogue's entries once more, written out number by number with Python's own arithmetic.

Each function takes nothing and gives the outputs of one example, flat; it uses another way to them than the reference
does, so that both cannot be wrong alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable

Flat = dict[str, list[float]]


def sigmoid(x: float) -> float:
    return 0.5 * (1.0 + math.tanh(x / 2.0))


def silu(x: float) -> float:
    return x / (1.0 + math.exp(-x))


def soft(*scores: float) -> list[float]:
    return [math.exp(score) / sum(map(math.exp, scores)) for score in scores]


def _l2_norm() -> Flat:
    return {"direction": [math.cos(math.atan2(4.0, 3.0)), math.sin(math.atan2(4.0, 3.0))]}


def _situ() -> Flat:
    first = 4 * math.tanh(0.5) * sigmoid(2.0) * 25 * math.tanh(0.04)
    second = 4 * math.tanh(10.0) * sigmoid(40.0) * 25 * math.tanh(4.0)
    return {"activated": [first, second]}


def _clamped_swiglu() -> Flat:
    return {"activated": [1.5 * sigmoid(1.702), -6.0 * 7.0 * sigmoid(7.0 * 1.702)]}


def _attention_sink() -> Flat:
    total = math.e + 1.0 + 1.0
    return {"outputs": [(math.e + 5.0) / total], "weights": [math.e / total, 1.0 / total]}


def _sliding_window() -> Flat:
    return {"visible": [0, 0, 1, 1, 0, 0, 0, 0, 1, 1]}


def _bounded_decay() -> Flat:
    return {"log_decay": [-5.0 / (1.0 + 1.0 / math.e)] * 2}


def _mixture_of_experts() -> Flat:
    return {"output": [0.75 * 2.0 * silu(2.0) * 3.0 + 0.25 * silu(1.0)]}


def _delta_rule() -> Flat:
    first = 0.5 * 2.0 + 0.5 * (4.0 - 0.5 * 2.0)
    return {"output": [first], "next_state": [first, 6.0]}


def _chunked_delta_rule() -> Flat:
    first = 1.0 + 0.5 * (4.0 - 1.0)
    second = 0.5 * first + 0.5 * (2.0 - 0.5 * first)
    return {"outputs": [first, second], "next_state": [second]}


def _gated_rms_norm() -> Flat:
    return {"gated": [3.0 / math.sqrt(12.5) * 0.5, 4.0 / math.sqrt(12.5) * sigmoid(2.0)]}


def _state_space() -> Flat:
    step = math.log(2.0)
    return {"outputs": [step + 0.5, step / 2.0 + 2.0 * step + 1.0]}


def _state_space_step() -> Flat:
    state = 4.0 / 2.0 + math.log(2.0) * 2.0
    return {"output": [3.0 * state + 1.0], "next_state": [state]}


def _mix() -> list[float]:
    early, late = soft(1.5, 0.5)
    return [early + 2.0 * late, early - 2.0 * late]


def _final_mix() -> Flat:
    first, second = _mix()
    size = math.hypot(first, second) / math.sqrt(2.0)
    return {"normed": [first / size, second / size]}


def _query_key_norm() -> Flat:
    return {"queries": [3.0 / math.sqrt(12.5), 4.0 / math.sqrt(12.5)], "keys": [0.0, 2.0 / math.sqrt(2.0) * 0.5]}


def _turned(*angles: float, size: float = 1.0) -> Flat:
    return {
        "cosine": [size * math.cos(angle) for angle in angles],
        "sine": [size * math.sin(angle) for angle in angles],
    }


def _yarn() -> Flat:
    return _turned(1.0, 0.1 * 0.625, 0.0025, 0.00025, size=1.0 + math.log(4.0) / 10.0)


def _router() -> list[float]:
    return soft(1.0, 2.0, 0.0)


BY_HAND: dict[str, Callable[[], Flat]] = {
    "alibi": lambda: {"biased": [-(2.0**-4), 0.0, -(2.0**-8), 0.0]},
    "attention-residual-final-mix": _final_mix,
    "attention-residual-mix": lambda: {"mixed": _mix()},
    "attention-residual-store": lambda: {"stored": [1.0, 2.0]},
    "attention-sink": _attention_sink,
    "bounded-decay": _bounded_decay,
    "chunked-delta-rule": _chunked_delta_rule,
    "clamped-experts": lambda: {"output": [2.0 * 1.5 * sigmoid(1.702) + 0.25]},
    "clamped-swiglu": _clamped_swiglu,
    "convolution-as-projection": lambda: {"projected": [1.5, 2.5, 4.5]},
    "convolution-cache": lambda: {"kept": [3.0, 4.0]},
    "correction-bias": lambda: {"weights": [0.5, 0.4]},
    "delta-rule": _delta_rule,
    "dropout-at-evaluation": lambda: {"output": [1.0, 2.0]},
    "embedding-scale": lambda: {"scaled": [6.0, 8.0, 2.0, 4.0]},
    "expert-combine": lambda: {"sum": [6.0, 2.0, 8.0]},
    "gate-before-rms-norm": lambda: {"normalised": [math.sqrt(2.0), 0.0]},
    "gated-rms-norm": _gated_rms_norm,
    "group-limited-choice": lambda: {"group_scores": [1.0, 1.1, 0.5], "kept": [0.0, 1.0, 0.0]},
    "key-value-cache": lambda: {"all_keys": [1.0, 2.0], "all_values": [10.0, 20.0]},
    "kimi-delta-attention": lambda: {"outputs": [0.5 * 4.0]},
    "kimi-delta-attention-layer": lambda: {"y": [2.0 * 3.0 * 0.5]},
    "l2-norm": _l2_norm,
    "latent-cache": lambda: {"all_latents": [1.0, 2.0, 3.0, 4.0], "all_key": [5.0, 6.0]},
    "latent-experts": lambda: {"latents": [3.0], "routed_output": [2.0, -2.0]},
    "learned-positions": lambda: {"embedded": [1.5, 2.25]},
    "linear-rotary-scaling": lambda: _turned(1.0, 0.1),
    "llama3-rotary-scaling": lambda: _turned(1.0, 0.005),
    "logit-soft-cap": lambda: {"capped": [50.0 * (1.0 - 2.0 / (math.exp(x / 25.0) + 1.0)) for x in (10, 100, -30)]},
    "mamba2-state-space": _state_space,
    "mixture-of-experts": _mixture_of_experts,
    "output-gate": lambda: {"gated": [1.0, -4.0 / (1.0 + math.exp(-10.0))]},
    "query-key-norm": _query_key_norm,
    "recurrent-state": lambda: {"kept": [1.0, 2.0]},
    "renormalised-weights": lambda: {"weights": [2.5 * 0.75, 2.5 * 0.25]},
    "repeated-heads": lambda: {"repeated": [1.0, 1.0, 2.0, 2.0]},
    "rms-norm-one-plus": lambda: {"normalised": [3.0 / math.sqrt(12.5), 8.0 / math.sqrt(12.5)]},
    "rotary-table": lambda: _turned(1.0, 0.1),
    "shared-expert": lambda: {"output": [1.5, 1.5]},
    "short-convolution": lambda: {"convolved": [silu(1.0), silu(2.5), silu(4.0)]},
    "sigmoid-router": lambda: {"scores": [sigmoid(1.0), sigmoid(2.0), 0.5]},
    "situ": _situ,
    "sliding-window": _sliding_window,
    "softmax-router": lambda: {"probabilities": _router()},
    "softplus-decay": lambda: {"log_decay": [-math.log(1.0 + math.e)] * 2},
    "state-space-step": _state_space_step,
    "top-k-after-softmax": lambda: {"weights": [0.625, 0.375], "chosen": [1, 2]},
    "yarn": _yarn,
    "yarn-softmax-scale": lambda: {"scores": [2.0 * (1.0 + math.log(40.0) / 10.0) ** 2]},
    "top-k-before-softmax": lambda: {"logits": [1.0, 2.0, 1.5], "weights": soft(2.0, 1.5), "chosen": [1, 2]},
    "window-cache": lambda: {"kept_keys": [2.0, 3.0], "kept_values": [20.0, 30.0]},
}
"""By entry."""
