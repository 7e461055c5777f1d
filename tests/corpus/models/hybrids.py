"""Stacks in the manner of published models whose layers alternate: masks, windows, mixers, stored sums."""

# ruff: noqa: SIM108 - written as models are written
from __future__ import annotations

import torch
from torch import nn

from .mixture import StackedExperts
from .parts import Attention, FeedForward, Norm, causal

Sizes = dict[str, int]


class Block(nn.Module):
    def __init__(self, sizes: Sizes, mlp: nn.Module) -> None:
        super().__init__()
        width = sizes["hidden_size"]
        self.norm, self.post = Norm(width), Norm(width)
        self.attention = Attention(width, sizes["num_heads"], sizes["head_dim"])
        self.mlp = mlp

    def forward(self, x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.norm(x), mask)
        return x + self.mlp(self.post(x))


class AlternatingMasks(nn.Module):
    """As in gpt-oss: the same layers, every other one with a sliding mask, made before all layers; experts."""

    def __init__(self, sizes: Sizes, layers: int = 6) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Block(sizes, StackedExperts(sizes)) for _ in range(layers))
        self.kinds = ["sliding" if index % 2 == 0 else "full" for index in range(layers)]
        self.norm = Norm(sizes["hidden_size"])

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        full = causal(hidden_states.shape[1], hidden_states.device)
        masks = {"full": full, "sliding": full.triu(-2)}
        for kind, layer in zip(self.kinds, self.layers, strict=True):
            hidden_states = layer(hidden_states, masks[kind])
        return self.norm(hidden_states)


class Windowed(nn.Module):
    """As in Gemma: five layers with a window, then one without; a window is a number in the attention's arguments."""

    def __init__(self, sizes: Sizes, layers: int = 13) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            WindowedBlock(sizes, None if (index + 1) % 6 == 0 else 3, index) for index in range(layers)
        )
        self.norm = Norm(sizes["hidden_size"])

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        hidden_states = hidden_states * hidden_states.shape[-1] ** 0.5
        for layer in self.layers:
            hidden_states = layer(hidden_states)
        return self.norm(hidden_states)


class WindowedBlock(nn.Module):
    def __init__(self, sizes: Sizes, window: int | None, layer_idx: int) -> None:
        super().__init__()
        width = sizes["hidden_size"]
        self.window, self.layer_idx = window, layer_idx
        self.before, self.after = Norm(width), Norm(width)
        self.key = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.after(attend(self.before(x), self.key, window=self.window, layer_idx=self.layer_idx))


def attend(x: torch.Tensor, key: nn.Module, window: int | None, layer_idx: int) -> torch.Tensor:
    mask = causal(x.shape[1], x.device)
    if window is not None:
        mask = mask.triu(1 - window)
    return (x @ key(x).mT).masked_fill(~mask, -1e9).softmax(-1) @ x


class AttentionResiduals(nn.Module):
    """As in Kimi K3: one mixer in four is another, some layers store the running sum, all attend over those."""

    def __init__(self, sizes: Sizes, layers: int = 14) -> None:
        super().__init__()
        self.layers = nn.ModuleList(StoringBlock(sizes, index) for index in range(layers))
        self.norm = Norm(sizes["hidden_size"])

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        stored: list[torch.Tensor] = []
        for layer in self.layers:
            hidden_states = layer(hidden_states, stored)
        return self.norm(torch.stack(stored, 2).sum(2) + hidden_states)


class StoringBlock(nn.Module):
    def __init__(self, sizes: Sizes, layer_idx: int) -> None:
        super().__init__()
        width = sizes["hidden_size"]
        self.layer_idx = layer_idx
        self.stores = layer_idx % 6 == 0
        self.norm = Norm(width)
        self.query = nn.Linear(width, 1, bias=False)
        self.linear = layer_idx % 4 != 3
        self.proj = nn.Linear(width, width)
        self.mlp = FeedForward(width, sizes["intermediate_size"]) if layer_idx == 0 else StackedExperts(sizes)

    def forward(self, x: torch.Tensor, stored: list[torch.Tensor]) -> torch.Tensor:
        if self.stores:
            stored.append(x)
        states = torch.stack([*stored, x], 2)
        x = (states * self.query(states).softmax(2)).sum(2)
        y = self.norm(x)
        if self.linear:
            y = torch.relu(self.proj(y)).cumsum(1)
        else:
            y = (y @ self.proj(y).mT).softmax(-1) @ y
        x = x + y
        return x + self.mlp(self.norm(x))
