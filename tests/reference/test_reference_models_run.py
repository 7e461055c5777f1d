"""Both reference models as a whole: sizes, names, caches, dtypes, and what they refuse."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from openmodelatlas.errors import UsageError
from openmodelatlas.reference import kimi_k2, kimi_k3
from openmodelatlas.reference.layers import LatentCache
from tests.reference.small_models import (
    decode_step_by_step,
    published,
    random_k2,
    random_k3,
    random_tokens,
    relative_error,
    small_k2_configuration,
    small_k3_configuration,
)

MODELS = {
    "kimi-k2": (lambda **changes: random_k2(small_k2_configuration(**changes)), 101),
    "kimi-k3": (lambda **changes: random_k3(small_k3_configuration(**changes)), 103),
}
both_models = pytest.mark.parametrize("name", MODELS)


def model_and_tokens(name: str, batch: int, positions: int) -> tuple[nn.Module, Tensor]:
    make, vocabulary = MODELS[name]
    return make(), random_tokens(vocabulary, batch, positions)


@pytest.mark.parametrize(
    ("build", "name", "total"),
    [
        (kimi_k2.build, "kimi-k2", 1_026_408_209_408),
        (kimi_k3.build, "kimi-k3", 2_779_484_476_000),
    ],
)
def test_parameters_at_the_published_configuration(build: Any, name: str, total: int) -> None:
    with torch.device("meta"):
        model = build(published(name))
    assert sum(parameter.numel() for parameter in model.parameters()) == total
    assert all(parameter.is_meta for parameter in model.parameters())


def test_names_are_those_of_the_published_checkpoints() -> None:
    k2 = set(kimi_k2.build(small_k2_configuration()).state_dict())
    assert {
        "model.embed_tokens.weight",
        "model.layers.0.self_attn.kv_a_proj_with_mqa.weight",
        "model.layers.0.mlp.gate_proj.weight",
        "model.layers.1.mlp.experts.0.gate_proj.weight",
        "model.layers.1.mlp.gate.e_score_correction_bias",
        "model.layers.1.mlp.shared_experts.down_proj.weight",
        "lm_head.weight",
    } <= k2
    k3 = set(kimi_k3.build(small_k3_configuration()).state_dict())
    assert {
        "language_model.model.layers.0.self_attn.q_conv1d.weight",
        "language_model.model.layers.0.self_attn.A_log",
        "language_model.model.layers.1.block_sparse_moe.experts.0.w1.weight",
        "language_model.model.layers.1.block_sparse_moe.routed_expert_norm.weight",
        "language_model.model.layers.3.self_attn.g_proj.weight",
        "language_model.model.output_attn_res_proj.weight",
        "language_model.lm_head.weight",
    } <= k3


def test_the_text_configuration_alone_gives_the_text_model() -> None:
    whole = kimi_k3.build(small_k3_configuration())
    text = kimi_k3.build(small_k3_configuration()["text_config"])
    assert {f"language_model.{name}" for name in text.state_dict()} == set(whole.state_dict())
    assert isinstance(whole, kimi_k3.KimiK3ForConditionalGeneration)
    assert re.search("vision_tower", whole.left_out)
    assert not any("vision" in name for name, _ in whole.named_modules())


@both_models
@pytest.mark.parametrize("prefill", [1, 5, 66])
def test_decoding_equals_prefill(name: str, prefill: int) -> None:
    model, tokens = model_and_tokens(name, 2, 70)
    with torch.no_grad():
        at_once = model(tokens).logits
    assert relative_error(decode_step_by_step(model, tokens, prefill), at_once) <= 3e-5


@both_models
def test_decoding_a_left_padded_batch_equals_prefill(name: str) -> None:
    model, tokens = model_and_tokens(name, 2, 12)
    mask = torch.ones(2, 12, dtype=torch.int64)
    mask[0, :4] = 0
    with torch.no_grad():
        at_once = model(tokens, mask).logits
        alone = model(tokens[:1, 4:]).logits
    stepped = decode_step_by_step(model, tokens, 7, mask)
    assert relative_error(stepped[1], at_once[1]) <= 3e-5
    assert relative_error(stepped[0, 4:], at_once[0, 4:]) <= 3e-5
    assert relative_error(at_once[:1, 4:], alone) <= 3e-5


@both_models
@torch.no_grad()
def test_several_positions_may_follow_a_cache(name: str) -> None:
    model, tokens = model_and_tokens(name, 2, 15)
    cache = model(tokens[:, :6], use_cache=True).past_key_values
    continued = model(tokens[:, 6:], past_key_values=cache).logits
    assert relative_error(continued, model(tokens).logits[:, 6:]) <= 3e-5


@both_models
@torch.no_grad()
def test_a_cache_is_not_changed_by_using_it(name: str) -> None:
    model, tokens = model_and_tokens(name, 1, 8)
    output = model(tokens[:, :7], use_cache=True)
    before = [tuple(part.clone() for part in layer) for layer in output.past_key_values]
    model(tokens[:, 7:], past_key_values=output.past_key_values, use_cache=True)
    for layer, old_layer in zip(output.past_key_values, before, strict=True):
        assert all(torch.equal(part, old) for part, old in zip(layer, old_layer, strict=True))
    assert model(tokens).past_key_values is None


@torch.no_grad()
def test_the_cache_of_k3_is_mixed() -> None:
    model, tokens = model_and_tokens("kimi-k3", 2, 7)
    caches = model(tokens, use_cache=True).past_key_values
    kinds = [type(cache) for cache in caches]
    assert [number for number, kind in enumerate(kinds, start=1) if kind is LatentCache] == [4, 8, 9]
    assert caches[0].state.shape == (2, 3, 16, 16)
    assert caches[0].state.dtype == torch.float32
    assert caches[0].query_window.shape == (2, 3, 48)
    assert caches[3].key_value_latent.shape == (2, 7, 17)
    assert caches[3].shared_key.shape == (2, 7, 8)


@both_models
@torch.no_grad()
def test_bfloat16_stays_near_float32(name: str) -> None:
    model, tokens = model_and_tokens(name, 2, 9)
    expected = model(tokens).logits
    model.to(torch.bfloat16)
    output = model(tokens, use_cache=True)
    assert output.logits.dtype == torch.bfloat16
    typical_deviation = (output.logits.float() - expected).abs().median() / expected.abs().median()
    assert typical_deviation < 0.1
    step = model(tokens[:, :1], past_key_values=output.past_key_values)
    assert step.logits.isfinite().all()


@both_models
@torch.no_grad()
def test_a_model_that_was_just_built_computes_finite_logits(name: str) -> None:
    build, configuration = {
        "kimi-k2": (kimi_k2.build, small_k2_configuration()),
        "kimi-k3": (kimi_k3.build, small_k3_configuration()),
    }[name]
    torch.set_default_dtype(torch.bfloat16)
    try:
        model = build(configuration)
    finally:
        torch.set_default_dtype(torch.float32)
    dtypes = {parameter.dtype for parameter in model.parameters()}
    assert dtypes == ({torch.bfloat16} if name == "kimi-k2" else {torch.bfloat16, torch.float32})
    assert model(random_tokens(101, 1, 3)).logits.isfinite().all()


@both_models
@torch.no_grad()
def test_only_chosen_experts_run(name: str) -> None:
    model, tokens = model_and_tokens(name, 1, 1)
    ran: list[int] = []
    mixtures = [part for part in model.modules() if hasattr(part, "experts")]
    for expert in mixtures[0].experts:
        expert.register_forward_hook(lambda _m, inputs, _o: ran.append(inputs[0].shape[0]))
    model(tokens)
    assert ran == [1, 1, 1]


@both_models
def test_a_mask_of_another_length_is_refused(name: str) -> None:
    model, tokens = model_and_tokens(name, 1, 6)
    cache = model(tokens, use_cache=True).past_key_values
    with pytest.raises(UsageError, match="6 cached and 1 new"):
        model(tokens[:, :1], attention_mask=torch.ones(1, 1), past_key_values=cache)


def test_padding_on_the_right_is_refused_by_k3() -> None:
    model, tokens = model_and_tokens("kimi-k3", 1, 6)
    with pytest.raises(UsageError, match="Pad on the left"):
        model(tokens, attention_mask=torch.tensor([[1, 1, 1, 1, 0, 0]]))
