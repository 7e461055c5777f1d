"""Kimi K3 against the near copy of its published code in ``llmcompressor`` 0.14.0.1."""

from __future__ import annotations

import types
from typing import Any

import pytest
import torch
from torch import nn

from tests.reference.small_models import random_k3, random_tokens, relative_error, small_k3_configuration

TOLERANCE = 1e-4

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


def vendor_model(vendor: types.ModuleType, configuration: dict[str, Any], reference: nn.Module) -> nn.Module:
    text = {key: value for key, value in configuration["text_config"].items() if key != "quantization_config"}
    text.update(pad_token_id=0, bos_token_id=1, eos_token_id=2)
    config = vendor.configuration_kimi_k3.KimiLinearConfig(**text)
    config._attn_implementation = "eager"
    model = vendor.modeling_kimi_linear.KimiLinearForCausalLM(config).eval()
    model.load_state_dict(reference.language_model.state_dict(), strict=True)
    return model


@pytest.mark.parametrize("seed", range(3))
@torch.no_grad()
def test_prefill_and_decode_agree(vendor_k3: types.ModuleType, seed: int) -> None:
    configuration = small_k3_configuration(attn_res_block_size=3 + seed)
    ours = random_k3(configuration, seed)
    theirs = vendor_model(vendor_k3, configuration, ours)
    tokens = random_tokens(103, 2, 71, seed)
    our_output = ours(input_ids=tokens[:, :67], use_cache=True)
    their_output = theirs(input_ids=tokens[:, :67], use_cache=True)
    assert relative_error(our_output.logits, their_output.logits) <= TOLERANCE
    for position in range(67, 71):
        step = tokens[:, position : position + 1]
        our_output = ours(input_ids=step, past_key_values=our_output.past_key_values, use_cache=True)
        their_output = theirs(input_ids=step, past_key_values=their_output.past_key_values, use_cache=True)
        assert relative_error(our_output.logits, their_output.logits) <= TOLERANCE


@torch.no_grad()
def test_a_left_padded_batch_agrees(vendor_k3: types.ModuleType) -> None:
    configuration = small_k3_configuration()
    ours = random_k3(configuration, 5)
    theirs = vendor_model(vendor_k3, configuration, ours)
    tokens = random_tokens(103, 2, 14, 5)
    mask = torch.ones(2, 14, dtype=torch.int64)
    mask[1, :6] = 0
    our_output = ours(input_ids=tokens[:, :13], attention_mask=mask[:, :13], use_cache=True)
    their_output = theirs(input_ids=tokens[:, :13], attention_mask=mask[:, :13], use_cache=True)
    assert relative_error(our_output.logits[0], their_output.logits[0]) <= TOLERANCE
    assert relative_error(our_output.logits[1, 6:], their_output.logits[1, 6:]) <= TOLERANCE
    our_step = ours(tokens[:, 13:], mask, our_output.past_key_values)
    their_step = theirs(tokens[:, 13:], mask, past_key_values=their_output.past_key_values)
    assert relative_error(our_step.logits, their_step.logits) <= TOLERANCE


@torch.no_grad()
def test_every_layer_agrees(vendor_k3: types.ModuleType) -> None:
    configuration = small_k3_configuration()
    ours = random_k3(configuration, 6)
    theirs = vendor_model(vendor_k3, configuration, ours)
    outputs: dict[str, list[torch.Tensor]] = {"ours": [], "theirs": []}
    for name, layers in (("ours", ours.language_model.model.layers), ("theirs", theirs.model.layers)):
        for layer in layers:
            layer.register_forward_hook(lambda _m, _i, output, name=name: outputs[name].append(output[0]))
    tokens = random_tokens(103, 2, 67, 6)
    ours(tokens)
    theirs(tokens, use_cache=False)
    assert len(outputs["ours"]) == len(outputs["theirs"]) == 9
    for our_layer, their_layer in zip(outputs["ours"], outputs["theirs"], strict=True):
        assert relative_error(our_layer, their_layer) <= TOLERANCE
