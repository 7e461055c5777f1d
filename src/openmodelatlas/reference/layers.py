"""Parts that Kimi K2 and Kimi K3 share.

Axes: B batch, T new positions, P cached positions, S = P + T, N = B·T tokens, d hidden size, H heads, E routed experts,
k experts chosen per token. "Lines" without a file name are those of ``transformers`` 5.24.0,
``models/deepseek_v3/modeling_deepseek_v3.py``.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from openmodelatlas.errors import UsageError


class CausalLanguageModelOutput(NamedTuple):
    """What a model returns.

    Attributes:
        logits: [B, T, vocab_size], model dtype: scores of the next token after each new position.
        past_key_values: the cache to hand to the next call, or ``None`` if none was asked for. A cache is never
            changed in place: the one that was handed in stays valid.
    """

    logits: Tensor
    past_key_values: Any


class LatentCache(NamedTuple):
    """What one layer of multi-head latent attention keeps of each position (DeepSeek-V2, arXiv 2405.04434, §2.1.2).

    Attributes:
        key_value_latent: [B, P, kv_lora_rank], normalised, model dtype; keys and values of all heads are made from it.
        shared_key: [B, P, qk_rope_head_dim], model dtype; the part of the key that all heads share, rotated already
            where the model rotates it.
    """

    key_value_latent: Tensor
    shared_key: Tensor


class Linear(nn.Module):
    """A matrix product without a bias: y = x·Wᵀ.

    Its weight [out_features, in_features] is not initialised here, because a model at its true size has up to 250,000
    of these; see :func:`initialise_parameters`.
    """

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(out_features, in_features))

    def forward(self, features: Tensor) -> Tensor:
        """[…, in_features] to […, out_features], dtype of the weight."""
        return functional.linear(features, self.weight)


def uninitialised_embedding(vocabulary_size: int, hidden_size: int) -> nn.Embedding:
    """A table [vocabulary_size, hidden_size] whose values are left to :func:`initialise_parameters`.

    The constructor would draw random values, and on the meta device import a second of code to do so.
    """
    table = torch.empty(vocabulary_size, hidden_size)
    embedding: nn.Embedding = nn.Embedding.from_pretrained(table, freeze=False)  # type: ignore[no-untyped-call]
    return embedding


class RMSNorm(nn.Module):
    """Root-mean-square norm with one gain per feature, computed in float32 (arXiv 1910.07467; lines 37-52).

    The gain is applied after casting back, so in bfloat16 the normalised features are rounded before the gain.

    Attributes:
        weight: [size], the gain.
        eps: added to the mean square, inside the root.
    """

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, features: Tensor) -> Tensor:
        """[…, size] to […, size], same dtype."""
        features_float32 = features.to(torch.float32)
        mean_square = features_float32.square().mean(dim=-1, keepdim=True)
        normalised = features_float32 * torch.rsqrt(mean_square + self.eps)
        return self.weight * normalised.to(features.dtype)


class GatedRMSNorm(nn.Module):
    """RMSNorm of each head's output, times the sigmoid of a gate; all in float32, unlike :class:`RMSNorm`.

    fla-core 0.6.0, ``modules/norm/fused_norm_gate.py`` lines 68-107.
    """

    def __init__(self, size: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))
        self.eps = eps

    def forward(self, features: Tensor, gate: Tensor) -> Tensor:
        """Features and gate, each […, size], to […, size] in the dtype of ``gate``."""
        features_float32 = features.to(torch.float32)
        mean_square = features_float32.square().mean(dim=-1, keepdim=True)
        normalised = features_float32 * torch.rsqrt(mean_square + self.eps)
        gated = normalised * self.weight.to(torch.float32) * gate.to(torch.float32).sigmoid()
        return gated.to(gate.dtype)


def visible_positions(
    query_count: int, cached_count: int, attention_mask: Tensor | None, device: torch.device
) -> Tensor:
    """Which positions each new position may attend to: itself and what came before it, without padding.

    Args:
        query_count: T.
        cached_count: P.
        attention_mask: [B, S], 1 for a token and 0 for padding on the left; ``None`` if nothing is padded.
        device: of the result.

    Returns:
        bool [1 or B, 1, T, S].

    Raises:
        UsageError: ``attention_mask`` has another shape than [B, S].
    """
    key_positions = torch.arange(cached_count + query_count, device=device)
    query_positions = key_positions[cached_count:]
    causal = key_positions.unsqueeze(0) <= query_positions.unsqueeze(1)
    if attention_mask is None:
        return causal.unsqueeze(0).unsqueeze(0)
    if attention_mask.ndim != 2 or attention_mask.shape[1] != cached_count + query_count:
        raise UsageError(
            f"attention_mask has shape {tuple(attention_mask.shape)}, but {cached_count} cached and {query_count} new "
            "positions are attended to.",
            where="attention_mask",
            advice=f"Give it the shape [batch, {cached_count + query_count}].",
        )
    is_token = attention_mask.bool().unsqueeze(1).unsqueeze(1)
    return causal & is_token


def scaled_dot_product_attention(
    queries: Tensor, keys: Tensor, values: Tensor, visible: Tensor, scale: float
) -> Tensor:
    """Softmax attention, the softmax in float32 (arXiv 1706.03762, equation 1; lines 237-259).

    Args:
        queries: [B, H, T, qk_head_dim].
        keys: [B, H, S, qk_head_dim].
        values: [B, H, S, v_head_dim].
        visible: bool [1 or B, 1, T, S], see :func:`visible_positions`.
        scale: multiplies the dot products.

    Returns:
        [B, T, H·v_head_dim], dtype of ``queries``.
    """
    scores = torch.matmul(queries, keys.transpose(2, 3)) * scale
    visible_scores = scores.masked_fill(~visible, torch.finfo(scores.dtype).min)
    probabilities = torch.softmax(visible_scores, dim=-1, dtype=torch.float32)
    head_outputs = torch.matmul(probabilities.to(queries.dtype), values)
    return head_outputs.transpose(1, 2).flatten(start_dim=2)


def keep_best_groups(choice_scores: Tensor, group_count: int, kept_group_count: int) -> Tensor:
    """Shut out all experts but those of the best groups (DeepSeek-V3, arXiv 2412.19437, §2.1.2; lines 138-151).

    A group ranks by the sum of its two best scores, not by its best one.

    Args:
        choice_scores: [N, E] float32, the scores that choose.
        group_count: number of equal groups of neighbouring experts.
        kept_group_count: number of groups that stay.

    Returns:
        [N, E] float32 with -inf for experts of the other groups.
    """
    scores_by_group = choice_scores.view(choice_scores.shape[0], group_count, -1)
    group_scores = scores_by_group.topk(2, dim=-1).values.sum(dim=-1)
    kept_groups = group_scores.topk(kept_group_count, dim=-1, sorted=False).indices
    group_is_kept = torch.zeros_like(group_scores, dtype=torch.bool).scatter(1, kept_groups, True)
    return scores_by_group.masked_fill(~group_is_kept.unsqueeze(-1), float("-inf")).flatten(start_dim=1)


def run_chosen_experts(
    tokens: Tensor, experts: nn.ModuleList, chosen_experts: Tensor, expert_weights: Tensor
) -> Tensor:
    """Weighted sum of the outputs of the experts that each token chose; experts nobody chose do not run.

    The sum is taken in the dtype of the weights, float32, and rounded once (llmcompressor 0.14.0.1,
    ``kimi_k3/modeling_kimi_linear.py`` lines 970-1002).

    Args:
        tokens: [N, features].
        experts: E modules, each [n, features] to [n, features].
        chosen_experts: [N, k] int64, for each token different experts.
        expert_weights: [N, k] float32.

    Returns:
        [N, features], dtype of ``tokens``.
    """
    weighted_sum = torch.zeros_like(tokens, dtype=expert_weights.dtype)
    for expert_index in torch.unique(chosen_experts).tolist():
        token_index, choice_index = torch.where(chosen_experts == expert_index)
        expert_output = experts[expert_index](tokens[token_index])
        expert_weight = expert_weights[token_index, choice_index].unsqueeze(-1)
        weighted_sum = weighted_sum.index_add(0, token_index, expert_output * expert_weight)
    return weighted_sum.to(tokens.dtype)


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """While a model is built: its hundreds of thousands of modules are no garbage, and looking through them is slow.

    Measured on the meta device at the published sizes, seconds of one core: Kimi K2 1.2 instead of 2.8, Kimi K3 4.5
    instead of 12.4.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@torch.no_grad()
def initialise_parameters(model: nn.Module, standard_deviation: float) -> None:
    """Give every parameter but the norms' gains normally distributed values; on the meta device do nothing.

    Args:
        model: the module; its norms keep their ones.
        standard_deviation: ``initializer_range`` of the configuration.
    """
    if any(parameter.is_meta for parameter in model.parameters()):
        return
    gains = {id(module.weight) for module in model.modules() if isinstance(module, RMSNorm | GatedRMSNorm)}
    for parameter in model.parameters():
        if id(parameter) not in gains:
            nn.init.normal_(parameter, std=standard_deviation)
