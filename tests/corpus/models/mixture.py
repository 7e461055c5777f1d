"""Mixtures of experts: those that the data hits, run one after the other; weights in a list or in one tensor."""

from __future__ import annotations

import torch
from torch import nn

from .parts import FeedForward, Norm


class Router(nn.Module):
    def __init__(self, width: int, experts: int, top_k: int) -> None:
        super().__init__()
        self.top_k = top_k
        self.weight = nn.Parameter(torch.empty(experts, width))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        scores = torch.nn.functional.linear(x, self.weight).softmax(-1)
        weights, chosen = scores.topk(self.top_k, dim=-1)
        return weights, chosen


class ListedExperts(nn.Module):
    """One module for each expert."""

    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        width, count = sizes["hidden_size"], sizes["num_experts"]
        self.count = count
        self.router = Router(width, count, sizes["num_experts_per_tok"])
        self.experts = nn.ModuleList(FeedForward(width, sizes["moe_intermediate_size"]) for _ in range(count))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.reshape(-1, x.shape[-1])
        weights, chosen = self.router(flat)
        out = torch.zeros_like(flat)
        hit = torch.bincount(chosen.flatten(), minlength=self.count)
        for index, expert in enumerate(self.experts):
            if hit[index] == 0:
                continue
            rows, slots = torch.where(chosen == index)
            out.index_add_(0, rows, expert(flat[rows]) * weights[rows, slots, None])
        return out.view(x.shape)


class StackedExperts(nn.Module):
    """The weights of all experts in one tensor with three axes."""

    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        width, inner, count = sizes["hidden_size"], sizes["moe_intermediate_size"], sizes["num_experts"]
        self.router = Router(width, count, sizes["num_experts_per_tok"])
        self.up = nn.Parameter(torch.empty(count, inner, width))
        self.down = nn.Parameter(torch.empty(count, width, inner))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.reshape(-1, x.shape[-1])
        weights, chosen = self.router(flat)
        out = torch.zeros_like(flat)
        for expert_idx in chosen.unique().tolist():
            rows, slots = torch.where(chosen == expert_idx)
            inner = torch.relu(flat[rows] @ self.up[expert_idx].T)
            current = (inner @ self.down[expert_idx].T) * weights[rows, slots, None]
            out.index_add_(0, rows, current)
        return out.view(x.shape)


class Layer(nn.Module):
    def __init__(self, sizes: dict[str, int], stacked: bool, dense: bool) -> None:
        super().__init__()
        self.norm = Norm(sizes["hidden_size"])
        if dense:
            self.mlp = FeedForward(sizes["hidden_size"], sizes["moe_intermediate_size"])
        else:
            self.mlp = StackedExperts(sizes) if stacked else ListedExperts(sizes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.mlp(self.norm(x))


class Mixture(nn.Module):
    """One dense layer, then mixtures."""

    def __init__(self, sizes: dict[str, int], layers: int = 3, stacked: bool = False) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(sizes, stacked, dense=index == 0) for index in range(layers))

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            hidden_states = layer(hidden_states)
        return hidden_states
