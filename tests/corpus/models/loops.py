"""Loops whose rounds follow sizes, and loops whose rounds follow values although every probe sees the same number."""

from __future__ import annotations

import torch
from torch import nn

Sizes = dict[str, int]


def spread(flat: torch.Tensor, experts: int) -> torch.Tensor:
    """An expert for each token, by its rank: values decide which, and every expert gets some."""
    return flat[:, 0].argsort() % experts


class Experts(nn.Module):
    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.count = sizes["num_experts"]
        self.weight = nn.Parameter(torch.empty(self.count, sizes["hidden_size"], sizes["hidden_size"]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        flat = x.flatten(0, 1)
        return x + self.mix(flat, spread(flat, self.count)).view(x.shape)


class ChosenExperts(Experts):
    """Goes round for those that were hit."""

    def mix(self, flat: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
        out = torch.zeros_like(flat)
        for expert in chosen.unique().tolist():
            (rows,) = torch.where(chosen == expert)
            out.index_add_(0, rows, flat[rows] @ self.weight[expert])
        return out


class CountedTokens(Experts):
    """Goes round for those that were hit, which Python numbers tell."""

    def mix(self, flat: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
        out = torch.zeros_like(flat)
        tokens = torch.bincount(chosen, minlength=self.count).cpu().numpy()
        for expert, number in enumerate(tokens):
            if number == 0:
                continue
            (rows,) = torch.where(chosen == expert)
            out.index_add_(0, rows, flat[rows] @ self.weight[expert])
        return out


class AllExperts(Experts):
    """Goes round for all, hit or not."""

    def mix(self, flat: torch.Tensor, chosen: torch.Tensor) -> torch.Tensor:
        out = torch.zeros_like(flat)
        for expert in range(self.count):
            (rows,) = torch.where(chosen == expert)
            out.index_add_(0, rows, flat[rows] @ self.weight[expert])
        return out


class Chunked(nn.Module):
    """Works in chunks of tokens; with ``most``, only if there are no more tokens than that."""

    def __init__(self, sizes: Sizes, length: int = 4, most: int = 10**6) -> None:
        super().__init__()
        self.length, self.most = length, most
        self.proj = nn.Linear(sizes["hidden_size"], sizes["hidden_size"])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.shape[1] > self.most:
            return self.proj(x)
        parts = []
        for start in range(0, x.shape[1], self.length):
            parts.append(self.proj(x[:, start : start + self.length]))
        return torch.cat(parts, 1)


class Asks(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * float(x.abs().max().item())


class AsksBefore(nn.Module):
    """A loop over tokens behind a module that asks for a value."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.asks = Asks()
        self.proj = nn.Linear(sizes["hidden_size"], sizes["hidden_size"])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.asks(x)
        state = torch.zeros_like(x[:, 0])
        for position in range(x.shape[1]):
            state = torch.tanh(self.proj(state) + x[:, position])
        return state


class AsksBetween(AsksBefore):
    """The same, asking in the rounds."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = torch.zeros_like(x[:, 0])
        for position in range(x.shape[1]):
            state = self.asks(torch.tanh(self.proj(state) + x[:, position]))
        return state


class Once(nn.Module):
    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.proj = nn.Linear(sizes["hidden_size"], sizes["hidden_size"])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(1):
            x = torch.sin(self.proj(x))
        return x
