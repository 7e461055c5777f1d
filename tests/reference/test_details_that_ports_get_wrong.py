"""The details of Kimi K2 and K3 that ports get wrong, each as a test that fails if it is done the other way.

The row numbers are those of the table in ``../shared/wants.md``.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from openmodelatlas.errors import SourceError
from openmodelatlas.reference import kimi_k2, kimi_k3
from openmodelatlas.reference.kimi_k2_configuration import KimiK2Configuration
from openmodelatlas.reference.kimi_k3_configuration import KimiK3Configuration
from openmodelatlas.reference.layers import keep_best_groups, visible_positions
from tests.reference.small_models import (
    published,
    random_k2,
    random_k3,
    random_tensor,
    random_tokens,
    randomise,
    relative_error,
    small_k2_configuration,
    small_k3_configuration,
)


def k2_router(**changes: object) -> kimi_k2.Router:
    router = kimi_k2.Router(KimiK2Configuration.from_published(small_k2_configuration(**changes)))
    randomise(router, 1)
    return router


def k3_router(**changes: object) -> kimi_k3.Router:
    router = kimi_k3.Router(KimiK3Configuration.from_published(small_k3_configuration(**changes)))
    randomise(router, 1)
    return router


def delta_attention() -> kimi_k3.KimiDeltaAttention:
    module = kimi_k3.KimiDeltaAttention(KimiK3Configuration.from_published(small_k3_configuration()))
    randomise(module, 2)
    return module


@pytest.mark.parametrize("make", [k2_router, k3_router])
@torch.no_grad()
def test_row_1_the_bias_chooses_and_does_not_weigh(make: object) -> None:
    router = make()
    tokens = random_tensor(6, router.weight.shape[1])
    router.e_score_correction_bias.zero_()
    router.e_score_correction_bias[[2, 5, 7]] = 100.0
    chosen, weights = router(tokens)
    assert all(set(row) == {2, 5, 7} for row in chosen.tolist())
    scores = torch.sigmoid(tokens @ router.weight.T).gather(1, chosen)
    expected = scores / scores.sum(dim=1, keepdim=True) * router.routed_scaling_factor
    assert relative_error(weights, expected) <= 1e-6


def test_row_1_groups_rank_by_the_sum_of_their_two_best() -> None:
    scores = torch.tensor([[0.9, 0.1, 0.0, 0.6, 0.5, 0.0]])
    kept = keep_best_groups(scores, 2, 1)
    assert torch.equal(kept.isinf(), torch.tensor([[True, True, True, False, False, False]]))


@pytest.mark.parametrize("make", [k2_router, k3_router])
@torch.no_grad()
def test_row_2_the_router_works_in_float32(make: object) -> None:
    """Two experts whose scores differ by less than bfloat16 can tell: float32 chooses the right one."""
    router = make(num_experts_per_tok=1) if make is k2_router else make(num_experts_per_token=1)
    router.weight.zero_()
    router.e_score_correction_bias.zero_()
    router.weight[3, 0] = 1.0
    router.weight[4, :2] = torch.tensor([1.0, 2**-10])
    router.to(torch.bfloat16)
    tokens = torch.zeros(1, router.weight.shape[1], dtype=torch.bfloat16)
    tokens[0, :2] = 1.0
    chosen, weights = router(tokens)
    assert chosen.item() == 4
    assert weights.dtype == torch.float32


@torch.no_grad()
def test_row_3_the_scaling_factor_follows_renormalisation_and_spares_the_shared_expert() -> None:
    outputs = {}
    tokens = random_tensor(2, 5, 48)
    for factor in (1.0, 2.827):
        parsed = KimiK2Configuration.from_published(small_k2_configuration(routed_scaling_factor=factor))
        mixture = kimi_k2.MixtureOfExperts(parsed)
        randomise(mixture, 3)
        outputs[factor] = mixture(tokens)
        shared = mixture.shared_experts(tokens)
        _, weights = mixture.gate(tokens.flatten(end_dim=1))
        assert torch.allclose(weights.sum(dim=1), torch.full((10,), factor), atol=1e-5)
    assert relative_error(outputs[2.827] - shared, 2.827 * (outputs[1.0] - shared)) <= 1e-5


def test_row_4_rotary_turns_neighbouring_pairs() -> None:
    angles = torch.tensor([[0.3, 0.7]])
    features = torch.eye(4).unsqueeze(1)
    turned = kimi_k2.rotate_pairs(features, angles.cos(), angles.sin()).squeeze(1)
    expected = torch.zeros(4, 4)
    for pair, angle in enumerate((0.3, 0.7)):
        expected[2 * pair, 2 * pair : 2 * pair + 2] = torch.tensor([math.cos(angle), math.sin(angle)])
        expected[2 * pair + 1, 2 * pair : 2 * pair + 2] = torch.tensor([-math.sin(angle), math.cos(angle)])
    assert torch.allclose(turned, expected, atol=1e-6)


@torch.no_grad()
def test_row_4_one_rotary_key_serves_all_heads_and_the_rest_has_no_position() -> None:
    configuration = small_k2_configuration()
    model = random_k2(configuration)
    tokens = random_tokens(101, 1, 6)
    cache = model(tokens, use_cache=True).past_key_values[0]
    assert cache.shared_key.shape == (1, 6, configuration["qk_rope_head_dim"])
    same_token = torch.full((1, 6), 7)
    first_layer = model(same_token, use_cache=True).past_key_values[0]
    assert torch.allclose(first_layer.key_value_latent[:, 0], first_layer.key_value_latent[:, 5], atol=1e-6)
    assert not torch.allclose(first_layer.shared_key[:, 0], first_layer.shared_key[:, 5], atol=1e-2)


def test_row_5_both_yarn_corrections_have_their_published_values() -> None:
    parsed = KimiK2Configuration.from_published(published("kimi-k2"))
    rotary = kimi_k2.RotaryEmbedding(parsed)
    temperature = 0.1 * math.log(32) + 1
    assert rotary.cosine_scale == 1.0
    assert kimi_k2.attention_scale(parsed) == pytest.approx(192**-0.5 * temperature**2)
    assert kimi_k2.temperature(40, 1.0) ** 2 == pytest.approx(1.874, abs=1e-3)
    assert (rotary.ramp_start, rotary.ramp_end) == (19, 20)


def test_row_5_the_first_correction_is_a_ratio_on_cosine_and_sine() -> None:
    scaling = {**published("kimi-k2")["rope_scaling"], "mscale": 2.0, "mscale_all_dim": 0.5}
    parsed = KimiK2Configuration.from_published(small_k2_configuration(rope_scaling=scaling))
    cosines, sines = kimi_k2.RotaryEmbedding(parsed)(torch.arange(5))
    ratio = (0.2 * math.log(32) + 1) / (0.05 * math.log(32) + 1)
    assert torch.allclose(cosines.square() + sines.square(), torch.tensor(ratio**2), atol=1e-5)


def test_row_5_frequencies_are_those_of_transformers_at_the_published_configuration() -> None:
    from transformers import DeepseekV3Config
    from transformers.models.deepseek_v3.modeling_deepseek_v3 import DeepseekV3RotaryEmbedding

    true = {
        key: value for key, value in published("kimi-k2").items() if key not in ("model_type", "quantization_config")
    }
    theirs = DeepseekV3RotaryEmbedding(DeepseekV3Config(**true))
    ours = kimi_k2.RotaryEmbedding(KimiK2Configuration.from_published(published("kimi-k2")))
    positions = torch.arange(100)
    expected_cosines, expected_sines = theirs(torch.zeros(1), positions.unsqueeze(0))
    cosines, sines = ours(positions)
    assert torch.allclose(cosines, expected_cosines[0, :, :32], atol=1e-5)
    assert torch.allclose(sines, expected_sines[0, :, :32], atol=1e-5)


def test_row_6_eps_stands_under_the_root_of_a_sum() -> None:
    vector = torch.tensor([[3e-4, 4e-4]])
    expected = vector / math.sqrt(2.5e-7 + 1e-6)
    assert torch.allclose(kimi_k3.l2_normalise(vector), expected, rtol=1e-5)


@torch.no_grad()
def test_row_10_stored_decay_rates_beyond_the_heads_are_cut_off() -> None:
    module = delta_attention()
    weights = dict(module.state_dict())
    rates = random_tensor(module.num_heads, seed=8)
    weights["A_log"] = torch.cat((rates, torch.zeros(module.head_dim - module.num_heads)))
    module.load_state_dict(weights, strict=True)
    assert torch.equal(module.A_log, rates)
    weights["A_log"] = torch.ones(module.head_dim)
    with pytest.raises(SourceError, match="surplus is not zero"):
        module.load_state_dict(weights)


@torch.no_grad()
def test_row_11_the_decay_is_bounded_by_a_sigmoid() -> None:
    module = delta_attention()
    hidden_states = 30 * random_tensor(2, 7, 44)
    log_decay = module.log_decay(hidden_states)
    gate = module.f_b_proj(module.f_a_proj(hidden_states)).double().numpy().reshape(2, 7, 3, 16)
    shifted = gate + module.dt_bias.double().numpy().reshape(3, 16)
    rate = np.exp(module.A_log.double().numpy())[:, None]
    expected = torch.from_numpy(-5.0 / (1 + np.exp(-rate * shifted))).transpose(1, 2)
    assert relative_error(log_decay.double(), expected) <= 1e-5
    assert log_decay.min() >= -5.0
    assert log_decay.max() <= 0.0
    softplus = torch.from_numpy(-rate * np.log1p(np.exp(shifted))).transpose(1, 2).clamp(min=-5)
    assert relative_error(log_decay.double(), softplus) > 0.1


def test_row_12_situ_bounds_gate_and_up_by_constants_of_their_own() -> None:
    configuration = KimiK3Configuration.from_published(published("kimi-k3"))
    activation = kimi_k3.SiTU(configuration)
    assert (activation.gate_bound, activation.up_bound) == (4.0, 25.0)
    huge = torch.tensor([1e4])
    assert activation(huge, huge).item() == pytest.approx(100.0)
    assert activation(huge, -huge).item() == pytest.approx(-100.0)
    gate, up = random_tensor(9, seed=1), 20 * random_tensor(9, seed=2)
    expected = 4 * torch.tanh(gate / 4) / (1 + torch.exp(-gate)) * 25 * torch.tanh(up / 25)
    assert relative_error(activation(gate, up), expected) <= 1e-5


def test_row_12_situ_is_in_routed_shared_and_dense_networks() -> None:
    with torch.device("meta"):
        model = kimi_k3.build(small_k3_configuration())
    activated = {name.rsplit(".", 1)[0] for name, part in model.named_modules() if isinstance(part, kimi_k3.SiTU)}
    assert "language_model.model.layers.0.mlp" in activated
    assert "language_model.model.layers.1.block_sparse_moe.shared_experts" in activated
    assert "language_model.model.layers.1.block_sparse_moe.experts.0" in activated


def test_row_12_widths_and_ranks_at_the_published_configuration() -> None:
    parsed = KimiK3Configuration.from_published(published("kimi-k3"))
    with torch.device("meta"):
        attention = kimi_k3.KimiDeltaAttention(parsed)
        latent = kimi_k3.GatedLatentAttention(parsed)
        router = kimi_k3.Router(parsed)
        expert = kimi_k3.Expert(parsed.routed_expert_hidden_size, parsed.moe_intermediate_size, kimi_k3.SiTU(parsed))
    assert attention.g_proj.weight.shape == (12288, 7168)
    assert attention.f_a_proj.weight.shape == (128, 7168)
    assert attention.f_b_proj.weight.shape == (12288, 128)
    assert attention.A_log.shape == (96,)
    assert latent.g_proj.weight.shape == (12288, 7168)
    assert router.weight.shape == (896, 7168)
    assert expert.w1.weight.shape == (3072, 3584)
    assert expert.w2.weight.shape == (3584, 3072)


@torch.no_grad()
def test_row_12_latent_attention_of_k3_knows_no_positions() -> None:
    """Other orders of the earlier tokens change nothing for the last one; with K2's rotary positions they do."""
    order = torch.tensor([3, 0, 4, 1, 2, 5])
    visible = visible_positions(6, 0, None, torch.device("cpu"))
    k3 = kimi_k3.GatedLatentAttention(KimiK3Configuration.from_published(small_k3_configuration()))
    randomise(k3, 4)
    hidden_states = random_tensor(1, 6, 44)
    last, _ = k3(hidden_states, visible, None)
    last_reordered, _ = k3(hidden_states[:, order], visible, None)
    assert relative_error(last_reordered[:, -1], last[:, -1]) <= 1e-5

    parsed = KimiK2Configuration.from_published(small_k2_configuration())
    k2 = kimi_k2.LatentAttention(parsed)
    randomise(k2, 4)
    cosines, sines = kimi_k2.RotaryEmbedding(parsed)(torch.arange(6))
    hidden_states = random_tensor(1, 6, 48)
    last, _ = k2(hidden_states, cosines, sines, visible, None)
    last_reordered, _ = k2(hidden_states[:, order], cosines, sines, visible, None)
    assert relative_error(last_reordered[:, -1], last[:, -1]) > 1e-3


@torch.no_grad()
def test_row_13_stored_sums_grow_at_the_first_layer_of_each_group() -> None:
    true = published("kimi-k3")["text_config"]
    layers = {key: true["linear_attn_config"][key] for key in ("kda_layers", "full_attn_layers")}
    configuration = small_k3_configuration(
        num_hidden_layers=93, attn_res_block_size=true["attn_res_block_size"], linear_attn_config=layers
    )
    model = random_k3(configuration).language_model.model
    stored: list[int] = []
    for layer in model.layers:
        layer.register_forward_hook(lambda _m, _i, output: stored.append(output[1].shape[2]))
    model(random_tokens(103, 1, 3), None, None)
    grew = [number for number in range(1, 94) if stored[number - 1] > (stored[number - 2] if number > 1 else 0)]
    assert grew == [1, 13, 25, 37, 49, 61, 73, 85]
    assert stored[-1] == 8


@torch.no_grad()
def test_row_13_the_first_layer_reads_and_stores_the_embedding_and_starts_from_its_update() -> None:
    model = random_k3(small_k3_configuration()).language_model.model
    layer = model.layers[0]
    embedding = model.embed_tokens(random_tokens(103, 1, 5))
    empty = embedding.new_zeros(1, 5, 0, 44)
    visible = visible_positions(5, 0, None, embedding.device)
    update, _ = layer.self_attn(layer.input_layernorm(embedding), None, None)
    seen: list[torch.Tensor] = []
    layer.mlp.register_forward_hook(lambda _m, _i, output: seen.append(output))
    running_sum, stored_sums, _ = layer(embedding, empty, visible, None, None)
    assert torch.equal(stored_sums[:, :, 0], embedding)
    assert torch.allclose(running_sum, update + seen[0], atol=1e-6)


def test_row_14_the_layer_table_comes_from_the_configuration() -> None:
    k2 = KimiK2Configuration.from_published(published("kimi-k2"))
    assert [k2.layer_is_sparse(layer) for layer in range(61)] == [False] + [True] * 60
    k3 = KimiK3Configuration.from_published(published("kimi-k3"))
    assert [k3.layer_is_sparse(layer) for layer in range(93)] == [False] + [True] * 92
    assert sum(k3.layer_is_linear(layer) for layer in range(93)) == 69
    assert not k3.layer_is_linear(91)
    assert not k3.layer_is_linear(92)


@pytest.mark.parametrize("form", [kimi_k3.recurrent_delta_rule, kimi_k3.chunked_delta_rule])
def test_row_17_the_state_maps_keys_to_values(form: object) -> None:
    """With β = 1 and no decay, what was written under a key is read back under it; axes (key, value) differ in size."""
    key = kimi_k3.l2_normalise(random_tensor(1, 2, 1, 6))
    value = random_tensor(1, 2, 1, 3, seed=1)
    no_decay, beta = torch.zeros(1, 2, 1, 6), torch.ones(1, 2, 1)
    _, state = form(key, key, value, no_decay, beta, state=random_tensor(1, 2, 6, 3, seed=2))
    assert state.shape == (1, 2, 6, 3)
    read = torch.einsum("bhk,bhkv->bhv", key[:, :, 0], state)
    assert torch.allclose(read, value[:, :, 0], atol=1e-4)


@torch.no_grad()
def test_cache_figures_of_k2() -> None:
    """512 + 64 elements per layer and token at full size: 35,136 over 61 layers."""
    true = published("kimi-k2")
    configuration = small_k2_configuration(
        kv_lora_rank=true["kv_lora_rank"], qk_rope_head_dim=true["qk_rope_head_dim"], num_hidden_layers=61
    )
    caches = random_k2(configuration)(random_tokens(101, 1, 3), use_cache=True).past_key_values
    assert sum(part.shape[-1] for cache in caches for part in cache) == 35_136
    assert all(part.shape[:2] == (1, 3) for cache in caches for part in cache)


def test_the_norms_of_the_latents_do_not_follow_the_configured_eps() -> None:
    with torch.device("meta"):
        model = kimi_k3.build(small_k3_configuration(rms_norm_eps=0.01))
    latent_attention = model.language_model.model.layers[3].self_attn
    assert latent_attention.q_a_layernorm.eps == latent_attention.kv_a_layernorm.eps == 1e-6
    assert model.language_model.model.norm.eps == model.language_model.model.layers[0].self_attn.o_norm.eps == 0.01
