"""Stacks of layers of a few kinds, in any order: what a fold has to tell apart, and what it must not."""

# ruff: noqa: SIM108 - written as models are written
from __future__ import annotations

import torch
from torch import nn

from .parts import FeedForward, Norm, causal


class Linear(nn.Module):
    """Mixes tokens without a softmax."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.key, self.value = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (torch.relu(self.key(x)) * self.value(x)).cumsum(1)


class Full(nn.Module):
    """Mixes tokens with a softmax."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.key, self.value = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = x @ self.key(x).mT
        return scores.masked_fill(~causal(x.shape[1], x.device), -1e9).softmax(-1) @ self.value(x)


def plain(layer: Layer, x: torch.Tensor) -> torch.Tensor:
    return x + layer.mixer(layer.norm(x))


class Layer(nn.Module):
    """A layer whose kind is one letter.

    ``l`` linear and ``f`` full mixers; ``s`` scales its output, ``S`` by another number; ``n`` adds nothing; ``b``
    takes the other arm of a condition; ``m`` has a feed-forward for a mixer; ``w`` is a wider one of those.
    """

    def __init__(self, sizes: dict[str, int], kind: str, layer_idx: int) -> None:
        super().__init__()
        width = sizes["hidden_size"]
        self.layer_idx = layer_idx
        self.kind = kind
        self.scale = {"s": 0.5, "S": 0.25}.get(kind)
        self.residual = kind != "n"
        self.norm = Norm(width)
        if kind == "m":
            self.mixer: nn.Module = FeedForward(width, sizes["intermediate_size"])
        elif kind == "w":
            self.mixer = FeedForward(width, 2 * sizes["intermediate_size"])
        else:
            self.mixer = Linear(width) if kind == "l" else Full(width)

    def forward(self, x: torch.Tensor, layer_idx: int) -> torch.Tensor:
        update = self.mixer(self.norm(x))
        if self.scale is not None:
            update = torch.mul(update, self.scale)
        if self.kind == "b":
            update = torch.tanh(update)
        if self.residual:
            return x + update
        return update


class Stack(nn.Module):
    """Layers of the given kinds, one after the other."""

    def __init__(self, sizes: dict[str, int], kinds: str) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(sizes, kind, index) for index, kind in enumerate(kinds))
        self.norm = Norm(sizes["hidden_size"])

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        for index, layer in enumerate(self.layers):
            hidden_states = layer(hidden_states, layer_idx=index)
        return self.norm(hidden_states)


class Argued(nn.Module):
    """Equal layers that are handed different arguments."""

    def __init__(self, sizes: dict[str, int], arguments: list[object]) -> None:
        super().__init__()
        self.arguments = arguments
        self.layers = nn.ModuleList(Told(sizes) for _ in arguments)

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        for layer, argument in zip(self.layers, self.arguments, strict=True):
            hidden_states = layer(hidden_states, argument)
        return hidden_states


class Told(nn.Module):
    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        self.proj = nn.Linear(sizes["hidden_size"], sizes["hidden_size"])

    def forward(self, x: torch.Tensor, told: object) -> torch.Tensor:
        return x + self.proj(x).sin()


class Growing(nn.Module):
    """A state that every layer lengthens, and attends over, as attention residuals do."""

    def __init__(self, sizes: dict[str, int], layers: int = 4) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Stores(sizes) for _ in range(layers))

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        stored = hidden_states.unsqueeze(1)
        for layer in self.layers:
            hidden_states, stored = layer(hidden_states, stored)
        return hidden_states


class Stores(nn.Module):
    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        self.proj = nn.Linear(sizes["hidden_size"], sizes["hidden_size"])
        self.query = nn.Linear(sizes["hidden_size"], 1)

    def forward(self, x: torch.Tensor, stored: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x = x + self.proj(x)
        stored = torch.cat([stored, x.unsqueeze(1)], dim=1)
        weights = self.query(stored).softmax(1)
        return (weights * stored).sum(1), stored


class FirstWithoutResidual(nn.Module):
    """Hands on a residual beside the update; the first layer has none to add."""

    def __init__(self, sizes: dict[str, int], layers: int = 4) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Adds(sizes) for _ in range(layers))

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        residual = None
        for layer in self.layers:
            hidden_states, residual = layer(hidden_states, residual)
        return hidden_states + residual


class Adds(nn.Module):
    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        self.norm = Norm(sizes["hidden_size"])
        self.proj = nn.Linear(sizes["hidden_size"], sizes["hidden_size"])

    def forward(self, x: torch.Tensor, residual: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
        if residual is None:
            residual = x
        else:
            residual = residual + x
        return self.proj(self.norm(residual)), residual


class Axes(nn.Module):
    """Layers that normalise over one axis or another."""

    def __init__(self, sizes: dict[str, int], axes: list[int]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Normalises(sizes, axis) for axis in axes)

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            hidden_states = layer(hidden_states)
        return hidden_states


class Normalises(nn.Module):
    def __init__(self, sizes: dict[str, int], axis: int) -> None:
        super().__init__()
        self.axis = axis
        self.proj = nn.Linear(sizes["hidden_size"], sizes["hidden_size"])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.proj(x).softmax(self.axis)


class Counts(nn.Module):
    """Layers that hand on a number which depends on values."""

    def __init__(self, sizes: dict[str, int], layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Hits(sizes) for _ in range(layers))

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            hidden_states = layer(hidden_states)
        return hidden_states


class Hits(nn.Module):
    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        self.proj = nn.Linear(sizes["hidden_size"], sizes["hidden_size"])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.proj(x)
        count = int((y > 0).sum())
        return x + torch.div(y, count)
