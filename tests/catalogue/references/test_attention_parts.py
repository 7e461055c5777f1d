"""References of windows, sinks, gates, caps and the like beside ``transformers`` and torch."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace

import numpy as np
import torch
from mutants import Case, agreeing, mutants, notices, original
from torch.nn import functional

from openmodelatlas.reference import kimi_k3, layers

B, H, T, D = 2, 4, 6, 5


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def tensor(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(array)


def array(values: torch.Tensor) -> np.ndarray:
    return values.detach().double().numpy()


def sliding_window(references: ModuleType) -> None:
    from transformers.masking_utils import and_masks, causal_mask_function, sliding_window_overlay

    queries, keys = np.arange(3, 9), np.arange(9)
    rule = and_masks(sliding_window_overlay(4), causal_mask_function)
    expected = rule(0, 0, tensor(queries[:, None]), tensor(keys[None, :])).numpy()
    np.testing.assert_array_equal(references.sliding_window(queries[:, None], keys[None, :], 4), expected)


def sinks(references: ModuleType) -> None:
    from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward

    queries, keys, values = normal(B, H, T, D), normal(B, 2, T, D, seed=1), normal(B, 2, T, D, seed=2)
    learned, mask = normal(H, seed=3), np.triu(np.full((T, T), -1e9), 1)[None, None]
    module = SimpleNamespace(num_key_value_groups=2, sinks=tensor(learned), training=False)
    expected, weights = eager_attention_forward(module, *map(tensor, (queries, keys, values, mask)), scaling=0.4)
    repeated = np.repeat(keys, 2, axis=1).swapaxes(2, 3), np.repeat(values, 2, axis=1)
    outputs, given = references.attention_with_sinks(queries, *repeated, learned, 0.4, mask)
    np.testing.assert_allclose(outputs, array(expected).swapaxes(1, 2))
    np.testing.assert_allclose(given, array(weights), atol=1e-12)


def query_key_norm(references: ModuleType) -> None:
    from transformers.models.qwen3.modeling_qwen3 import Qwen3RMSNorm

    norms = [Qwen3RMSNorm(D, eps=1e-5), Qwen3RMSNorm(D, eps=1e-5)]
    heads = [0.01 * normal(B, T, H, D), 0.01 * normal(B, T, 2, D, seed=1)]
    for index, norm in enumerate(norms):
        norm.weight.data = tensor(normal(D, seed=2 + index))
    expected = [norm(tensor(one)) for norm, one in zip(norms, heads, strict=True)]
    given = references.query_key_norm(*heads, *(array(norm.weight) for norm in norms), 1e-5)
    for one, other in zip(given, expected, strict=True):
        np.testing.assert_allclose(one, array(other), rtol=1e-4, atol=1e-7)
    shifted = references.query_key_norm(*heads, *(array(norm.weight) - 1.0 for norm in norms), 1e-5, 1.0)
    np.testing.assert_allclose(shifted[1], given[1])


def output_gate(references: ModuleType) -> None:
    """Beside our Kimi K3's latent attention, whose gate is projected from the same hidden states."""
    outputs, gate = normal(B, T, 8), normal(B, T, 8, seed=1)
    expected = tensor(outputs) * torch.sigmoid(tensor(gate))
    np.testing.assert_allclose(references.output_gate(outputs, gate), array(expected))
    assert "output_gate = self.g_proj(hidden_states).sigmoid()" in _source(kimi_k3)


def _source(module: ModuleType) -> str:
    import inspect

    return inspect.getsource(module)


def soft_cap(references: ModuleType) -> None:
    from transformers.models.gemma3.modeling_gemma3 import eager_attention_forward

    queries, keys, values = 9.0 * normal(1, 1, T, D), 9.0 * normal(1, 1, T, D, seed=1), np.eye(T)[None, None]
    module = SimpleNamespace(num_key_value_groups=1, training=False)
    _, weights = eager_attention_forward(module, *map(tensor, (queries, keys, values)), None, scaling=1.0, softcap=50.0)
    scores = references.soft_cap(queries @ keys.swapaxes(2, 3), 50.0)
    np.testing.assert_allclose(array(functional.softmax(tensor(scores), -1)), array(weights), rtol=1e-4, atol=1e-7)


def repeat(references: ModuleType) -> None:
    from transformers.models.llama.modeling_llama import repeat_kv

    values, weights = normal(B, 2, T, D), np.zeros((B, 6, T, T))
    np.testing.assert_array_equal(references.repeat_heads(values, weights), array(repeat_kv(tensor(values), 3)))
    assert references.repeat_heads(values, weights[:, :2]) is NotImplemented


def dropout(references: ModuleType) -> None:
    features = normal(3, 4)
    expected = functional.dropout(tensor(features), p=0.5, training=False)
    np.testing.assert_array_equal(references.dropout_at_evaluation(features), array(expected))


def scaled_embedding(references: ModuleType) -> None:
    from transformers.models.gemma3.modeling_gemma3 import Gemma3TextScaledWordEmbedding

    module = Gemma3TextScaledWordEmbedding(9, 4, 0, embed_scale=2.0).double()
    ids = np.array([[1, 8, 3]])
    given = references.scaled_embedding(ids, array(module.weight), 2.0)
    np.testing.assert_allclose(given, array(module(tensor(ids))))


def convolution(references: ModuleType) -> None:
    from transformers.pytorch_utils import Conv1D

    module = Conv1D(6, 4).double()
    module.bias.data = tensor(normal(6))
    features = normal(3, 4, seed=1)
    given = references.convolution_as_projection(features, array(module.weight), array(module.bias))
    np.testing.assert_allclose(given, array(module(tensor(features))))


def our_attention_mask(references: ModuleType) -> None:
    """A window as long as the text hides the future only, as our models' masks do."""
    positions = np.arange(T)
    expected = layers.visible_positions(T, 0, None, torch.device("cpu"))[0, 0].numpy()
    np.testing.assert_array_equal(references.sliding_window(positions[:, None], positions[None], T), expected)


CASES = (
    Case(sliding_window, "attention_parts", (("(key_positions > query", "(key_positions >= query"),)),
    Case(our_attention_mask, "attention_parts", (("(key_positions <= query", "(key_positions < query"),)),
    Case(sinks, "attention_parts", (
        ("axis=-1))[..., :-1]", "axis=-1))[..., 1:]"),
        ("softmax(np.concatenate([scores, column], axis=-1))[..., :-1]", "softmax(scores)"),
        ("scores = scores + mask", "scores = scores - mask"),
    )),
    Case(query_key_norm, "attention_parts", (
        ("heads / np.sqrt(mean_square + eps)", "heads / (np.sqrt(mean_square) + eps)"),
        ("np.mean(heads**2, axis=-1, keepdims=True)", "np.sum(heads**2, axis=-1, keepdims=True)"),
    )),
    Case(output_gate, "attention_parts", (("head_outputs * sigmoid(gate)", "head_outputs * sigmoid(-gate)"),)),
    Case(soft_cap, "attention_parts", (("np.tanh(scores / cap)", "np.clip(scores / cap, -1, 1)"),)),
    Case(repeat, "attention_parts", (("np.repeat(features, weights.shape[1] // features.shape[1], axis=1)",
                                      "np.tile(features, (1, weights.shape[1] // features.shape[1], 1, 1))"),)),
    Case(dropout, "attention_parts", (("    return features\n", "    return 0.5 * features\n"),)),
    Case(scaled_embedding, "projections", (("table[token_ids] * scale", "table[token_ids] / scale"),)),
    Case(convolution, "projections", (("features @ weight + bias", "features @ weight - bias"),)),
)  # fmt: skip


@agreeing(CASES)
def test_references_agree_with_other_code(case: Case) -> None:
    case.check(original(case.module))


@mutants(CASES)
def test_a_change_is_noticed(case: Case, old: str, new: str) -> None:
    assert notices(case, old, new)
