"""Kimi K3 against the near copy of its published code in ``llmcompressor`` 0.14.0.1."""

from __future__ import annotations

import types
from typing import Any

import pytest
import torch
from torch import nn

from openmodelatlas.reference.layers import visible_positions
from tests.reference.small_models import random_k3, random_tokens, relative_error, small_k3_configuration

TOLERANCE = 3e-5

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
def test_every_layer_agrees_on_the_same_input(vendor_k3: types.ModuleType) -> None:
    configuration = small_k3_configuration()
    ours = random_k3(configuration, 6)
    theirs = vendor_model(vendor_k3, configuration, ours)
    running_sum = ours.language_model.model.embed_tokens(random_tokens(103, 2, 67, 6))
    stored_sums = running_sum.new_zeros(2, 67, 0, 44)
    visible = visible_positions(67, 0, None, running_sum.device)
    additive = torch.zeros(1, 1, 67, 67).masked_fill(~visible, torch.finfo(torch.float32).min)
    for our_layer, their_layer in zip(ours.language_model.model.layers, theirs.model.layers, strict=True):
        expected, expected_stored = their_layer(
            running_sum,
            attention_mask=None if our_layer.is_linear else additive,
            block_residual=stored_sums.flatten(end_dim=1),
        )
        running_sum, stored_sums, _ = our_layer(running_sum, stored_sums, visible, None, None)
        assert relative_error(running_sum, expected) <= TOLERANCE
        assert torch.equal(stored_sums.flatten(end_dim=1), expected_stored)
