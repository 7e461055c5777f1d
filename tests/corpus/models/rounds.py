"""Loops whose rounds run no layers: over tensors of several ranks, over kinds of layers, over steps."""

# ruff: noqa: SIM108 - written as models are written
from __future__ import annotations

import torch
from torch import nn

Sizes = dict[str, int]


def padded(tensor: torch.Tensor) -> torch.Tensor:
    if len(tensor.shape) == 4:
        edge = (0, 0, 0, 0, 0, 1)
    else:
        edge = (0, 0, 0, 1)
    return nn.functional.pad(tensor, edge)


class Pads(nn.Module):
    """Pads four tensors in a comprehension; the last two have as many axes as each other and other sources."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        width = sizes["hidden_size"]
        self.left, self.right = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = x.sin().unflatten(-1, (2, -1))
        left, right = self.left(x).cos(), self.right(x).exp()
        heads, x, left, right = [padded(tensor) for tensor in (heads, x, left, right)]
        return (heads.flatten(2) + x * left * right)[:, 1:]


class PadsInLayers(nn.Module):
    """The same in every layer."""

    def __init__(self, sizes: Sizes, layers: int = 6) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Pads(sizes) for _ in range(layers))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


def table(x: torch.Tensor, kind: str) -> torch.Tensor:
    if kind == "sliding":
        return x.mean(1, keepdim=True).sin()
    return x.amax(1, keepdim=True).cos()


class Reads(nn.Module):
    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.proj = nn.Linear(sizes["hidden_size"], sizes["hidden_size"])

    def forward(self, x: torch.Tensor, offsets: torch.Tensor) -> torch.Tensor:
        return x + self.proj(x) * offsets


class TableForEachKind(nn.Module):
    """A table for each kind of layer, made in a loop before the layers."""

    def __init__(self, sizes: Sizes, kinds: str = "sffsff") -> None:
        super().__init__()
        self.kinds = [{"s": "sliding", "f": "full"}[letter] for letter in kinds]
        self.layers = nn.ModuleList(Reads(sizes) for _ in kinds)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        tables = {}
        for kind in ("full", "sliding"):
            tables[kind] = table(x, kind).expand(x.shape)
        for layer, kind in zip(self.layers, self.kinds, strict=True):
            x = layer(x, tables[kind])
        return x


class Steps(nn.Module):
    """Goes round three times through two layers; nothing tells the rounds apart."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Reads(sizes) for _ in range(2))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(3):
            x = x * 0.5
            for layer in self.layers:
                x = layer(x, x)
        return x
