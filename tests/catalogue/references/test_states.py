"""References of delta rule, state space, convolution and caches beside our stand-ins, models and ``transformers``."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace

import numpy as np
import torch
from mutants import Case, agreeing, mutants, notices, original
from torch.nn import functional

from openmodelatlas.capture.standins.fla.gate import log_decay as kernel_decay
from openmodelatlas.capture.standins.fla.recurrence import Inputs, attend
from openmodelatlas.capture.standins.mamba_ssm.ssd import chunk_scan
from openmodelatlas.reference import kimi_k3

B, H, T, K, V = 2, 3, 7, 5, 4


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def tensor(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(array)


def array(values: torch.Tensor) -> np.ndarray:
    return values.detach().double().numpy()


def delta_inputs() -> tuple[np.ndarray, ...]:
    queries, keys = normal(B, H, T, K), normal(B, H, T, K, seed=1)
    keys /= np.linalg.norm(keys, axis=-1, keepdims=True)
    log_decay = -np.abs(normal(B, H, T, K, seed=3))
    beta = 1.0 / (1.0 + np.exp(normal(B, H, T, seed=4)))
    return queries, keys, normal(B, H, T, V, seed=2), log_decay, beta, normal(B, H, K, V, seed=5)


def delta_rule(references: ModuleType) -> None:
    """Beside our model's, in float64, and beside the stand-in of fla's kernels, which runs in float32."""
    inputs = delta_inputs()
    expected = kimi_k3.recurrent_delta_rule(*map(tensor, inputs[:5]), state=tensor(inputs[5]))
    for one, other in zip(references.delta_rule(*inputs), expected, strict=True):
        np.testing.assert_allclose(one, array(other))
    queries, keys, values, log_decay, beta = (tensor(part.swapaxes(1, 2)) for part in inputs[:5])
    output, state = attend(
        Inputs(queries, keys, values, row_decay=log_decay, beta=beta.unsqueeze(-1)),
        scale=1.0,
        initial_state=tensor(inputs[5]),
        output_final_state=True,
        state_v_first=False,
        cu_seqlens=None,
        output_dtype=torch.float32,
    )
    given_output, given_state = references.delta_rule(*inputs)
    assert state is not None
    np.testing.assert_allclose(given_output, array(output).swapaxes(1, 2), atol=2e-6)
    np.testing.assert_allclose(given_state, array(state), atol=2e-6)


def chunk(references: ModuleType) -> None:
    inputs = delta_inputs()
    expected = kimi_k3.delta_rule_of_chunk(*map(tensor, inputs[:5]), state=tensor(inputs[5]))
    for one, other in zip(references.delta_rule_of_chunk(*inputs), expected, strict=True):
        np.testing.assert_allclose(one, array(other))


def kimi_delta_attention(references: ModuleType) -> None:
    from transformers.models.kimi_linear.modeling_kimi_linear import chunk_kimi_delta_attention as published

    queries, keys, values, log_decay, beta, _ = delta_inputs()
    positions_first = [tensor(part.swapaxes(1, 2)) for part in (queries, 3.0 * keys, values, log_decay, beta)]
    expected, _ = published(*positions_first, use_qk_l2norm_in_kernel=True)
    given = references.kimi_delta_attention(queries, 3.0 * keys, values, beta, 1e-6, log_decay)
    np.testing.assert_allclose(given, array(expected).swapaxes(1, 2), atol=2e-5)


def l2_norm(references: ModuleType) -> None:
    from transformers.models.kimi_linear.modeling_kimi_linear import l2norm

    features = 1e-3 * normal(4, K)
    np.testing.assert_allclose(references.l2_norm(features, 1e-6), array(l2norm(tensor(features))))


def _low_rank(gate: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Hidden states and two matrices that make ``gate`` of them."""
    rotation = np.linalg.qr(normal(gate.shape[-1], gate.shape[-1], seed=9))[0]
    return gate @ rotation, 2.0 * np.eye(gate.shape[-1]), 0.5 * rotation


def bounded(references: ModuleType) -> None:
    gate, bias, log_rate = normal(B, T, H * K), normal(H * K, seed=1), normal(H, seed=2)
    expected = kernel_decay(tensor(gate).unflatten(-1, (H, K)), tensor(log_rate), tensor(bias), -5.0)
    low_rank = _low_rank(gate)
    given = references.bounded_decay(*low_rank, bias, log_rate, -5.0)
    np.testing.assert_allclose(given, array(expected), rtol=1e-5)
    np.testing.assert_array_equal(references.bounded_decay(*low_rank, bias, log_rate, -5.0, 1), given.swapaxes(1, 2))


def softplus(references: ModuleType) -> None:
    gate, bias, log_rate = 9.0 * normal(B, T, H * K), normal(H * K, seed=1), normal(H, seed=2)
    expected = kernel_decay(tensor(gate).unflatten(-1, (H, K)), tensor(log_rate), tensor(bias), None)
    np.testing.assert_allclose(
        references.softplus_decay(*_low_rank(gate), bias, log_rate), array(expected), rtol=1e-5, atol=1e-6
    )


def state_space_inputs() -> dict[str, np.ndarray]:
    return {
        "inputs": normal(B, T, H * 2, V),
        "step": normal(B, T, H * 2, seed=1),
        "rate": -np.abs(normal(H * 2, seed=2)),
        "into": normal(B, T, H, K, seed=3),
        "out_of": normal(B, T, H, K, seed=4),
        "skip": normal(H * 2, seed=5),
        "step_bias": normal(H * 2, seed=6),
    }


def state_space(references: ModuleType) -> None:
    given = state_space_inputs()
    x, step, rate, into, out_of, skip, bias = (tensor(part) for part in given.values())
    expected, _ = chunk_scan(x, step, rate, into, out_of, skip, None, bias, None, None, True, (0.1, 0.9))
    result = references.state_space(**given, least_step=0.1, greatest_step=0.9)
    np.testing.assert_allclose(result, array(expected), atol=5e-6)


def state_space_step(references: ModuleType) -> None:
    from transformers.models.mamba2.modeling_mamba2 import mamba2_selective_state_update as published

    given = state_space_inputs()
    state = normal(B, H * 2, V, K, seed=7)
    first = {name: part[:, 0] if part.ndim > 1 else part for name, part in given.items()}
    step = np.repeat(first["step"][..., None], V, axis=-1)
    bias, skip = (np.repeat(first[name][:, None], V, axis=-1) for name in ("step_bias", "skip"))
    rate = np.broadcast_to(first["rate"][:, None, None], (H * 2, V, K)).copy()
    kept = tensor(state.copy())
    expected = published(
        kept, *map(tensor, (first["inputs"], step, rate, first["into"], first["out_of"])),
        D=tensor(skip), dt_bias=tensor(bias), dt_softplus=True,
    )  # fmt: skip
    output, next_state = references.state_space_step(
        first["inputs"], step, rate, first["into"], first["out_of"], skip, bias, state
    )
    np.testing.assert_allclose(output, array(expected), rtol=1e-5)
    np.testing.assert_allclose(next_state, array(kept), rtol=1e-5)


def chunked_state_space(references: ModuleType) -> None:
    """Whatever the chunk, the sum is that of the recurrence."""
    given = state_space_inputs()
    heads = {name: np.repeat(given[name], 2, axis=2) for name in ("into", "out_of")}
    zero = np.zeros((B, H * 2, V, K))
    delta = np.log1p(np.exp(given["step"] + given["step_bias"]))
    whole = original("state_space").state_space(**given) - given["skip"][:, None] * given["inputs"]
    for size in (1, 3, 7, 16):
        outputs, _ = references.chunked_state_space(
            given["inputs"], delta, given["rate"], **heads, state=zero, chunk=size
        )
        np.testing.assert_allclose(outputs, whole, atol=1e-12)


def convolution(references: ModuleType) -> None:
    channels, width = 6, 4
    features, window = normal(B, channels, T), normal(B, channels, width - 1, seed=1)
    kernel, bias = normal(channels, 1, width, seed=2), normal(channels, seed=3)
    extended = tensor(np.concatenate([window, features], axis=-1))
    expected = functional.silu(functional.conv1d(extended, tensor(kernel), tensor(bias), groups=channels))
    np.testing.assert_allclose(references.short_convolution(features, kernel, bias, window), array(expected))
    module = kimi_k3.ShortConvolution(channels, width)
    module.weight.data = tensor(kernel).float()
    without, _ = module(tensor(features.swapaxes(1, 2)).float(), torch.zeros(B, width - 1, channels))
    given = references.short_convolution(features.swapaxes(1, 2), kernel)
    np.testing.assert_allclose(given.swapaxes(1, 2), array(without), atol=1e-6)


def window_kept(references: ModuleType) -> None:
    from transformers.cache_utils import LinearAttentionLayer

    layer = LinearAttentionLayer()
    features = normal(B, 6, T)
    layer.update_conv_state(tensor(features), conv_kernel_size=4)
    kept = array(layer.conv_states[0])
    np.testing.assert_array_equal(references.next_window(features, np.zeros((6, 1, 4)), spare=1), kept)
    swapped = references.next_window(features.swapaxes(1, 2), np.zeros((6, 1, 5)), positions_first=1)
    np.testing.assert_array_equal(swapped.swapaxes(1, 2), kept)


def caches(references: ModuleType) -> None:
    from transformers.cache_utils import DynamicLayer

    layer = DynamicLayer()
    keys, values = normal(B, H, T, K), normal(B, H, T, V, seed=1)
    first = layer.update(tensor(keys), tensor(values))
    new_keys, new_values = normal(B, H, 2, K, seed=2), normal(B, H, 2, V, seed=3)
    expected = layer.update(tensor(new_keys), tensor(new_values))
    for function in (references.append_keys_and_values, references.append_latents):
        begun = function(np.zeros(0), keys, np.zeros(0), values)
        for one, other in zip(begun, first, strict=True):
            np.testing.assert_array_equal(one, array(other))
        for one, other in zip(function(begun[0], new_keys, begun[1], new_values), expected, strict=True):
            np.testing.assert_array_equal(one, array(other))


def window_cache(references: ModuleType) -> None:
    from transformers.cache_utils import DynamicSlidingWindowLayer

    for positions in (2, T):
        layer = DynamicSlidingWindowLayer(sliding_window=4)
        keys, values = normal(B, H, positions, K), normal(B, H, positions, V, seed=1)
        layer.update(tensor(keys), tensor(values))
        given = references.keep_window(keys, values, 4)
        for one, other in zip(given, (layer.keys, layer.values), strict=True):
            np.testing.assert_array_equal(one, array(other))


def kept_state(references: ModuleType) -> None:
    from transformers.cache_utils import LinearAttentionLayer

    layer, state = LinearAttentionLayer(), normal(B, H, K, V)
    np.testing.assert_array_equal(references.replace_state(state), array(layer.update_recurrent_state(tensor(state))))


def gated_norms(references: ModuleType) -> None:
    from transformers.models.gemma3.modeling_gemma3 import Gemma3RMSNorm
    from transformers.models.kimi_linear.modeling_kimi_linear import KimiLinearRMSNormGated
    from transformers.models.mamba2.modeling_mamba2 import MambaRMSNormGated

    features, gate, gain = 0.01 * normal(B, T, 8), normal(B, T, 8, seed=1), normal(8, seed=2)
    for module, function in (
        (KimiLinearRMSNormGated(8, eps=1e-5), references.gated_rms_norm),
        (MambaRMSNormGated(8, 8, eps=1e-5), references.gate_then_rms_norm),
    ):
        module.weight.data = tensor(gain)
        expected = module(tensor(features), tensor(gate))
        np.testing.assert_allclose(function(features, gate, gain, 1e-5), array(expected), rtol=1e-4, atol=1e-7)
    plain = Gemma3RMSNorm(8, eps=1e-5)
    plain.weight.data = tensor(gain)
    expected = plain(tensor(features))
    np.testing.assert_allclose(
        references.rms_norm_one_plus(features, gain, 1e-5), array(expected), rtol=1e-4, atol=1e-7
    )


def residuals(references: ModuleType) -> None:
    stored, running = normal(B, T, 3, 8).astype(np.float32), normal(B, T, 8, seed=1).astype(np.float32)
    norm = SimpleNamespace(weight=tensor(normal(8, seed=2).astype(np.float32)), eps=1e-5)
    projection = SimpleNamespace(weight=tensor(normal(1, 8, seed=3).astype(np.float32)))
    expected = kimi_k3.mix_stored_sums(tensor(running), tensor(stored), norm, projection)
    inputs = [part.astype(np.float64) for part in (stored, running[:, :, None])]
    weights = [array(norm.weight), array(projection.weight)]
    np.testing.assert_allclose(references.mix_sums(*inputs, *weights, 1e-5), array(expected), atol=2e-6)
    np.testing.assert_array_equal(
        references.store_sum(*inputs), array(torch.cat((tensor(stored), tensor(running).unsqueeze(2)), dim=2))
    )
    last = kimi_k3.RMSNorm(8, 1e-5)
    last.weight.data = tensor(normal(8, seed=4).astype(np.float32))
    given = references.final_mix(*inputs, *weights, 1e-5, array(last.weight), 1e-5)
    np.testing.assert_allclose(given, array(last(expected)), atol=5e-6)


CASES = (
    Case(delta_rule, "delta_rule", (
        ("state = np.exp(log_decay) * state\n    recalled", "recalled"),
        ("(value.reshape(batch, heads, -1) - recalled)", "(value.reshape(batch, heads, -1) + recalled)"),
        ("    return np.sum(query * state, axis=2), state", "    return np.sum(key * state, axis=2), state"),
    )),
    Case(chunk, "delta_rule", (
        ("(keys * np.exp(total)) @ state", "keys @ state"),
        ("keys, between, keys), -1)", "keys, between, keys))"),
        ("np.exp(last - total)", "np.exp(total - last)"),
    )),
    Case(kimi_delta_attention, "delta_rule", (("/ np.sqrt(queries.shape[-1])", ""),)),
    Case(l2_norm, "delta_rule", (
        ("np.sqrt(np.sum(features**2, axis=-1, keepdims=True) + eps)",
         "np.maximum(np.sqrt(np.sum(features**2, axis=-1, keepdims=True)), eps)"),
    )),
    Case(bounded, "delta_rule", (
        ("lower_bound * sigmoid(np.exp(log_rate)", "lower_bound * sigmoid(-np.exp(log_rate)"),
        ("return log_decay.swapaxes(1, 2) if heads_first", "return log_decay.swapaxes(1, 2) if not heads_first"),
    )),
    Case(softplus, "delta_rule", (("-np.exp(log_rate).reshape(-1, 1)", "-log_rate.reshape(-1, 1)"),)),
    Case(state_space, "state_space", (
        ("np.clip(softplus(step + step_bias), least_step, greatest_step)", "softplus(step + step_bias)"),
        ("result: Array = outputs + skip * inputs", "result: Array = outputs - skip * inputs"),
        ("np.exp(delta[:, t] * rate)", "np.exp(rate)"),
    )),
    Case(state_space_step, "state_space", (
        ("[..., None] * state + driven\n    return", "[..., None] * state - driven\n    return"),
        ("axis=-1) + skip * features, state", "axis=-1) + features, state"),
    )),
    Case(chunked_state_space, "state_space", (
        ("* np.tri(total.shape[1])[None, :, :, None]", ""),
        ("np.exp(total[:, -1:] - total)", "np.exp(total)"),
    )),
    Case(convolution, "short_convolution", (
        ('np.einsum("bctw,cw->bct", windows, kernel[:, 0])', 'np.einsum("bctw,cw->bct", windows, kernel[:, 0, ::-1])'),
        ("return silu(summed if bias is None else summed + bias[:, None])",
         "return silu(summed) if bias is None else silu(summed) + bias[:, None]"),
    )),
    Case(window_kept, "short_convolution", (
        ("features[..., features.shape[-1] - before.shape[-1] :]", "features[..., : before.shape[-1]]"),
    )),
    Case(caches, "caches", (("np.concatenate([cached, new], axis=-2)", "np.concatenate([new, cached], axis=-2)"),)),
    Case(window_cache, "caches", (("(window - 1), 0)", "window, 0)"),)),
    Case(kept_state, "caches", (("    return new_state", "    return -new_state"),)),
    Case(gated_norms, "gated_norms", (
        ("gain * normalise(features, eps) * sigmoid(gate)", "gain * normalise(features * sigmoid(gate), eps)"),
        ("gain * normalise(features * silu(gate), eps)", "gain * normalise(features, eps) * silu(gate)"),
        ("(1.0 + gain)", "gain"),
        ("keepdims=True) + eps)", "keepdims=True)) + eps"),
    )),
    Case(residuals, "residuals", (
        ("np.concatenate([stored_sums, running_sum], axis=2)", "np.concatenate([running_sum, stored_sums], axis=2)"),
        ("keys = gain * sums", "keys = sums"),
        ("np.mean(mixed**2, axis=-1, keepdims=True) + norm_eps", "np.sum(mixed**2, axis=-1, keepdims=True) + norm_eps"),
    )),
)  # fmt: skip


@agreeing(CASES)
def test_references_agree_with_other_code(case: Case) -> None:
    case.check(original(case.module))


@mutants(CASES)
def test_a_change_is_noticed(case: Case, old: str, new: str) -> None:
    assert notices(case, old, new)
