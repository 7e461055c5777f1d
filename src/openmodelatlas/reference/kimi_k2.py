"""Kimi K2: multi-head latent attention with rotary positions, and a sparse mixture of 384 experts.

Read from top to bottom: rotary positions, attention, feed-forward network, experts, block, model. The architecture is
that of DeepSeek-V3 (arXiv 2412.19437) at the sizes of the Kimi K2 report (arXiv 2507.20534). Parameter names are those
of the published checkpoint ``moonshotai/Kimi-K2-Instruct``, whose float8 blocks have to be expanded before loading.

Axes: B batch, T new positions, P cached positions, S = P + T, N = B·T tokens, d hidden size, H heads, E routed experts,
k experts chosen per token. "Lines" without a file name are those of ``transformers`` 5.24.0,
``models/deepseek_v3/modeling_deepseek_v3.py``.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from openmodelatlas.reference.kimi_k2_configuration import KimiK2Configuration, YarnScaling
from openmodelatlas.reference.layers import (
    CausalLanguageModelOutput,
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

__all__ = ["KimiK2Configuration", "KimiK2ForCausalLM", "build"]

LATENT_NORM_EPS = 1e-6
"""The norms of the two latents do not follow ``rms_norm_eps`` (lines 380 and 392: the class's default)."""


class RotaryEmbedding(nn.Module):
    """Cosines and sines of the rotary angles, with YaRN's first correction (arXiv 2104.09864, 2309.00071).

    The frequencies are computed at each call rather than stored, so that nothing but parameters has to be loaded.

    Attributes:
        rope_dim: features that are turned; each neighbouring pair has its own frequency.
        rope_theta: base of the frequencies.
        factor: how much YaRN divides the slow frequencies by; 1.0 without YaRN.
        ramp_start, ramp_end: indices of pairs between which the division sets in, linearly (transformers 5.24.0,
            ``modeling_rope_utils.py``, ``_compute_yarn_parameters``).
        cosine_scale: the first correction, a ratio of temperatures that multiplies cosines and sines; 1.0 in Kimi K2.
    """

    def __init__(self, configuration: KimiK2Configuration) -> None:
        super().__init__()
        self.rope_dim = configuration.qk_rope_head_dim
        self.rope_theta = configuration.rope_theta
        self.factor = 1.0
        self.ramp_start = 0
        self.ramp_end = 1
        self.cosine_scale = 1.0
        yarn = configuration.rope_scaling
        if yarn is not None:
            self.factor = yarn.factor
            self.ramp_start = max(math.floor(self.pair_that_rotates(yarn.beta_fast, yarn)), 0)
            self.ramp_end = min(math.ceil(self.pair_that_rotates(yarn.beta_slow, yarn)), self.rope_dim - 1)
            self.cosine_scale = temperature(yarn.factor, yarn.mscale) / temperature(yarn.factor, yarn.mscale_all_dim)

    def pair_that_rotates(self, rotations: float, yarn: YarnScaling) -> float:
        """Index (a real number) of the pair that turns ``rotations`` times over the original context."""
        wavelength = yarn.original_max_position_embeddings / (rotations * 2 * math.pi)
        return self.rope_dim * math.log(wavelength) / (2 * math.log(self.rope_theta))

    def forward(self, positions: Tensor) -> tuple[Tensor, Tensor]:
        """Positions [T] to cosines and sines, each [T, rope_dim / 2] float32."""
        pair_index = torch.arange(self.rope_dim // 2, dtype=torch.float32, device=positions.device)
        frequencies = 1.0 / self.rope_theta ** (2 * pair_index / self.rope_dim)
        stretched_frequencies = frequencies / self.factor
        stretched_share = (pair_index - self.ramp_start) / max(self.ramp_end - self.ramp_start, 0.001)
        stretched_share = stretched_share.clamp(0, 1)
        yarn_frequencies = stretched_frequencies * stretched_share + frequencies * (1 - stretched_share)
        angles = positions.to(torch.float32).unsqueeze(1) * yarn_frequencies
        return angles.cos() * self.cosine_scale, angles.sin() * self.cosine_scale


def temperature(factor: float, weight: float) -> float:
    """YaRN's temperature 0.1·weight·ln(factor) + 1, and 1 for contexts that do not get longer (lines 262-265)."""
    if factor <= 1:
        return 1.0
    return 0.1 * weight * math.log(factor) + 1.0


def attention_scale(configuration: KimiK2Configuration) -> float:
    """What multiplies the dot products: 1/√(query size) times YaRN's second correction, a squared temperature.

    Kimi K2: 192**-0.5 · 1.3466**2 = 0.13086 (lines 268-274 and 405).
    """
    scale: float = (configuration.qk_nope_head_dim + configuration.qk_rope_head_dim) ** -0.5
    yarn = configuration.rope_scaling
    if yarn is not None:
        scale = scale * temperature(yarn.factor, yarn.mscale_all_dim) ** 2
    return scale


def rotate_pairs(features: Tensor, cosines: Tensor, sines: Tensor) -> Tensor:
    """Turn each pair of neighbouring features (2i, 2i + 1) by its angle (lines 310-346).

    Args:
        features: […, T, rope_dim].
        cosines, sines: [T, rope_dim / 2] float32; rounded to the dtype of ``features`` first.

    Returns:
        […, T, rope_dim]; the features stay in their places.
    """
    cosines = cosines.to(features.dtype)
    sines = sines.to(features.dtype)
    even = features[..., 0::2]
    odd = features[..., 1::2]
    rotated_even = even * cosines - odd * sines
    rotated_odd = odd * cosines + even * sines
    return torch.stack((rotated_even, rotated_odd), dim=-1).flatten(start_dim=-2)


class LatentAttention(nn.Module):
    """Multi-head latent attention: queries, keys and values come out of low-rank latents (arXiv 2405.04434, §2.1).

    Only the part without positions is made from the latents; a separate part of each query, and one key that all heads
    share, carry the rotary positions (lines 349-483). The cache holds the latent and the shared key.
    """

    def __init__(self, configuration: KimiK2Configuration) -> None:
        super().__init__()
        hidden_size = configuration.hidden_size
        self.num_heads = configuration.num_attention_heads
        self.kv_lora_rank = configuration.kv_lora_rank
        self.qk_nope_head_dim = configuration.qk_nope_head_dim
        self.qk_rope_head_dim = configuration.qk_rope_head_dim
        self.v_head_dim = configuration.v_head_dim
        self.scale = attention_scale(configuration)
        query_size = self.num_heads * (self.qk_nope_head_dim + self.qk_rope_head_dim)
        self.q_a_proj = Linear(hidden_size, configuration.q_lora_rank)
        self.q_a_layernorm = RMSNorm(configuration.q_lora_rank, LATENT_NORM_EPS)
        self.q_b_proj = Linear(configuration.q_lora_rank, query_size)
        self.kv_a_proj_with_mqa = Linear(hidden_size, self.kv_lora_rank + self.qk_rope_head_dim)
        self.kv_a_layernorm = RMSNorm(self.kv_lora_rank, LATENT_NORM_EPS)
        self.kv_b_proj = Linear(self.kv_lora_rank, self.num_heads * (self.qk_nope_head_dim + self.v_head_dim))
        self.o_proj = Linear(self.num_heads * self.v_head_dim, hidden_size)

    def forward(
        self, hidden_states: Tensor, cosines: Tensor, sines: Tensor, visible: Tensor, cache: LatentCache | None
    ) -> tuple[Tensor, LatentCache]:
        """Attend from the T new positions to all S visible ones.

        Args:
            hidden_states: [B, T, d].
            cosines, sines: [T, qk_rope_head_dim / 2] float32, of the new positions.
            visible: bool [1 or B, 1, T, S].
            cache: of the P earlier positions, or ``None``.

        Returns:
            [B, T, d], and the cache of all S positions.
        """
        query_latent = self.q_a_layernorm(self.q_a_proj(hidden_states))
        queries = self.q_b_proj(query_latent).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        query_nope, query_rope = queries.split((self.qk_nope_head_dim, self.qk_rope_head_dim), dim=-1)
        rotated_query = rotate_pairs(query_rope, cosines, sines)
        queries = torch.cat((query_nope, rotated_query), dim=-1)

        compressed = self.kv_a_proj_with_mqa(hidden_states)
        key_value_latent, shared_key = compressed.split((self.kv_lora_rank, self.qk_rope_head_dim), dim=-1)
        key_value_latent = self.kv_a_layernorm(key_value_latent)
        shared_key = rotate_pairs(shared_key, cosines, sines)
        if cache is not None:
            key_value_latent = torch.cat((cache.key_value_latent, key_value_latent), dim=1)
            shared_key = torch.cat((cache.shared_key, shared_key), dim=1)

        keys_and_values = self.kv_b_proj(key_value_latent).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        key_nope, values = keys_and_values.split((self.qk_nope_head_dim, self.v_head_dim), dim=-1)
        key_rope = shared_key.unsqueeze(1).expand(-1, self.num_heads, -1, -1)
        keys = torch.cat((key_nope, key_rope), dim=-1)

        head_outputs = scaled_dot_product_attention(queries, keys, values, visible, self.scale)
        return self.o_proj(head_outputs), LatentCache(key_value_latent, shared_key)


class SwiGLU(nn.Module):
    """Gated feed-forward network down(SiLU(gate(x)) ⊙ up(x)) (arXiv 2002.05202; lines 104-117).

    The dense network of the first layers, every routed expert and the shared expert are of this form.
    """

    def __init__(self, hidden_size: int, intermediate_size: int) -> None:
        super().__init__()
        self.gate_proj = Linear(hidden_size, intermediate_size)
        self.up_proj = Linear(hidden_size, intermediate_size)
        self.down_proj = Linear(intermediate_size, hidden_size)

    def forward(self, hidden_states: Tensor) -> Tensor:
        """[…, d] to […, d], same dtype."""
        gate = functional.silu(self.gate_proj(hidden_states))
        up = self.up_proj(hidden_states)
        return self.down_proj(gate * up)  # type: ignore[no-any-return]


class Router(nn.Module):
    """Chooses k experts for each token and weighs them (arXiv 2412.19437, §2.1.2; lines 120-158).

    The correction bias takes part in choosing only: the weights are the scores without it. Everything is float32.

    Attributes:
        weight: [E, d].
        e_score_correction_bias: [E] float32, a buffer: balances the load in training without a gradient.
    """

    def __init__(self, configuration: KimiK2Configuration) -> None:
        super().__init__()
        self.num_experts_per_tok = configuration.num_experts_per_tok
        self.n_group = configuration.n_group
        self.topk_group = configuration.topk_group
        self.norm_topk_prob = configuration.norm_topk_prob
        self.routed_scaling_factor = configuration.routed_scaling_factor
        expert_count = configuration.n_routed_experts
        self.weight = nn.Parameter(torch.empty(expert_count, configuration.hidden_size))
        self.e_score_correction_bias: Tensor
        self.register_buffer("e_score_correction_bias", torch.zeros(expert_count, dtype=torch.float32))

    def forward(self, tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Tokens [N, d] to the chosen experts [N, k] int64 and their weights [N, k] float32."""
        logits = functional.linear(tokens.to(torch.float32), self.weight.to(torch.float32))
        scores = logits.sigmoid()
        choice_scores = scores + self.e_score_correction_bias
        choice_scores = keep_best_groups(choice_scores, self.n_group, self.topk_group)
        chosen_experts = choice_scores.topk(self.num_experts_per_tok, dim=-1, sorted=False).indices
        expert_weights = scores.gather(1, chosen_experts)
        if self.norm_topk_prob:
            expert_weights = expert_weights / (expert_weights.sum(dim=-1, keepdim=True) + 1e-20)
        return chosen_experts, expert_weights * self.routed_scaling_factor


class MixtureOfExperts(nn.Module):
    """Sum of the chosen experts' weighted outputs and of the shared expert's unscaled output (lines 201-222)."""

    def __init__(self, configuration: KimiK2Configuration) -> None:
        super().__init__()
        expert_size = configuration.moe_intermediate_size
        self.gate = Router(configuration)
        self.experts = nn.ModuleList(
            SwiGLU(configuration.hidden_size, expert_size) for _ in range(configuration.n_routed_experts)
        )
        self.shared_experts = SwiGLU(configuration.hidden_size, expert_size * configuration.n_shared_experts)

    def forward(self, hidden_states: Tensor) -> Tensor:
        """[B, T, d] to [B, T, d], same dtype."""
        tokens = hidden_states.flatten(end_dim=1)
        chosen_experts, expert_weights = self.gate(tokens)
        routed_output = run_chosen_experts(tokens, self.experts, chosen_experts, expert_weights)
        shared_output = self.shared_experts(hidden_states)
        return routed_output.view_as(hidden_states) + shared_output  # type: ignore[no-any-return]


class DecoderLayer(nn.Module):
    """Pre-norm transformer block: attention, then a feed-forward network or experts (lines 485-531)."""

    def __init__(self, configuration: KimiK2Configuration, layer_idx: int) -> None:
        super().__init__()
        self.layer_idx = layer_idx
        self.input_layernorm = RMSNorm(configuration.hidden_size, configuration.rms_norm_eps)
        self.self_attn = LatentAttention(configuration)
        self.post_attention_layernorm = RMSNorm(configuration.hidden_size, configuration.rms_norm_eps)
        self.mlp = (
            MixtureOfExperts(configuration)
            if configuration.layer_is_sparse(layer_idx)
            else SwiGLU(configuration.hidden_size, configuration.intermediate_size)
        )

    def forward(
        self, hidden_states: Tensor, cosines: Tensor, sines: Tensor, visible: Tensor, cache: LatentCache | None
    ) -> tuple[Tensor, LatentCache]:
        """The residual stream [B, T, d] before and after this layer; the rest as in :class:`LatentAttention`."""
        attention_input = self.input_layernorm(hidden_states)
        attention_update, cache = self.self_attn(attention_input, cosines, sines, visible, cache)
        hidden_states = hidden_states + attention_update
        feed_forward_input = self.post_attention_layernorm(hidden_states)
        feed_forward_update = self.mlp(feed_forward_input)
        hidden_states = hidden_states + feed_forward_update
        return hidden_states, cache


class KimiK2Model(nn.Module):
    """Embedding, all layers and the final norm (lines 565-638)."""

    def __init__(self, configuration: KimiK2Configuration) -> None:
        super().__init__()
        self.embed_tokens = uninitialised_embedding(configuration.vocab_size, configuration.hidden_size)
        self.layers = nn.ModuleList(
            DecoderLayer(configuration, layer_idx) for layer_idx in range(configuration.num_hidden_layers)
        )
        self.norm = RMSNorm(configuration.hidden_size, configuration.rms_norm_eps)
        self.rotary_emb = RotaryEmbedding(configuration)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor | None, past_key_values: tuple[LatentCache, ...] | None
    ) -> tuple[Tensor, tuple[LatentCache, ...]]:
        """Token numbers [B, T] to the normalised residual stream [B, T, d] and the caches of all layers."""
        cached_count = 0 if past_key_values is None else past_key_values[0].shared_key.shape[1]
        token_count = input_ids.shape[1]
        visible = visible_positions(token_count, cached_count, attention_mask, input_ids.device)
        positions = torch.arange(cached_count, cached_count + token_count, device=input_ids.device)
        cosines, sines = self.rotary_emb(positions)
        hidden_states = self.embed_tokens(input_ids)
        caches = []
        for layer_idx, layer in enumerate(self.layers):
            cache = None if past_key_values is None else past_key_values[layer_idx]
            hidden_states, cache = layer(hidden_states, cosines, sines, visible, cache)
            caches.append(cache)
        return self.norm(hidden_states), tuple(caches)


class KimiK2ForCausalLM(nn.Module):
    """Kimi K2 with its head: predicts the next token."""

    def __init__(self, configuration: KimiK2Configuration) -> None:
        super().__init__()
        self.model = KimiK2Model(configuration)
        self.lm_head = Linear(configuration.hidden_size, configuration.vocab_size)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        past_key_values: tuple[LatentCache, ...] | None = None,
        use_cache: bool = False,
    ) -> CausalLanguageModelOutput:
        """Score the next token after each of T new positions.

        Args:
            input_ids: [B, T] int64.
            attention_mask: [B, P + T], 0 where the left of a row is padded; ``None`` if nothing is. Positions count
                from the first column, padded or not: rotary attention depends on differences of positions only.
            past_key_values: the cache of an earlier call, for decoding.
            use_cache: whether to return a cache.

        Returns:
            Logits [B, T, vocab_size] in the dtype of the model, and the cache: the latents of all positions, by layer.

        Raises:
            UsageError: ``attention_mask`` does not fit.
        """
        hidden_states, caches = self.model(input_ids, attention_mask, past_key_values)
        logits = self.lm_head(hidden_states)
        return CausalLanguageModelOutput(logits, caches if use_cache else None)


def build(configuration: dict[str, Any]) -> KimiK2ForCausalLM:
    """Make the model of a published ``config.json``, on the current default device and in the current default dtype.

    Matrices are normally distributed with ``initializer_range``; on the meta device nothing is initialised.

    Raises:
        ConfigurationError: see :meth:`KimiK2Configuration.from_published`.
    """
    parsed = KimiK2Configuration.from_published(configuration)
    with garbage_collection_paused():
        model = KimiK2ForCausalLM(parsed)
    initialise_parameters(model, parsed.initializer_range)
    return model
