"""Models that do what few do, and nothing wrong."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import nn

NAMES: dict[str, object] = {}
exec(compile("\n" * 10_000 + "def double(x):\n    return x * 2", __file__, "exec"), NAMES)


class OtherText(nn.Module):
    """Runs a function that was compiled from text under the name of this file, on a line that it does not have."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.project = nn.Linear(hidden_size, hidden_size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return NAMES["double"](self.project(x))  # type: ignore[operator,no-any-return]


class Layer(nn.Module):
    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.project = nn.Linear(hidden_size, hidden_size)

    def forward(self, x: torch.Tensor, given: Mapping[str, torch.Tensor]) -> torch.Tensor:
        return x + self.project(given["tensor"])


class NamedTensor(nn.Module):
    """Hands its layers a tensor under the name by which recordings know tensors, and other such names."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Layer(hidden_size) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x, {"tensor": x * 2, "list": x})
        return torch.split(tensor=x, split_size_or_sections=1)[0]


class Halves(nn.Module):
    """Writes to one of two views of a tensor that it reads whole afterwards."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.project = nn.Linear(hidden_size, 2 * hidden_size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.project(x)
        first, second = y.chunk(2, -1)
        first += second
        return y.sin()


class Renamed(nn.Module):
    """The forward of its layers has another name, and so has its own; a hook of its own ends what it computes."""

    class Layer(nn.Module):
        def __init__(self, hidden_size: int) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(hidden_size))

        def run(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.scale

        forward = run

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(self.Layer(hidden_size) for _ in range(3))
        self.shift = nn.Parameter(torch.zeros(hidden_size))
        self.register_forward_hook(self.after)

    def run(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x + self.shift

    forward = run

    def after(self, module: nn.Module, given: object, result: torch.Tensor) -> torch.Tensor:
        return result.cos()


class Closure(nn.Module):
    """Nothing tells that the function that runs is the forward of this module."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(hidden_size))
        self.forward = lambda x: x * self.scale


class Held(nn.Module):
    """Takes tensors in a tuple, by position only, what is no tensor, and what a hook makes of it; gives a pair."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.project = nn.Linear(hidden_size, hidden_size)
        self.register_forward_pre_hook(lambda module, given: (*given[:2], 3))

    def forward(
        self, pair: tuple[torch.Tensor, torch.Tensor], mask: torch.Tensor | None, power: int, /, **more: object
    ) -> tuple[torch.Tensor, tuple[torch.Tensor]]:
        x, y = pair
        y = self.project(y, **more) ** power
        return x + y, (y,)


def other_text(hidden_size: int = 32) -> tuple[nn.Module, tuple[torch.Tensor]]:
    return OtherText(hidden_size), (torch.randn(2, 5, hidden_size),)


def named_tensor(hidden_size: int = 32) -> tuple[nn.Module, tuple[torch.Tensor]]:
    return NamedTensor(hidden_size), (torch.randn(2, 5, hidden_size),)


def halves(hidden_size: int = 32) -> tuple[nn.Module, tuple[torch.Tensor]]:
    return Halves(hidden_size), (torch.randn(2, 5, hidden_size),)


def renamed(hidden_size: int = 32) -> tuple[nn.Module, tuple[torch.Tensor]]:
    return Renamed(hidden_size), (torch.randn(2, 5, hidden_size),)


def closure(hidden_size: int = 32) -> tuple[nn.Module, tuple[torch.Tensor]]:
    return Closure(hidden_size), (torch.randn(2, 5, hidden_size),)


def held(hidden_size: int = 32) -> tuple[nn.Module, tuple[object, ...]]:
    return Held(hidden_size), ((torch.randn(2, 5, hidden_size), torch.randn(2, 1, hidden_size)), None, 2)
