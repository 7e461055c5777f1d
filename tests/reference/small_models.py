"""Small configurations of the reference models, random weights, and measures of agreement."""

from __future__ import annotations

import copy
import random
from typing import Any

import torch
from torch import Tensor, nn

from openmodelatlas.reference import kimi_k2, kimi_k3
from openmodelatlas.sources.registry import model as registered_model


def published(name: str) -> dict[str, Any]:
    """The true published configuration of ``kimi-k2`` or ``kimi-k3``, free to be changed."""
    return copy.deepcopy(registered_model(name).configuration())


def small_k2_configuration(**changes: Any) -> dict[str, Any]:
    """Kimi K2's published configuration at small, pairwise different sizes and 4 layers."""
    configuration = published("kimi-k2")
    configuration.update(
        vocab_size=101,
        hidden_size=48,
        num_hidden_layers=4,
        intermediate_size=37,
        moe_intermediate_size=19,
        n_routed_experts=12,
        num_experts_per_tok=3,
        num_attention_heads=5,
        num_key_value_heads=5,
        q_lora_rank=23,
        kv_lora_rank=17,
        qk_nope_head_dim=10,
        qk_rope_head_dim=8,
        v_head_dim=14,
    )
    configuration.update(changes)
    return configuration


def random_k2_configuration(seed: int) -> dict[str, Any]:
    """One of many small configurations, which differ in sizes, groups, scaling and layers."""
    chance = random.Random(seed)
    groups = chance.choice([1, 2, 3])
    heads = chance.randint(1, 6)
    scaling = {
        "type": "yarn",
        "factor": chance.choice([4.0, 32.0]),
        "original_max_position_embeddings": chance.choice([64, 4096]),
        "beta_fast": chance.choice([1.0, 32.0]),
        "beta_slow": 1.0,
        "mscale": 1.0,
        "mscale_all_dim": chance.choice([1.0, 0.7]),
    }
    return small_k2_configuration(
        hidden_size=chance.randrange(24, 64),
        num_hidden_layers=chance.randint(2, 4),
        first_k_dense_replace=chance.randint(0, 2),
        num_attention_heads=heads,
        num_key_value_heads=heads,
        q_lora_rank=chance.randrange(9, 30),
        kv_lora_rank=chance.randrange(9, 30),
        qk_nope_head_dim=chance.randrange(5, 15),
        qk_rope_head_dim=2 * chance.randint(1, 6),
        v_head_dim=chance.randrange(5, 15),
        n_routed_experts=groups * chance.randint(4, 7),
        n_group=groups,
        topk_group=chance.randint(1, groups),
        num_experts_per_tok=chance.randint(1, 4),
        n_shared_experts=chance.randint(1, 2),
        norm_topk_prob=chance.random() < 0.7,
        routed_scaling_factor=chance.choice([1.0, 2.827]),
        rope_theta=chance.choice([10000.0, 50000.0]),
        rope_scaling=scaling if seed % 5 else None,
    )


def small_k3_configuration(**changes: Any) -> dict[str, Any]:
    """Kimi K3's whole published configuration at small sizes, 9 layers in groups of 4; ``changes`` are to its text.

    ``rms_norm_eps`` is large, so that its place shows and a head's output near zero does not blow up rounding.
    """
    configuration = published("kimi-k3")
    text = configuration["text_config"]
    text.update(
        vocab_size=103,
        hidden_size=44,
        num_hidden_layers=9,
        attn_res_block_size=4,
        rms_norm_eps=1e-2,
        intermediate_size=37,
        moe_intermediate_size=19,
        routed_expert_hidden_size=26,
        num_experts=12,
        num_experts_per_token=3,
        num_attention_heads=5,
        num_key_value_heads=5,
        q_lora_rank=23,
        kv_lora_rank=17,
        qk_nope_head_dim=10,
        qk_rope_head_dim=8,
        v_head_dim=14,
    )
    text["linear_attn_config"].update(
        num_heads=3, head_dim=16, kda_layers=[1, 2, 3, 5, 6, 7], full_attn_layers=[4, 8, 9]
    )
    text["linear_attn_config"].update(changes.get("linear_attn_config", {}))
    text.update({key: value for key, value in changes.items() if key != "linear_attn_config"})
    return configuration


@torch.no_grad()
def randomise(model: nn.Module, seed: int) -> None:
    """Random values for all parameters and buffers: matrices keep the scale of their input, gains and biases vary."""
    generator = torch.Generator().manual_seed(seed)
    for name, tensor in model.state_dict().items():
        noise = torch.randn(tensor.shape, generator=generator)
        if name.endswith("norm.weight"):
            noise = 1 + 0.3 * noise
        elif name.endswith(("A_log", "dt_bias", "e_score_correction_bias")):
            noise = 0.5 * noise
        elif tensor.ndim > 1 and "embed_tokens" not in name and "conv1d" not in name:
            noise = noise * tensor.shape[-1] ** -0.5
        tensor.copy_(noise)


def random_k2(configuration: dict[str, Any], seed: int = 0) -> kimi_k2.KimiK2ForCausalLM:
    model = kimi_k2.build(configuration)
    randomise(model, seed)
    return model.eval()


def random_k3(configuration: dict[str, Any], seed: int = 0) -> nn.Module:
    model = kimi_k3.build(configuration)
    randomise(model, seed)
    return model.eval()


def random_tokens(vocabulary: int, batch: int, positions: int, seed: int = 0) -> Tensor:
    return torch.randint(0, vocabulary, (batch, positions), generator=torch.Generator().manual_seed(seed))


def random_tensor(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def relative_error(actual: Tensor, expected: Tensor) -> float:
    """Largest deviation, measured by the largest expected value."""
    assert actual.shape == expected.shape
    return float((actual - expected).abs().max() / expected.abs().max())


@torch.no_grad()
def decode_step_by_step(model: nn.Module, tokens: Tensor, prefill: int, mask: Tensor | None = None) -> Tensor:
    """Logits [B, T, vocabulary] of a prefill of ``prefill`` positions and one call for each further position."""
    first_mask = None if mask is None else mask[:, :prefill]
    output = model(input_ids=tokens[:, :prefill], attention_mask=first_mask, use_cache=True)
    logits = [output.logits]
    for position in range(prefill, tokens.shape[1]):
        step_mask = None if mask is None else mask[:, : position + 1]
        output = model(
            input_ids=tokens[:, position : position + 1],
            attention_mask=step_mask,
            past_key_values=output.past_key_values,
            use_cache=True,
        )
        logits.append(output.logits)
    return torch.cat(logits, dim=1)
