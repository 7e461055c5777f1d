"""A small decoder in plain torch: two blocks, learned positions, one tied head. Built by the tests as a factory."""

from __future__ import annotations

import os

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, hidden_size: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.query_key_value = nn.Linear(hidden_size, 3 * hidden_size)
        self.output = nn.Linear(hidden_size, hidden_size)

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        batch, tokens, width = hidden_states.shape
        mixed = self.query_key_value(hidden_states).view(batch, tokens, 3, self.heads, width // self.heads)
        query, key, value = mixed.permute(2, 0, 3, 1, 4)
        scores = query @ key.transpose(-1, -2) * (width // self.heads) ** -0.5
        mask = torch.ones(tokens, tokens, dtype=torch.bool, device=scores.device).tril()
        weights = scores.masked_fill(~mask, float("-inf")).softmax(-1)
        return self.output((weights @ value).transpose(1, 2).reshape(batch, tokens, width))


class Block(nn.Module):
    def __init__(self, hidden_size: int, heads: int, inner_size: int) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(hidden_size)
        self.attention = Attention(hidden_size, heads)
        self.mlp_norm = nn.LayerNorm(hidden_size)
        self.up = nn.Linear(hidden_size, inner_size)
        self.down = nn.Linear(inner_size, hidden_size)

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        hidden_states = hidden_states + self.attention(self.attention_norm(hidden_states))
        return hidden_states + self.down(torch.relu(self.up(self.mlp_norm(hidden_states))))


class TinyTransformer(nn.Module):
    def __init__(self, vocab_size: int, hidden_size: int, heads: int, inner_size: int, layers: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, hidden_size)
        self.layers = nn.ModuleList(Block(hidden_size, heads, inner_size) for _ in range(layers))
        self.norm = nn.LayerNorm(hidden_size)
        self.head = nn.Linear(hidden_size, vocab_size, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        hidden_states = self.embedding(input_ids)
        for layer in self.layers:
            hidden_states = layer(hidden_states)
        return self.head(self.norm(hidden_states))


def tiny(
    vocab_size: int = 1000, hidden_size: int = 64, num_attention_heads: int = 4, intermediate_size: int = 256
) -> nn.Module:
    return TinyTransformer(vocab_size, hidden_size, num_attention_heads, intermediate_size, layers=2)


def broken(hidden_size: int = 64) -> nn.Module:
    raise RuntimeError(f"a model of width {hidden_size} is too wide")


def leaving(hidden_size: int = 64) -> nn.Module:
    print("first\nlast", flush=True)
    os._exit(0)
