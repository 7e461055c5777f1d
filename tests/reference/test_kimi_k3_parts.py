"""The parts of Kimi K3 against independent implementations and against their equations in float64."""

from __future__ import annotations

import types

import numpy as np
import pytest
import torch
from torch import Tensor

from openmodelatlas.reference import kimi_k3
from openmodelatlas.reference.kimi_k3_configuration import KimiK3Configuration
from openmodelatlas.reference.layers import Linear, RMSNorm, visible_positions
from tests.reference.small_models import random_tensor, randomise, relative_error, small_k3_configuration

BATCH, HEADS, KEY, VALUE = 2, 3, 8, 5


def delta_rule_inputs(positions: int, seed: int = 0, lower_bound: float = -5.0) -> tuple[Tensor, ...]:
    """Normalised queries and keys, values, decays between the bound and 0, betas between 0 and 1."""
    queries = kimi_k3.l2_normalise(random_tensor(BATCH, HEADS, positions, KEY, seed=seed)) * KEY**-0.5
    keys = kimi_k3.l2_normalise(random_tensor(BATCH, HEADS, positions, KEY, seed=seed + 1))
    values = random_tensor(BATCH, HEADS, positions, VALUE, seed=seed + 2)
    log_decay = lower_bound * random_tensor(BATCH, HEADS, positions, KEY, seed=seed + 3).sub(2).sigmoid()
    beta = random_tensor(BATCH, HEADS, positions, seed=seed + 4).sigmoid()
    return queries, keys, values, log_decay, beta


def delta_rule_in_float64(inputs: tuple[Tensor, ...], state: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """Equation 1 of arXiv 2510.26692, as matrices: S ← (I − β·k·kᵀ)·Diag(α)·S + β·k·vᵀ, o = Sᵀ·q."""
    queries, keys, values, log_decay, beta = (tensor.double().numpy() for tensor in inputs)
    memory = state.double().numpy().copy()
    outputs = np.zeros(values.shape)
    for batch in range(queries.shape[0]):
        for head in range(queries.shape[1]):
            matrix = memory[batch, head]
            for position in range(queries.shape[2]):
                place = (batch, head, position)
                key = keys[place][:, None]
                forgotten = np.diag(np.exp(log_decay[place])) @ matrix
                matrix = (np.eye(len(key)) - beta[place] * key @ key.T) @ forgotten
                matrix = matrix + beta[place] * key @ values[place][None, :]
                outputs[place] = matrix.T @ queries[place]
            memory[batch, head] = matrix
    return outputs, memory


@pytest.mark.parametrize("positions", [1, 7, 64, 65, 130])
@pytest.mark.parametrize("lower_bound", [-5.0, -0.05])
def test_both_forms_of_the_delta_rule_follow_the_equation(positions: int, lower_bound: float) -> None:
    inputs = delta_rule_inputs(positions, lower_bound=lower_bound)
    state = random_tensor(BATCH, HEADS, KEY, VALUE, seed=9)
    expected_outputs, expected_state = map(torch.from_numpy, delta_rule_in_float64(inputs, state))
    for form in (kimi_k3.recurrent_delta_rule, kimi_k3.chunked_delta_rule):
        outputs, next_state = form(*inputs, state=state)
        assert relative_error(outputs.double(), expected_outputs) <= 1e-5
        assert relative_error(next_state.double(), expected_state) <= 1e-5


@pytest.mark.parametrize("positions", [2, 63, 64, 65, 129])
def test_recurrent_and_chunked_forms_agree(positions: int) -> None:
    inputs = delta_rule_inputs(positions, seed=positions)
    state = random_tensor(BATCH, HEADS, KEY, VALUE, seed=9)
    recurrent_outputs, recurrent_state = kimi_k3.recurrent_delta_rule(*inputs, state=state)
    chunked_outputs, chunked_state = kimi_k3.chunked_delta_rule(*inputs, state=state)
    assert relative_error(chunked_outputs, recurrent_outputs) <= 1e-5
    assert relative_error(chunked_state, recurrent_state) <= 1e-5


def test_delta_rule_agrees_with_fla(naive_kda: types.ModuleType) -> None:
    queries, keys, values, log_decay, beta = inputs = delta_rule_inputs(128)
    state = random_tensor(BATCH, HEADS, KEY, VALUE, seed=9)
    by_position = [tensor.transpose(1, 2) for tensor in inputs]
    for theirs in (naive_kda.naive_recurrent_kda, naive_kda.naive_chunk_kda):
        expected, expected_state = theirs(*by_position, scale=1.0, initial_state=state, output_final_state=True)
        for ours in (kimi_k3.recurrent_delta_rule, kimi_k3.chunked_delta_rule):
            outputs, next_state = ours(queries, keys, values, log_decay, beta, state=state)
            assert relative_error(outputs.transpose(1, 2), expected) <= 1e-5
            assert relative_error(next_state, expected_state) <= 1e-5


@torch.no_grad()
def test_latent_attention_agrees_with_transformers_kimi_linear() -> None:
    """Theirs has no output gate: ours is set to sigmoid(0) = 1/2."""
    from transformers import KimiLinearConfig
    from transformers.models.kimi_linear.modeling_kimi_linear import KimiLinearAttention

    configuration = KimiK3Configuration.from_published(small_k3_configuration())
    ours = kimi_k3.GatedLatentAttention(configuration)
    randomise(ours, 3)
    ours.g_proj.weight.zero_()
    shared = ("hidden_size", "num_attention_heads", "num_key_value_heads", "q_lora_rank", "kv_lora_rank")
    shared += ("qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "rms_norm_eps")
    settings = {name: getattr(configuration, name) for name in shared}
    config = KimiLinearConfig(**settings, pad_token_id=0, attn_implementation="eager")
    theirs = KimiLinearAttention(config, layer_idx=0)
    theirs.load_state_dict({name: value for name, value in ours.state_dict().items() if name != "g_proj.weight"})
    hidden_states = random_tensor(2, 9, configuration.hidden_size)
    visible = visible_positions(9, 0, None, hidden_states.device)
    additive = torch.zeros(1, 1, 9, 9).masked_fill(~visible, torch.finfo(torch.float32).min)
    output, _ = ours(hidden_states, visible, None)
    expected, _ = theirs(hidden_states, additive)
    assert relative_error(2 * output, expected) <= 1e-5


@pytest.mark.parametrize(("groups", "kept"), [(1, 1), (4, 2), (3, 1), (2, 2)])
@torch.no_grad()
def test_router_agrees_with_transformers_kimi_linear(groups: int, kept: int) -> None:
    from transformers import KimiLinearConfig
    from transformers.models.kimi_linear.modeling_kimi_linear import KimiLinearTopkRouter

    published = small_k3_configuration(num_expert_group=groups, topk_group=kept, routed_scaling_factor=2.446)
    configuration = KimiK3Configuration.from_published(published)
    ours = kimi_k3.Router(configuration)
    randomise(ours, 4)
    config = KimiLinearConfig(
        hidden_size=configuration.hidden_size,
        num_local_experts=configuration.num_experts,
        num_experts_per_tok=configuration.num_experts_per_token,
        n_group=groups,
        topk_group=kept,
        pad_token_id=0,
    )
    theirs = KimiLinearTopkRouter(config)
    theirs.load_state_dict(ours.state_dict())
    tokens = random_tensor(50, configuration.hidden_size)
    chosen, weights = ours(tokens)
    _, expected_weights, expected_chosen = theirs(tokens)
    by_expert = torch.zeros(50, configuration.num_experts).scatter(1, chosen, weights)
    expected_by_expert = torch.zeros(50, configuration.num_experts).scatter(1, expected_chosen, expected_weights)
    assert relative_error(by_expert, expected_by_expert) <= 1e-6


def mixture_in_float64(sums: Tensor, gain: Tensor, query: Tensor, eps: float) -> np.ndarray:
    """Attention over depth (arXiv 2603.15031): softmax of w·RMSNorm(v_r) weighs the raw v_r at each position."""
    values = sums.double().numpy()
    batch, positions, _, size = values.shape
    mixed = np.zeros((batch, positions, size))
    for row in range(batch):
        for position in range(positions):
            vectors = values[row, position]
            norms = np.sqrt((vectors**2).mean(axis=1, keepdims=True) + eps)
            scores = (vectors / norms * gain.double().numpy()) @ query.double().numpy()
            weights = np.exp(scores - scores.max())
            mixed[row, position] = (weights / weights.sum()) @ vectors
    return mixed


@pytest.mark.parametrize("stored", [1, 2, 8])
@torch.no_grad()
def test_attention_residuals_follow_the_published_equation(stored: int) -> None:
    norm = RMSNorm(24, 1e-5)
    projection = Linear(24, 1)
    norm.weight.copy_(1 + 0.3 * random_tensor(24, seed=1))
    projection.weight.copy_(random_tensor(1, 24, seed=2))
    running_sum = random_tensor(2, 5, 24, seed=3)
    stored_sums = 3 * random_tensor(2, 5, stored, 24, seed=4)
    mixed = kimi_k3.mix_stored_sums(running_sum, stored_sums, norm, projection)
    sums = torch.cat((stored_sums, running_sum.unsqueeze(2)), dim=2)
    expected = mixture_in_float64(sums, norm.weight, projection.weight[0], 1e-5)
    assert relative_error(mixed.double(), torch.from_numpy(expected)) <= 1e-5
