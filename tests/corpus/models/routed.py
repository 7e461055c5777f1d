"""Experts on tokens sorted by expert, whose results are collected in a list and weighed in place."""

from __future__ import annotations

import torch
from torch import nn

from .mixture import Router
from .parts import FeedForward, Norm


class SortedExperts(nn.Module):
    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        width, count = sizes["hidden_size"], sizes["num_experts"]
        self.router = Router(width, count, sizes["num_experts_per_tok"])
        self.experts = nn.ModuleList(FeedForward(width, sizes["moe_intermediate_size"]) for _ in range(count))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.reshape(-1, x.shape[-1])
        weights, chosen = self.router(flat)
        weights = weights.float()
        order = chosen.view(-1).argsort()
        tokens = flat[order // chosen.shape[1]]
        collected = []
        start = 0
        for index, count in enumerate(torch.bincount(chosen.view(-1), minlength=len(self.experts)).tolist()):
            if count == 0:
                continue
            collected.append(self.experts[index](tokens[start : start + count]))
            start += count
        gathered = torch.empty_like(tokens)
        gathered[order] = torch.cat(collected)
        # In float32 the cast makes no copy, so that this writes into ``gathered``; in bfloat16 it does not.
        mixed = gathered.view(*chosen.shape, -1).to(weights.dtype).mul_(weights.unsqueeze(-1)).sum(1)
        return mixed.to(x.dtype).view(x.shape)


class Layer(nn.Module):
    def __init__(self, sizes: dict[str, int], dense: bool) -> None:
        super().__init__()
        self.norm = Norm(sizes["hidden_size"])
        self.mlp = FeedForward(sizes["hidden_size"], sizes["moe_intermediate_size"]) if dense else SortedExperts(sizes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.mlp(self.norm(x))


class Routed(nn.Module):
    """One dense layer, then layers of experts."""

    def __init__(self, sizes: dict[str, int], layers: int = 6) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(sizes, dense=index == 0) for index in range(layers))

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            hidden_states = layer(hidden_states)
        return hidden_states
