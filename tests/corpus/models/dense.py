"""Transformers of equal blocks: with an untied or tied head, with blocks whose mask differs, with a cache."""

from __future__ import annotations

import torch
from torch import nn

from .parts import Attention, FeedForward, Norm, causal


class Block(nn.Module):
    def __init__(self, sizes: dict[str, int], layer_idx: int) -> None:
        super().__init__()
        self.layer_idx = layer_idx
        self.input_norm = Norm(sizes["hidden_size"])
        self.self_attn = Attention(sizes["hidden_size"], sizes["num_heads"], sizes["head_dim"])
        self.post_norm = Norm(sizes["hidden_size"])
        self.mlp = FeedForward(sizes["hidden_size"], sizes["intermediate_size"])

    def forward(self, hidden_states: torch.Tensor, mask: torch.Tensor, layer_idx: int) -> torch.Tensor:
        hidden_states = hidden_states + self.self_attn(self.input_norm(hidden_states), mask)
        return hidden_states + self.mlp(self.post_norm(hidden_states))


class Body(nn.Module):
    def __init__(self, sizes: dict[str, int], layers: int) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(sizes["vocab_size"], sizes["hidden_size"])
        self.layers = nn.ModuleList(Block(sizes, index) for index in range(layers))
        self.norm = Norm(sizes["hidden_size"])

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        hidden_states = self.embed_tokens(input_ids)
        mask = causal(input_ids.shape[1], input_ids.device)
        for index, layer in enumerate(self.layers):
            hidden_states = layer(hidden_states, mask, index)
        return self.norm(hidden_states)


class Dense(nn.Module):
    def __init__(self, sizes: dict[str, int], layers: int = 4, tied: bool = False) -> None:
        super().__init__()
        self.model = Body(sizes, layers)
        self.lm_head = nn.Linear(sizes["hidden_size"], sizes["vocab_size"], bias=False)
        if tied:
            self.lm_head.weight = self.model.embed_tokens.weight

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        return self.lm_head(self.model(input_ids))


class Windowed(nn.Module):
    """Blocks that differ in nothing but the mask they read."""

    def __init__(self, sizes: dict[str, int], kinds: str = "wfwf") -> None:
        super().__init__()
        self.kinds = kinds
        self.layers = nn.ModuleList(Block(sizes, index) for index in range(len(kinds)))

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        full = causal(hidden_states.shape[1], hidden_states.device)
        masks = {"f": full, "w": full & full.mT.triu(-2).mT.triu(-3)}
        for index, layer in enumerate(self.layers):
            hidden_states = layer(hidden_states, masks[self.kinds[index]], index)
        return hidden_states


class CachedAttention(nn.Module):
    def __init__(self, sizes: dict[str, int], layer_idx: int) -> None:
        super().__init__()
        self.layer_idx = layer_idx
        self.qkv = nn.Linear(sizes["hidden_size"], 3 * sizes["head_dim"])
        self.out = nn.Linear(sizes["head_dim"], sizes["hidden_size"])

    def forward(self, x: torch.Tensor, cache: Cache) -> torch.Tensor:
        query, key, value = self.qkv(x).chunk(3, dim=-1)
        key, value = cache.update(key, value, self.layer_idx)
        weights = (query @ key.transpose(-1, -2)).softmax(-1)
        return x + self.out(weights @ value)


class Cache:
    def __init__(self) -> None:
        self.keys: list[torch.Tensor] = []
        self.values: list[torch.Tensor] = []

    def update(self, key: torch.Tensor, value: torch.Tensor, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        if len(self.keys) <= index:
            self.keys.append(key)
            self.values.append(value)
        else:
            self.keys[index] = torch.cat([self.keys[index], key], dim=1)
            self.values[index] = torch.cat([self.values[index], value], dim=1)
        return self.keys[index], self.values[index]


class Cached(nn.Module):
    """Returns its cache, so that a decode step can follow."""

    def __init__(self, sizes: dict[str, int], layers: int = 3) -> None:
        super().__init__()
        self.embed = nn.Embedding(sizes["vocab_size"], sizes["hidden_size"])
        self.layers = nn.ModuleList(CachedAttention(sizes, index) for index in range(layers))
        self.head = nn.Linear(sizes["hidden_size"], sizes["vocab_size"])

    def forward(self, input_ids: torch.Tensor, cache: Cache | None = None) -> tuple[torch.Tensor, Cache]:
        cache = Cache() if cache is None else cache
        x = self.embed(input_ids)
        for layer in self.layers:
            x = layer(x, cache)
        return self.head(x), cache
