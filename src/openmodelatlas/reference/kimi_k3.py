"""Kimi K3, text model: delta attention with full attention between, attention residuals, and experts in a latent.

Read from top to bottom: short convolution, delta rule, delta attention, latent attention, feed-forward networks,
experts, attention residuals, block, model. Sources: Kimi K3 report (arXiv 2607.24653), Kimi Linear (arXiv 2510.26692),
Attention Residuals (arXiv 2603.15031), DeepSeek-V2 and V3 (arXiv 2405.04434, 2412.19437). The vision tower is not part
of this model.

Parameter names are those of the published checkpoint ``moonshotai/Kimi-K3``, whose 4-bit experts have to be expanded
before loading; its ``vision_tower.*`` and ``mm_projector.*`` have no counterpart here.

Axes: B batch, T new positions, P cached positions, S = P + T, N = B·T tokens, d hidden size, H heads, K and V features
of a key and a value, W kernel size, E routed experts, k experts chosen per token, R sums stored so far. "Lines" without
a file name are those of PyPI's ``llmcompressor`` 0.14.0.1, ``modeling/kimi_k3/modeling_kimi_linear.py``, a near copy of
the code published with the weights.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from openmodelatlas.errors import SourceError, UsageError
from openmodelatlas.reference.kimi_k3_configuration import DeltaAttentionConfiguration, KimiK3Configuration
from openmodelatlas.reference.layers import (
    CausalLanguageModelOutput,
    GatedRMSNorm,
    LatentCache,
    Linear,
    RMSNorm,
    garbage_collection_paused,
    initialise_parameters,
    keep_best_groups,
    run_chosen_experts,
    scaled_dot_product_attention,
    uninitialised_embedding,
    visible_positions,
)

__all__ = ["KimiK3Configuration", "KimiK3ForCausalLM", "KimiK3ForConditionalGeneration", "build"]

LATENT_NORM_EPS = 1e-6
"""The norms of the two latents do not follow ``rms_norm_eps``, 1e-5 (lines 287, 438, 455: the class's default)."""

CHUNK_SIZE = 64
"""Positions that the chunked delta rule takes at once (fla-core 0.6.0, ``ops/kda/chunk.py``); changes no result."""


class DeltaCache(NamedTuple):
    """What one layer of delta attention keeps; its size does not depend on the number of positions.

    Attributes:
        query_window, key_window, value_window: [B, W - 1, H·K], model dtype; the last inputs of the convolutions.
        state: [B, H, K, V] float32; maps keys to values. The order (key, value) is a convention: the published code
            asks its kernels for (value, key) (lines 718 and 736).
    """

    query_window: Tensor
    key_window: Tensor
    value_window: Tensor
    state: Tensor


class ShortConvolution(nn.Module):
    """Causal depthwise convolution over the last W positions, then SiLU (fla-core 0.6.0, ``modules/causal_conv1d``).

    Computed in float32.

    Attributes:
        weight: [channels, 1, W]; the last column belongs to the position itself.
    """

    def __init__(self, channels: int, kernel_size: int) -> None:
        super().__init__()
        self.channels = channels
        self.weight = nn.Parameter(torch.empty(channels, 1, kernel_size))

    def forward(self, features: Tensor, window: Tensor) -> tuple[Tensor, Tensor]:
        """Convolve T new positions.

        Args:
            features: [B, T, channels].
            window: [B, W - 1, channels], the inputs before; zeros at the start.

        Returns:
            [B, T, channels] and the next window, in the dtype of ``features``.
        """
        extended = torch.cat((window, features), dim=1)
        channels_first = extended.transpose(1, 2).to(torch.float32)
        convolved = functional.conv1d(channels_first, self.weight.to(torch.float32), groups=self.channels)
        activated = functional.silu(convolved).transpose(1, 2).to(features.dtype)
        return activated, extended[:, features.shape[1] :]


def l2_normalise(features: Tensor) -> Tensor:
    """Scale vectors to length 1: x · rsqrt(Σx² + 1e-6), eps under the root and a sum, not a mean.

    […, K] to […, K], float32 (fla-core 0.6.0, ``modules/norm/l2norm.py`` line 80, ``ops/kda/fused_recurrent.py`` lines
    157-158).
    """
    squared_length = features.square().sum(dim=-1, keepdim=True)
    return features * torch.rsqrt(squared_length + 1e-6)


def recurrent_delta_rule(
    queries: Tensor, keys: Tensor, values: Tensor, log_decay: Tensor, beta: Tensor, *, state: Tensor
) -> tuple[Tensor, Tensor]:
    """The gated delta rule, one position after another (arXiv 2510.26692, equation 1).

    S ← Diag(exp g)·S;  S ← S + β·k·(v − kᵀ·S)ᵀ;  o = Sᵀ·q

    Args:
        queries: [B, H, T, K] float32, normalised and scaled.
        keys: [B, H, T, K] float32, normalised.
        values: [B, H, T, V] float32.
        log_decay: [B, H, T, K] float32, g: logarithm of what remains of each key feature's memory.
        beta: [B, H, T] float32, how much of the correction is written.
        state: [B, H, K, V] float32, S before the first position.

    Returns:
        Outputs [B, H, T, V] and the state after the last position, float32.
    """
    outputs = []
    for position in range(queries.shape[2]):
        key = keys[:, :, position].unsqueeze(-1)
        decay = log_decay[:, :, position].exp().unsqueeze(-1)
        state = state * decay
        recalled_value = (key * state).sum(dim=2)
        correction = (values[:, :, position] - recalled_value) * beta[:, :, position].unsqueeze(-1)
        state = state + key * correction.unsqueeze(2)
        query = queries[:, :, position].unsqueeze(-1)
        outputs.append((query * state).sum(dim=2))
    return torch.stack(outputs, dim=2), state


def chunked_delta_rule(
    queries: Tensor, keys: Tensor, values: Tensor, log_decay: Tensor, beta: Tensor, *, state: Tensor
) -> tuple[Tensor, Tensor]:
    """The gated delta rule, a chunk of positions at a time; arguments and results as :func:`recurrent_delta_rule`."""
    outputs = []
    for start in range(0, queries.shape[2], CHUNK_SIZE):
        chunk = slice(start, start + CHUNK_SIZE)
        output, state = delta_rule_of_chunk(
            queries[:, :, chunk],
            keys[:, :, chunk],
            values[:, :, chunk],
            log_decay[:, :, chunk],
            beta[:, :, chunk],
            state=state,
        )
        outputs.append(output)
    return torch.cat(outputs, dim=2), state


def delta_rule_of_chunk(
    queries: Tensor, keys: Tensor, values: Tensor, log_decay: Tensor, beta: Tensor, *, state: Tensor
) -> tuple[Tensor, Tensor]:
    """All positions of one chunk at once (arXiv 2510.26692, §3).

    What position i writes, u_i = β_i·(v_i − k_iᵀ·S_before_i), depends on what the earlier positions of the chunk wrote.
    With the decay from j to i, exp(G_i − G_j), G being the running sum of g, this is the triangular system
    u_i + β_i·Σ_{j<i} ⟨k_i, exp(G_i − G_j)·k_j⟩·u_j = β_i·(v_i − (k_i·exp G_i)ᵀ·S).

    Args:
        queries, keys, log_decay: [B, H, C, K] float32.
        values: [B, H, C, V] float32.
        beta: [B, H, C] float32.
        state: [B, H, K, V] float32, S before the chunk.

    Returns:
        Outputs [B, H, C, V] and the state after the chunk, float32.
    """
    total_decay = log_decay.cumsum(dim=2)
    decay_between = total_decay.unsqueeze(3) - total_decay.unsqueeze(2)
    chunk_length = queries.shape[2]
    is_later = torch.ones(chunk_length, chunk_length, dtype=torch.bool, device=queries.device).triu(diagonal=1)
    decay_between = decay_between.masked_fill(is_later.unsqueeze(-1), float("-inf")).exp()
    decayed_keys = keys.unsqueeze(2) * decay_between
    key_overlap = (keys.unsqueeze(3) * decayed_keys).sum(dim=-1)
    query_overlap = (queries.unsqueeze(3) * decayed_keys).sum(dim=-1)

    recalled_values = torch.matmul(keys * total_decay.exp(), state)
    corrections = (values - recalled_values) * beta.unsqueeze(-1)
    influence = key_overlap.tril(diagonal=-1) * beta.unsqueeze(-1)
    written = torch.linalg.solve_triangular(influence, corrections, upper=False, unitriangular=True)

    outputs_of_state = torch.matmul(queries * total_decay.exp(), state)
    outputs_of_chunk = torch.matmul(query_overlap, written)
    remaining_keys = keys * (total_decay[:, :, -1:] - total_decay).exp()
    remaining_state = state * total_decay[:, :, -1].exp().unsqueeze(-1)
    next_state = remaining_state + torch.matmul(remaining_keys.transpose(2, 3), written)
    return outputs_of_state + outputs_of_chunk, next_state


class KimiDeltaAttention(nn.Module):
    """Kimi Delta Attention: a fixed-size memory per head, forgetting each key feature at its own pace (lines 564-759).

    Attributes:
        A_log: [H] float32. The published checkpoint stores head_dim elements, zeros after the first H; loading cuts
            them off (ml-explore/mlx-lm pull request 1626; NVIDIA/TensorRT-LLM ``modeling_kimi_linear.py``).
        dt_bias: [H·K] float32.
    """

    def __init__(self, configuration: KimiK3Configuration) -> None:
        super().__init__()
        delta: DeltaAttentionConfiguration = configuration.linear_attn_config
        hidden_size = configuration.hidden_size
        self.num_heads = delta.num_heads
        self.head_dim = delta.head_dim
        self.short_conv_kernel_size = delta.short_conv_kernel_size
        self.gate_lower_bound = delta.gate_lower_bound
        projection_size = self.num_heads * self.head_dim
        self.q_proj = Linear(hidden_size, projection_size)
        self.k_proj = Linear(hidden_size, projection_size)
        self.v_proj = Linear(hidden_size, projection_size)
        self.q_conv1d = ShortConvolution(projection_size, delta.short_conv_kernel_size)
        self.k_conv1d = ShortConvolution(projection_size, delta.short_conv_kernel_size)
        self.v_conv1d = ShortConvolution(projection_size, delta.short_conv_kernel_size)
        self.A_log = nn.Parameter(torch.empty(self.num_heads, dtype=torch.float32))
        self.dt_bias = nn.Parameter(torch.empty(projection_size, dtype=torch.float32))
        self.f_a_proj = Linear(hidden_size, self.head_dim)
        self.f_b_proj = Linear(self.head_dim, projection_size)
        self.b_proj = Linear(hidden_size, self.num_heads)
        self.g_proj = Linear(hidden_size, projection_size)
        self.o_norm = GatedRMSNorm(self.head_dim, configuration.rms_norm_eps)
        self.o_proj = Linear(projection_size, hidden_size)
        self.register_load_state_dict_pre_hook(cut_stored_decay_rates)  # type: ignore[no-untyped-call]

    def forward(
        self, hidden_states: Tensor, is_token: Tensor | None, cache: DeltaCache | None
    ) -> tuple[Tensor, DeltaCache]:
        """Read and update the memory at T new positions.

        Args:
            hidden_states: [B, T, d].
            is_token: [B, T], 0 for padding on the left; ``None`` if nothing is padded.
            cache: of the earlier positions, or ``None``.

        Returns:
            [B, T, d], and the next cache.
        """
        if is_token is not None:
            hidden_states = hidden_states * is_token.unsqueeze(-1).to(hidden_states.dtype)
        if cache is None:
            cache = self.empty_cache(hidden_states)
        queries, query_window = self.q_conv1d(self.q_proj(hidden_states), cache.query_window)
        keys, key_window = self.k_conv1d(self.k_proj(hidden_states), cache.key_window)
        values, value_window = self.v_conv1d(self.v_proj(hidden_states), cache.value_window)
        queries = l2_normalise(self.split_heads(queries)) * self.head_dim**-0.5
        keys = l2_normalise(self.split_heads(keys))
        values = self.split_heads(values)
        log_decay = self.log_decay(hidden_states)
        beta = self.b_proj(hidden_states).to(torch.float32).sigmoid().transpose(1, 2)
        if hidden_states.shape[1] == 1:
            outputs, state = recurrent_delta_rule(queries, keys, values, log_decay, beta, state=cache.state)
        else:
            outputs, state = chunked_delta_rule(queries, keys, values, log_decay, beta, state=cache.state)
        outputs = outputs.transpose(1, 2).to(hidden_states.dtype)
        output_gate = self.g_proj(hidden_states).unflatten(-1, (self.num_heads, self.head_dim))
        gated_outputs = self.o_norm(outputs, output_gate).flatten(start_dim=2)
        return self.o_proj(gated_outputs), DeltaCache(query_window, key_window, value_window, state)

    def empty_cache(self, hidden_states: Tensor) -> DeltaCache:
        """The cache before the first position: zeros, for a batch like that of ``hidden_states`` [B, T, d]."""
        batch = hidden_states.shape[0]
        window = hidden_states.new_zeros(batch, self.short_conv_kernel_size - 1, self.num_heads * self.head_dim)
        state = window.new_zeros(batch, self.num_heads, self.head_dim, self.head_dim, dtype=torch.float32)
        return DeltaCache(window, window, window, state)

    def split_heads(self, features: Tensor) -> Tensor:
        """[B, T, H·K] to [B, H, T, K] float32."""
        return features.view(*features.shape[:2], self.num_heads, self.head_dim).transpose(1, 2).to(torch.float32)

    def log_decay(self, hidden_states: Tensor) -> Tensor:
        """Bounded logarithm of the decay: lower_bound · sigmoid(exp(A_log) · (g + dt_bias)), g of low rank.

        Args:
            hidden_states: [B, T, d].

        Returns:
            [B, H, T, K] float32, between ``gate_lower_bound`` and 0. Not the softplus of Kimi Linear (fla-core 0.6.0,
            ``ops/kda/gate.py`` lines 58-93).
        """
        forget_gate = self.f_b_proj(self.f_a_proj(hidden_states)).to(torch.float32)
        shifted_gate = self.split_heads(forget_gate + self.dt_bias.to(torch.float32))
        decay_rate = self.A_log.to(torch.float32).exp().view(self.num_heads, 1, 1)
        return self.gate_lower_bound * (decay_rate * shifted_gate).sigmoid()


def cut_stored_decay_rates(module: nn.Module, state_dict: dict[str, Any], prefix: str, *_: Any) -> None:
    """Before loading, keep the first H elements of a stored ``A_log`` [head_dim], the rest being padding.

    Raises:
        SourceError: what would be cut off is not zero.
    """
    name = f"{prefix}A_log"
    stored = state_dict.get(name)
    if stored is None or stored.numel() <= module.num_heads:
        return
    if not stored.is_meta and bool(stored[module.num_heads :].any()):
        raise SourceError(
            f"{stored.numel()} decay rates are stored for {module.num_heads} heads, and the surplus is not zero.",
            where=name,
            advice="Check that the configuration belongs to these weights.",
        )
    state_dict[name] = stored[: module.num_heads]


class GatedLatentAttention(nn.Module):
    """Multi-head latent attention without positions, its output gated (arXiv 2405.04434, §2.1; lines 402-561).

    What carries the rotary positions elsewhere (``qk_rope_head_dim`` features, one key for all heads) is kept but not
    turned. The cache holds the latent and the shared key; the published code caches all heads' keys and values instead.
    """

    def __init__(self, configuration: KimiK3Configuration) -> None:
        super().__init__()
        hidden_size = configuration.hidden_size
        self.num_heads = configuration.num_attention_heads
        self.kv_lora_rank = configuration.kv_lora_rank
        self.qk_nope_head_dim = configuration.qk_nope_head_dim
        self.qk_rope_head_dim = configuration.qk_rope_head_dim
        self.v_head_dim = configuration.v_head_dim
        query_head_dim = self.qk_nope_head_dim + self.qk_rope_head_dim
        self.scale = query_head_dim**-0.5
        self.q_a_proj = Linear(hidden_size, configuration.q_lora_rank)
        self.q_a_layernorm = RMSNorm(configuration.q_lora_rank, LATENT_NORM_EPS)
        self.q_b_proj = Linear(configuration.q_lora_rank, self.num_heads * query_head_dim)
        self.kv_a_proj_with_mqa = Linear(hidden_size, self.kv_lora_rank + self.qk_rope_head_dim)
        self.kv_a_layernorm = RMSNorm(self.kv_lora_rank, LATENT_NORM_EPS)
        self.kv_b_proj = Linear(self.kv_lora_rank, self.num_heads * (self.qk_nope_head_dim + self.v_head_dim))
        self.g_proj = Linear(hidden_size, self.num_heads * self.v_head_dim)
        self.o_proj = Linear(self.num_heads * self.v_head_dim, hidden_size)

    def forward(self, hidden_states: Tensor, visible: Tensor, cache: LatentCache | None) -> tuple[Tensor, LatentCache]:
        """Attend from the T new positions to all S visible ones.

        Args:
            hidden_states: [B, T, d].
            visible: bool [1 or B, 1, T, S].
            cache: of the P earlier positions, or ``None``.

        Returns:
            [B, T, d], and the cache of all S positions.
        """
        query_latent = self.q_a_layernorm(self.q_a_proj(hidden_states))
        queries = self.q_b_proj(query_latent).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

        compressed = self.kv_a_proj_with_mqa(hidden_states)
        key_value_latent, shared_key = compressed.split((self.kv_lora_rank, self.qk_rope_head_dim), dim=-1)
        key_value_latent = self.kv_a_layernorm(key_value_latent)
        if cache is not None:
            key_value_latent = torch.cat((cache.key_value_latent, key_value_latent), dim=1)
            shared_key = torch.cat((cache.shared_key, shared_key), dim=1)

        keys_and_values = self.kv_b_proj(key_value_latent).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        key_nope, values = keys_and_values.split((self.qk_nope_head_dim, self.v_head_dim), dim=-1)
        shared_by_heads = shared_key.unsqueeze(1).expand(-1, self.num_heads, -1, -1)
        keys = torch.cat((key_nope, shared_by_heads), dim=-1)

        head_outputs = scaled_dot_product_attention(queries, keys, values, visible, self.scale)
        output_gate = self.g_proj(hidden_states).sigmoid()
        return self.o_proj(head_outputs * output_gate), LatentCache(key_value_latent, shared_key)


class SiTU(nn.Module):
    """Gated activation with soft bounds: β·tanh(gate/β)·sigmoid(gate) ⊙ λ·tanh(up/λ), in float32 (lines 100-118).

    Attributes:
        gate_bound: β, ``activation_situ_beta``; 4 in Kimi K3.
        up_bound: λ, ``activation_situ_linear_beta``; 25 in Kimi K3.
    """

    def __init__(self, configuration: KimiK3Configuration) -> None:
        super().__init__()
        self.gate_bound = configuration.activation_situ_beta
        self.up_bound = configuration.activation_situ_linear_beta

    def forward(self, gate: Tensor, up: Tensor) -> Tensor:
        """Gate and up, each […, features], to […, features] in the dtype of ``gate``."""
        gate_float32 = gate.to(torch.float32)
        up_float32 = up.to(torch.float32)
        bounded_gate = self.gate_bound * torch.tanh(gate_float32 / self.gate_bound)
        bounded_up = self.up_bound * torch.tanh(up_float32 / self.up_bound)
        activated = bounded_gate * gate_float32.sigmoid() * bounded_up
        return activated.to(gate.dtype)


class FeedForward(nn.Module):
    """Gated feed-forward network down(SiTU(gate(x), up(x))): dense first layer, shared experts (lines 340-368)."""

    def __init__(self, configuration: KimiK3Configuration, intermediate_size: int) -> None:
        super().__init__()
        self.gate_proj = Linear(configuration.hidden_size, intermediate_size)
        self.up_proj = Linear(configuration.hidden_size, intermediate_size)
        self.down_proj = Linear(intermediate_size, configuration.hidden_size)
        self.act_fn = SiTU(configuration)

    def forward(self, hidden_states: Tensor) -> Tensor:
        """[…, d] to […, d], same dtype."""
        activated = self.act_fn(self.gate_proj(hidden_states), self.up_proj(hidden_states))
        return self.down_proj(activated)  # type: ignore[no-any-return]


class Expert(nn.Module):
    """Routed expert w2(SiTU(w1(x), w3(x))); it reads and writes the latent, not the hidden size (lines 302-337)."""

    def __init__(self, latent_size: int, intermediate_size: int, activation: SiTU) -> None:
        super().__init__()
        self.w1 = Linear(latent_size, intermediate_size)
        self.w2 = Linear(intermediate_size, latent_size)
        self.w3 = Linear(latent_size, intermediate_size)
        self.act_fn = activation

    def forward(self, latents: Tensor) -> Tensor:
        """[n, latent] to [n, latent], same dtype."""
        activated = self.act_fn(self.w1(latents), self.w3(latents))
        return self.w2(activated)  # type: ignore[no-any-return]


class Router(nn.Module):
    """Chooses k experts for each token and weighs them (arXiv 2412.19437, §2.1.2; lines 762-861).

    It reads the hidden states, not the latent. The correction bias takes part in choosing only: the weights are the
    scores without it. Everything is float32.

    Attributes:
        weight: [E, d].
        e_score_correction_bias: [E] float32.
    """

    def __init__(self, configuration: KimiK3Configuration) -> None:
        super().__init__()
        self.num_experts_per_token = configuration.num_experts_per_token
        self.num_expert_group = configuration.num_expert_group
        self.topk_group = configuration.topk_group
        self.moe_renormalize = configuration.moe_renormalize
        self.routed_scaling_factor = configuration.routed_scaling_factor
        self.weight = nn.Parameter(torch.empty(configuration.num_experts, configuration.hidden_size))
        self.e_score_correction_bias = nn.Parameter(torch.empty(configuration.num_experts, dtype=torch.float32))

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Tokens [N, d] to the chosen experts [N, k] int64 and their weights [N, k] float32."""
        logits = functional.linear(tokens.to(torch.float32), self.weight.to(torch.float32))
        scores = logits.sigmoid()
        choice_scores = scores + self.e_score_correction_bias
        if self.num_expert_group > self.topk_group:
            choice_scores = keep_best_groups(choice_scores, self.num_expert_group, self.topk_group)
        chosen_experts = choice_scores.topk(self.num_experts_per_token, dim=-1, sorted=False).indices
        expert_weights = scores.gather(1, chosen_experts)
        if self.moe_renormalize and self.num_experts_per_token > 1:
            expert_weights = expert_weights / (expert_weights.sum(dim=-1, keepdim=True) + 1e-20)
        return chosen_experts, expert_weights * self.routed_scaling_factor


class LatentMixtureOfExperts(nn.Module):
    """Experts that work in a narrower latent: project down, run, add up, normalise, project up.

    The shared experts read the hidden states and are neither weighted nor scaled (lines 866-950).
    """

    def __init__(self, configuration: KimiK3Configuration) -> None:
        super().__init__()
        latent_size = configuration.routed_expert_hidden_size
        expert_size = configuration.moe_intermediate_size
        activation = SiTU(configuration)
        self.experts = nn.ModuleList(
            Expert(latent_size, expert_size, activation) for _ in range(configuration.num_experts)
        )
        self.gate = Router(configuration)
        self.shared_experts = FeedForward(configuration, expert_size * configuration.num_shared_experts)
        self.routed_expert_down_proj = Linear(configuration.hidden_size, latent_size)
        self.routed_expert_up_proj = Linear(latent_size, configuration.hidden_size)
        self.routed_expert_norm = RMSNorm(latent_size, configuration.rms_norm_eps)

    def forward(self, hidden_states: Tensor) -> Tensor:
        """[B, T, d] to [B, T, d], same dtype."""
        tokens = hidden_states.flatten(end_dim=1)
        chosen_experts, expert_weights = self.gate(tokens)
        latents = self.routed_expert_down_proj(tokens)
        routed_latents = run_chosen_experts(latents, self.experts, chosen_experts, expert_weights)
        routed_output = self.routed_expert_up_proj(self.routed_expert_norm(routed_latents))
        shared_output = self.shared_experts(hidden_states)
        return routed_output.view_as(hidden_states) + shared_output  # type: ignore[no-any-return]


def mix_stored_sums(running_sum: Tensor, stored_sums: Tensor, norm: RMSNorm, projection: Linear) -> Tensor:
    """Attention over depth: a softmax-weighted mean of the stored sums and the running sum (arXiv 2603.15031).

    The keys are the normalised sums, the one learned query is the projection with the norm's gain folded in, the values
    are the raw sums. All in float32 (lines 1210-1223).

    Args:
        running_sum: [B, T, d].
        stored_sums: [B, T, R, d].
        norm: gain [d] and eps of the keys' norm.
        projection: weight [1, d].

    Returns:
        [B, T, d], dtype of ``running_sum``.
    """
    sums = torch.cat((stored_sums, running_sum.unsqueeze(2)), dim=2)
    values = sums.to(torch.float32)
    mean_square = values.square().mean(dim=-1, keepdim=True)
    keys = values * torch.rsqrt(mean_square + norm.eps)
    query = norm.weight.to(torch.float32) * projection.weight.squeeze(0).to(torch.float32)
    scores = (keys * query).sum(dim=-1)
    probabilities = scores.softmax(dim=-1)
    mixed = torch.matmul(probabilities.unsqueeze(2), values).squeeze(2)
    return mixed.to(running_sum.dtype)


class DecoderLayer(nn.Module):
    """One block with attention residuals (arXiv 2603.15031; lines 1105-1174).

    Instead of one residual stream, two things travel between layers: the running sum of the updates of the current
    group of ``attn_res_block_size`` layers, and the stored sums of the groups before (the first is the embedding).
    Attention and feed-forward network each read a mixture of all of them. The branches stand on lines of their own,
    because layers take them differently.
    """

    def __init__(self, configuration: KimiK3Configuration, layer_idx: int) -> None:
        super().__init__()
        hidden_size = configuration.hidden_size
        eps = configuration.rms_norm_eps
        self.layer_idx = layer_idx
        self.is_linear = configuration.layer_is_linear(layer_idx)
        self.is_sparse = configuration.layer_is_sparse(layer_idx)
        self.starts_group = layer_idx % configuration.attn_res_block_size == 0
        self.self_attn = KimiDeltaAttention(configuration) if self.is_linear else GatedLatentAttention(configuration)
        if self.is_sparse:
            self.block_sparse_moe = LatentMixtureOfExperts(configuration)
        else:
            self.mlp = FeedForward(configuration, configuration.intermediate_size)
        self.input_layernorm = RMSNorm(hidden_size, eps)
        self.post_attention_layernorm = RMSNorm(hidden_size, eps)
        self.self_attention_res_norm = RMSNorm(hidden_size, eps)
        self.self_attention_res_proj = Linear(hidden_size, 1)
        self.mlp_res_norm = RMSNorm(hidden_size, eps)
        self.mlp_res_proj = Linear(hidden_size, 1)

    def forward(
        self,
        running_sum: Tensor,
        stored_sums: Tensor,
        visible: Tensor,
        is_token: Tensor | None,
        cache: DeltaCache | LatentCache | None,
    ) -> tuple[Tensor, Tensor, DeltaCache | LatentCache]:
        """Add this layer's two updates to the running sum.

        Args:
            running_sum: [B, T, d]; for the first layer the embedding.
            stored_sums: [B, T, R, d]; for the first layer R is 0.
            visible: bool [1 or B, 1, T, S], for latent attention.
            is_token: [B, T] or ``None``, for delta attention.
            cache: of this layer, or ``None``.

        Returns:
            The running sum [B, T, d], the stored sums (R + 1 of them if this layer starts a group), the next cache.
        """
        hidden_states = running_sum
        if stored_sums.shape[2] > 0:
            hidden_states = mix_stored_sums(
                running_sum, stored_sums, self.self_attention_res_norm, self.self_attention_res_proj
            )
        if self.starts_group:
            stored_sums = torch.cat((stored_sums, running_sum.unsqueeze(2)), dim=2)

        hidden_states = self.input_layernorm(hidden_states)
        if self.is_linear:
            attention_update, cache = self.self_attn(hidden_states, is_token, cache)
        else:
            attention_update, cache = self.self_attn(hidden_states, visible, cache)
        if self.starts_group:  # noqa: SIM108
            running_sum = attention_update
        else:
            running_sum = running_sum + attention_update

        hidden_states = mix_stored_sums(running_sum, stored_sums, self.mlp_res_norm, self.mlp_res_proj)
        hidden_states = self.post_attention_layernorm(hidden_states)
        if self.is_sparse:  # noqa: SIM108
            feed_forward_update = self.block_sparse_moe(hidden_states)
        else:
            feed_forward_update = self.mlp(hidden_states)
        running_sum = running_sum + feed_forward_update
        return running_sum, stored_sums, cache


class KimiK3Model(nn.Module):
    """Embedding, all layers, the last mixture and the final norm (lines 1252-1413)."""

    def __init__(self, configuration: KimiK3Configuration) -> None:
        super().__init__()
        self.embed_tokens = uninitialised_embedding(configuration.vocab_size, configuration.hidden_size)
        self.layers = nn.ModuleList(
            DecoderLayer(configuration, layer_idx) for layer_idx in range(configuration.num_hidden_layers)
        )
        self.norm = RMSNorm(configuration.hidden_size, configuration.rms_norm_eps)
        self.output_attn_res_norm = RMSNorm(configuration.hidden_size, configuration.rms_norm_eps)
        self.output_attn_res_proj = Linear(configuration.hidden_size, 1)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None,
        past_key_values: tuple[DeltaCache | LatentCache, ...] | None,
    ) -> tuple[Tensor, tuple[DeltaCache | LatentCache, ...]]:
        """Token numbers [B, T] to the normalised output [B, T, d] and the caches of all layers.

        The stored sums concern one position each, so that they live in one forward pass only and are not in the cache.
        """
        token_count = input_ids.shape[1]
        visible = visible_positions(token_count, cached_positions(past_key_values), attention_mask, input_ids.device)
        is_token = None if attention_mask is None else attention_mask[:, -token_count:]
        running_sum = self.embed_tokens(input_ids)
        stored_sums = running_sum.new_zeros(*running_sum.shape[:2], 0, running_sum.shape[2])
        caches = []
        for layer_idx, layer in enumerate(self.layers):
            cache = None if past_key_values is None else past_key_values[layer_idx]
            running_sum, stored_sums, cache = layer(running_sum, stored_sums, visible, is_token, cache)
            caches.append(cache)
        hidden_states = mix_stored_sums(running_sum, stored_sums, self.output_attn_res_norm, self.output_attn_res_proj)
        return self.norm(hidden_states), tuple(caches)


def cached_positions(past_key_values: tuple[DeltaCache | LatentCache, ...] | None) -> int:
    """P, read off the first layer that keeps something of every position; 0 without a cache."""
    for cache in past_key_values or ():
        if isinstance(cache, LatentCache):
            return cache.shared_key.shape[1]
    return 0


class KimiK3ForCausalLM(nn.Module):
    """Kimi K3's text model with its head: predicts the next token."""

    def __init__(self, configuration: KimiK3Configuration) -> None:
        super().__init__()
        self.model = KimiK3Model(configuration)
        self.lm_head = Linear(configuration.hidden_size, configuration.vocab_size)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        past_key_values: tuple[DeltaCache | LatentCache, ...] | None = None,
        use_cache: bool = False,
    ) -> CausalLanguageModelOutput:
        """Score the next token after each of T new positions.

        Args:
            input_ids: [B, T] int64.
            attention_mask: [B, P + T], 0 where the left of a row is padded; ``None`` if nothing is.
            past_key_values: the cache of an earlier call, for decoding.
            use_cache: whether to return a cache.

        Returns:
            Logits [B, T, vocab_size] in the dtype of the model, and the cache: a :class:`LatentCache` or
            :class:`DeltaCache` for each layer.

        Raises:
            UsageError: ``attention_mask`` has another shape, or pads on the right.
        """
        if attention_mask is not None:
            check_left_padding(attention_mask)
        hidden_states, caches = self.model(input_ids, attention_mask, past_key_values)
        logits = self.lm_head(hidden_states)
        return CausalLanguageModelOutput(logits, caches if use_cache else None)


def check_left_padding(attention_mask: Tensor) -> None:
    """Raise a UsageError if padding follows a token in ``attention_mask`` [B, S]: the memory would decay over it."""
    if not attention_mask.is_meta and bool((attention_mask.diff(dim=1) < 0).any()):
        raise UsageError(
            "attention_mask pads on the right or in the middle, where delta attention would forget.",
            where="attention_mask",
            advice="Pad on the left.",
        )


class KimiK3ForConditionalGeneration(nn.Module):
    """Kimi K3 as published, without what sees: only the text model under the name it has in the checkpoint.

    Attributes:
        left_out: names of the published parts that are not part of this reference model.
    """

    def __init__(self, configuration: KimiK3Configuration) -> None:
        super().__init__()
        self.left_out = "vision_tower, mm_projector"
        self.language_model = KimiK3ForCausalLM(configuration)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        past_key_values: tuple[DeltaCache | LatentCache, ...] | None = None,
        use_cache: bool = False,
    ) -> CausalLanguageModelOutput:
        """See :meth:`KimiK3ForCausalLM.forward`; images are not accepted."""
        return self.language_model(input_ids, attention_mask, past_key_values, use_cache)  # type: ignore[no-any-return]


def build(configuration: dict[str, Any]) -> KimiK3ForConditionalGeneration | KimiK3ForCausalLM:
    """Make the model of a published ``config.json``, on the current default device and in the current default dtype.

    Matrices are normally distributed with ``initializer_range``; on the meta device nothing is initialised.

    Args:
        configuration: the whole file; or its ``text_config`` alone, for the text model without the prefix
            ``language_model``.

    Raises:
        ConfigurationError: see :meth:`KimiK3Configuration.from_published`.
    """
    parsed = KimiK3Configuration.from_published(configuration)
    whole_file = "text_config" in configuration
    with garbage_collection_paused():
        model = KimiK3ForConditionalGeneration(parsed) if whole_file else KimiK3ForCausalLM(parsed)
    initialise_parameters(model, parsed.initializer_range)
    return model
