"""References of routers and experts beside the code of ``transformers`` and our own reference models."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import torch
from mutants import Case, agreeing, mutants, notices, original
from torch.nn import functional

from openmodelatlas.reference import kimi_k3, layers

N, HIDDEN, EXPERTS, CHOSEN, INNER = 9, 6, 8, 3, 5


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def tensor(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(array)


def filled(module: torch.nn.Module) -> torch.nn.Module:
    """The module in float64 with random parameters and buffers."""
    generator = torch.Generator().manual_seed(0)
    module = module.double()
    for values in (*module.parameters(), *module.buffers()):
        values.data = torch.randn(values.shape, generator=generator, dtype=torch.float64)
    return module.eval()


def settings(**extra: Any) -> SimpleNamespace:
    return SimpleNamespace(
        hidden_size=HIDDEN,
        num_experts_per_tok=CHOSEN,
        num_local_experts=EXPERTS,
        num_experts=EXPERTS,
        moe_intermediate_size=INNER,
        intermediate_size=INNER,
        hidden_act="silu",
        _experts_implementation="eager",
        **extra,
    )


def array(values: torch.Tensor) -> np.ndarray:
    return values.detach().numpy()


def softmax_routers(references: ModuleType) -> None:
    from transformers.models.mixtral.modeling_mixtral import MixtralTopKRouter
    from transformers.models.qwen3_moe.modeling_qwen3_moe import Qwen3MoeTopKRouter

    tokens = normal(N, HIDDEN)
    for router in (MixtralTopKRouter(settings()), Qwen3MoeTopKRouter(settings(norm_topk_prob=True))):
        weight = filled(router).weight
        _, weights, chosen = router(tensor(tokens))
        probabilities = references.softmax_router(tokens, array(weight))
        np.testing.assert_allclose(probabilities.sum(-1), 1.0)
        given, numbers = references.choose_after_softmax(probabilities, CHOSEN)
        np.testing.assert_array_equal(numbers, array(chosen))
        np.testing.assert_allclose(given, array(weights), rtol=1e-5)


def gpt_oss_router(references: ModuleType) -> None:
    from transformers.models.gpt_oss.modeling_gpt_oss import GptOssTopKRouter

    tokens = normal(N, HIDDEN)
    router = filled(GptOssTopKRouter(settings()))
    logits, weights, chosen = router(tensor(tokens))
    given = references.choose_before_softmax(tokens, array(router.weight), array(router.bias), CHOSEN)
    for one, other in zip(given, (logits, weights, chosen), strict=True):
        np.testing.assert_allclose(one, array(other))


def deepseek_router(references: ModuleType) -> None:
    """The whole chain: scores, bias, groups, choice, weights."""
    from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3TopkRouter

    tokens = normal(N, HIDDEN)
    configuration = settings(n_group=4, topk_group=2, norm_topk_prob=True, routed_scaling_factor=2.5)
    router = filled(DeepseekV3TopkRouter(configuration))
    _, weights, chosen = router(tensor(tokens))
    scores = references.sigmoid_router(tokens, array(router.weight))
    biased = scores + array(router.e_score_correction_bias)
    group_scores, kept = references.best_groups(biased.reshape(N, 4, -1), 2)
    np.testing.assert_allclose(group_scores, np.sort(biased.reshape(N, 4, 2)).sum(-1))
    shut_out = np.repeat(kept == 0.0, EXPERTS // 4, axis=-1)
    bias = array(router.e_score_correction_bias)
    taken = references.choose_with_bias(scores, bias, CHOSEN, array(chosen), shut_out)
    np.testing.assert_allclose(references.renormalise_and_scale(taken, 1e-20, 2.5), array(weights), rtol=1e-5)


def our_groups(references: ModuleType) -> None:
    """Our own model's groups; the sum of three is another choice than that of two."""
    scores = normal(60, 12, seed=3)
    masked = layers.keep_best_groups(tensor(scores), 3, 1)
    _, kept = references.best_groups(scores.reshape(60, 3, 4), 1)
    np.testing.assert_array_equal(np.repeat(kept == 0.0, 4, axis=-1), array(torch.isinf(masked)))


def own_order(references: ModuleType) -> None:
    """A choice in another order is the same choice; another choice is not."""
    scores, bias = np.array([[0.9, 0.5, 0.4]]), np.array([-0.6, 0.0, 0.0])
    given = references.choose_with_bias(scores, bias, 2, np.array([[2, 1]]))
    np.testing.assert_array_equal(given, [[0.4, 0.5]])
    np.testing.assert_array_equal(references.choose_with_bias(scores, bias, 2, np.array([[0, 1]])), [[0.5, 0.4]])


def _routing() -> tuple[np.ndarray, np.ndarray]:
    chosen = np.stack([np.random.default_rng(row).permutation(EXPERTS)[:CHOSEN] for row in range(N)])
    return chosen, normal(N, CHOSEN, seed=2)


def packed(references: ModuleType) -> None:
    from transformers.models.mixtral.modeling_mixtral import MixtralExperts

    tokens, (chosen, weights) = normal(N, HIDDEN), _routing()
    experts = filled(MixtralExperts(settings()))
    expected = experts(tensor(tokens), tensor(chosen), tensor(weights))
    given = references.packed_experts(tokens, chosen, weights, array(experts.gate_up_proj), array(experts.down_proj))
    np.testing.assert_allclose(given, array(expected))


def clamped(references: ModuleType) -> None:
    from transformers.models.gpt_oss.modeling_gpt_oss import GptOssExperts

    tokens, (chosen, weights) = 4.0 * normal(N, HIDDEN), _routing()
    experts = filled(GptOssExperts(settings(swiglu_alpha=1.702, swiglu_limit=7.0)))
    expected = experts(tensor(tokens), tensor(chosen), tensor(weights))
    parameters = (experts.gate_up_proj, experts.gate_up_proj_bias, experts.down_proj, experts.down_proj_bias)
    given = references.clamped_experts(tokens, chosen, weights, *map(array, parameters), 1.702, 7.0)
    np.testing.assert_allclose(given, array(expected), rtol=1e-6)
    packed_columns = 9.0 * normal(4, 10, seed=4)
    np.testing.assert_allclose(
        references.clamped_swiglu(packed_columns, 1.702, 7.0), array(experts._apply_gate(tensor(packed_columns)))
    )


def combined(references: ModuleType) -> None:
    """Expert by expert, the sum is that of the whole mixture; a token may choose an expert once only."""
    tokens, (chosen, weights) = normal(N, HIDDEN), _routing()
    modules = torch.nn.ModuleList(torch.nn.Linear(HIDDEN, HIDDEN).double() for _ in range(EXPERTS))
    expected = layers.run_chosen_experts(tensor(tokens), modules, tensor(chosen), tensor(weights))
    total = np.zeros_like(tokens)
    for expert in range(EXPERTS):
        token, place = np.nonzero(chosen == expert)
        outputs = array(modules[expert](tensor(tokens[token])))
        total = references.weigh_and_add(total, token, outputs, weights[token, place][:, None])
    np.testing.assert_allclose(total, array(expected))


def situ(references: ModuleType) -> None:
    configuration = SimpleNamespace(activation_situ_beta=4.0, activation_situ_linear_beta=25.0)
    activation = kimi_k3.SiTU(configuration)
    gate, up = 6.0 * normal(3, 7).astype(np.float32), 40.0 * normal(3, 7, seed=1).astype(np.float32)
    expected = array(activation(tensor(gate), tensor(up)))
    given = references.situ(gate.astype(np.float64), up.astype(np.float64), 4.0, 25.0)
    np.testing.assert_allclose(given, expected, rtol=2e-6, atol=1e-5)


def latent(references: ModuleType) -> None:
    norm = filled(layers.RMSNorm(4, 1e-5))
    tokens, routed = normal(N, HIDDEN), normal(N, 4, seed=1)
    down, up = normal(4, HIDDEN, seed=2), normal(HIDDEN, 4, seed=3)
    latents, output = references.latent_experts(tokens, down, routed, array(norm.weight), 1e-5, up)
    np.testing.assert_allclose(latents, array(functional.linear(tensor(tokens), tensor(down))))
    np.testing.assert_allclose(output, array(functional.linear(norm(tensor(routed)), tensor(up))), rtol=1e-5)


def shared(references: ModuleType) -> None:
    np.testing.assert_array_equal(
        references.add_shared_expert(normal(2, 3), normal(2, 3, seed=1)), normal(2, 3) + normal(2, 3, seed=1)
    )


CASES = (
    Case(softmax_routers, "routing", (
        ("weights / weights.sum(axis=-1, keepdims=True), chosen", "weights, chosen"),
        ("return softmax(linear(tokens, weight))", "return sigmoid(linear(tokens, weight))"),
    )),
    Case(gpt_oss_router, "routing", (
        ("softmax(take(logits, chosen)), chosen", "take(softmax(logits), chosen), chosen"),
        ("logits = linear(tokens, weight, bias)", "logits = linear(tokens, weight, -bias)"),
    )),
    Case(deepseek_router, "routing", (
        ("return take(scores, in_order_of", "return take(choice_scores, in_order_of"),
        ("choice_scores = scores + bias", "choice_scores = scores - bias"),
        ("scores.sum(axis=-1, keepdims=True) + eps", "scores.sum() + eps"),
        ("return sigmoid(linear(tokens, weight))", "return softmax(linear(tokens, weight))"),
    )),
    Case(our_groups, "routing", (("[..., -2:].sum(axis=-1)", "[..., -1:].sum(axis=-1)"),)),
    Case(own_order, "routing", (("np.where(same, chosen, right)", "chosen"),)),
    Case(packed, "experts", (
        ("gate, up = np.split", "up, gate = np.split"),
        ("down[expert]) * weights[token, place, None]", "down[expert])"),
    )),
    Case(clamped, "experts", (
        ("gate = np.minimum(packed[..., 0::2], limit)", "gate = np.clip(packed[..., 0::2], -limit, limit)"),
        ("(up + 1.0) * gate", "up * gate"),
        ("packed[..., 1::2], -limit", "packed[..., packed.shape[-1] // 2 :], -limit"),
        ("+ down_bias[expert]) * weights", ") * weights"),
    )),
    Case(combined, "experts", (("outputs * weights)", "outputs / weights)"),)),
    Case(situ, "experts", (
        ("sigmoid(gate) * up_bound", "sigmoid(gate_bound * np.tanh(gate / gate_bound)) * up_bound"),
        ("up_bound * np.tanh(up / up_bound)", "np.clip(up, -up_bound, up_bound)"),
    )),
    Case(latent, "experts", (
        ("np.sqrt(mean_square + eps), up)", "(np.sqrt(mean_square) + eps), up)"),
        ("linear(tokens, down), linear", "linear(tokens, -down), linear"),
    )),
    Case(shared, "experts", (("return routed + shared", "return routed - shared"),)),
)  # fmt: skip


@agreeing(CASES)
def test_references_agree_with_other_code(case: Case) -> None:
    case.check(original(case.module))


@mutants(CASES)
def test_a_change_is_noticed(case: Case, old: str, new: str) -> None:
    assert notices(case, old, new)
