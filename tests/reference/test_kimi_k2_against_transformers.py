"""Kimi K2 against DeepSeek V3 of ``transformers``, an independent implementation of the same architecture."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.reference.small_models import random_k2, random_k2_configuration, random_tokens, relative_error

SEEDS = range(5)
TOLERANCE = 1e-5


def transformers_model(configuration: dict[str, Any], reference: nn.Module) -> nn.Module:
    """DeepSeek V3 with the configuration and the weights of ``reference``."""
    from transformers import DeepseekV3Config, DeepseekV3ForCausalLM

    settings = {key: value for key, value in configuration.items() if key not in ("model_type", "quantization_config")}
    if settings["rope_scaling"] is None:
        del settings["rope_scaling"]
    config = DeepseekV3Config(**settings, attn_implementation="eager", experts_implementation="eager")
    model = DeepseekV3ForCausalLM(config).eval()
    weights = dict(reference.state_dict())
    experts = configuration["n_routed_experts"]
    for layer in range(configuration["num_hidden_layers"]):
        prefix = f"model.layers.{layer}.mlp.experts"
        if f"{prefix}.0.gate_proj.weight" not in weights:
            continue
        parts = {
            part: torch.stack([weights.pop(f"{prefix}.{expert}.{part}.weight") for expert in range(experts)])
            for part in ("gate_proj", "up_proj", "down_proj")
        }
        weights[f"{prefix}.gate_up_proj"] = torch.cat((parts["gate_proj"], parts["up_proj"]), dim=1)
        weights[f"{prefix}.down_proj"] = parts["down_proj"]
    model.load_state_dict(weights, strict=True)
    return model


def handed_on(model: nn.Module, output: Any) -> dict[str, Any]:
    """The cache of ``output`` as the argument of the next call; its name changed within transformers 5."""
    name = "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"
    return {name: output.past_key_values}


def outputs_of_layers(model: nn.Module, layers: nn.ModuleList, **inputs: Any) -> tuple[Any, list[Tensor]]:
    outputs: list[Tensor] = []
    hooks = [
        layer.register_forward_hook(
            lambda _module, _inputs, output: outputs.append(output[0] if isinstance(output, tuple) else output)
        )
        for layer in layers
    ]
    with torch.no_grad():
        result = model(**inputs)
    for hook in hooks:
        hook.remove()
    return result, outputs


@pytest.mark.parametrize("seed", SEEDS)
def test_prefill_decode_and_every_layer_agree(seed: int) -> None:
    configuration = random_k2_configuration(seed)
    ours = random_k2(configuration, seed)
    theirs = transformers_model(configuration, ours)
    tokens = random_tokens(configuration["vocab_size"], 2, 21, seed)

    our_output, our_layers = outputs_of_layers(ours, ours.model.layers, input_ids=tokens[:, :13], use_cache=True)
    their_output, their_layers = outputs_of_layers(
        theirs, theirs.model.layers, input_ids=tokens[:, :13], use_cache=True
    )
    assert len(our_layers) == len(their_layers) == configuration["num_hidden_layers"]
    for our_layer, their_layer in zip(our_layers, their_layers, strict=True):
        assert relative_error(our_layer, their_layer) <= TOLERANCE
    assert relative_error(our_output.logits, their_output.logits) <= TOLERANCE

    for position in range(13, 21):
        step = tokens[:, position : position + 1]
        our_output, our_layers = outputs_of_layers(
            ours, ours.model.layers, input_ids=step, past_key_values=our_output.past_key_values, use_cache=True
        )
        their_output, their_layers = outputs_of_layers(
            theirs, theirs.model.layers, input_ids=step, use_cache=True, **handed_on(theirs, their_output)
        )
        for our_layer, their_layer in zip(our_layers, their_layers, strict=True):
            assert relative_error(our_layer, their_layer) <= TOLERANCE
        assert relative_error(our_output.logits, their_output.logits) <= TOLERANCE


@pytest.mark.parametrize("seed", SEEDS)
@torch.no_grad()
def test_a_left_padded_batch_agrees(seed: int) -> None:
    configuration = random_k2_configuration(seed)
    ours = random_k2(configuration, seed)
    theirs = transformers_model(configuration, ours)
    tokens = random_tokens(configuration["vocab_size"], 2, 13, seed)
    mask = torch.ones(2, 13, dtype=torch.int64)
    mask[1, :5] = 0

    our_output = ours(input_ids=tokens[:, :12], attention_mask=mask[:, :12], use_cache=True)
    their_output = theirs(input_ids=tokens[:, :12], attention_mask=mask[:, :12], use_cache=True)
    assert relative_error(our_output.logits[0], their_output.logits[0]) <= TOLERANCE
    assert relative_error(our_output.logits[1, 5:], their_output.logits[1, 5:]) <= TOLERANCE

    our_step = ours(tokens[:, 12:], mask, our_output.past_key_values, use_cache=True)
    their_step = theirs(tokens[:, 12:], attention_mask=mask, use_cache=True, **handed_on(theirs, their_output))
    assert relative_error(our_step.logits, their_step.logits) <= TOLERANCE


@torch.no_grad()
def test_the_padded_row_equals_the_row_alone() -> None:
    configuration = random_k2_configuration(3)
    model = random_k2(configuration, 3)
    tokens = random_tokens(configuration["vocab_size"], 1, 9)
    padded = torch.cat((torch.zeros(1, 4, dtype=torch.int64), tokens), dim=1)
    mask = torch.tensor([[0] * 4 + [1] * 9])
    assert relative_error(model(padded, mask).logits[:, 4:], model(tokens).logits) <= 1e-4
