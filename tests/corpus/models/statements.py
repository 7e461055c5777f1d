"""One small model for each kind of statement that runs operations."""

# ruff: noqa: SIM108, RET504, PLC2401 - written as models are written
from __future__ import annotations

import functools
from collections.abc import Callable

import torch
from torch import nn

from .parts import FeedForward, Norm

Sizes = dict[str, int]


class Comprehension(nn.Module):
    """Several heads, each a projection of its own, in a list comprehension."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.heads = nn.ModuleList(nn.Linear(sizes["hidden_size"], sizes["head_dim"]) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = [head(x).sin() for head in self.heads]
        return torch.cat(parts, dim=-1)


class Sequence(nn.Module):
    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        width, inner = sizes["hidden_size"], sizes["intermediate_size"]
        self.stack = nn.Sequential(nn.Linear(width, inner), nn.SiLU(), nn.Linear(inner, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.stack(x)


class Reused(nn.Module):
    """One module that runs twice."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.shared = nn.Linear(sizes["hidden_size"], sizes["hidden_size"])
        self.norm = Norm(sizes["hidden_size"])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.shared(self.norm(x))
        return self.shared(self.norm(y))


class InPlace(nn.Module):
    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.proj = nn.Linear(sizes["hidden_size"], sizes["hidden_size"])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = torch.zeros_like(x)
        out[..., 0] = x[..., 1]
        out += self.proj(x)
        out.mul_(2.0)
        return out.relu_()


class Recurrence(nn.Module):
    """Goes round once for each token, with a state from round to round."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.proj = nn.Linear(sizes["hidden_size"], sizes["hidden_size"])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = torch.zeros_like(x[:, 0])
        outputs = []
        for t in range(x.shape[1]):
            state = state * 0.9 + self.proj(x[:, t])
            outputs.append(state)
        return torch.stack(outputs, dim=1)


class Tries(nn.Module):
    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.proj = nn.Linear(sizes["hidden_size"], sizes["hidden_size"])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.proj(x)
        try:
            y = y.cos()
            y = torch.cat([y, x[..., :1, 0]])
        except RuntimeError:
            y = y.exp()
        finally:
            y = y + 1
        return y


def logged(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    @functools.wraps(function)
    def wrapper(*args: object, **kwargs: object) -> torch.Tensor:
        return function(*args, **kwargs)

    return wrapper


@logged
def rotate(x: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, dim=-1)
    return torch.cat([-second, first], dim=-1)


class Wrapped(nn.Module):
    """Calls a function through its decorator."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.proj = nn.Linear(sizes["hidden_size"], 2 * sizes["head_dim"])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.proj(x)
        return y + rotate(y)


class Chooses(nn.Module):
    """A layer with conditions in conditions and loops, arms of which are never taken."""

    def __init__(self, sizes: Sizes, layer_idx: int) -> None:
        super().__init__()
        self.layer_idx = layer_idx
        self.debug = False
        self.proj = nn.Linear(sizes["hidden_size"], sizes["hidden_size"])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.layer_idx % 2 == 0:
            if self.layer_idx == 0:
                x = x.sin()
            else:
                x = x.cos()
        elif self.layer_idx == 3:
            x = x.tanh()
        else:
            x = x.exp()
        for step in range(2):
            if step == 1:
                x = x * 2
        if self.debug:
            print(x.mean())
            if x.isnan().any():
                raise ValueError("not a number")
        return self.proj(x)
        x = x - 1
        return x.abs()


class Branches(nn.Module):
    def __init__(self, sizes: Sizes, layers: int = 5) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Chooses(sizes, index) for index in range(layers))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class Nested(nn.Module):
    """Two layers that each hold a longer sequence of modules."""

    def __init__(self, sizes: Sizes, layers: int = 2) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Sequence(sizes) for _ in range(layers))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            x = layer(x)
        return x


class Operands(nn.Module):
    """Expressions whose tensors stand at other places than first: names of ports must follow them."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.proj = nn.Linear(sizes["hidden_size"], sizes["hidden_size"])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scale = 0.5
        größe = self.proj(x)
        scaled = scale * größe
        rest = 1.0 - scaled
        rows = torch.arange(x.shape[0], device=x.device)
        picked = rest[rows]
        out = torch.zeros_like(x)
        added = out.index_add(0, rows, picked)
        return torch.where(x > 0, scaled, other=added) if scale else added


class Selects(nn.Module):
    """Layers that select rows by value; in all but the first every row passes, whatever the values."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Picks(limit) for limit in (0.0, -1e9))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        total = x.sum()
        for layer in self.layers:
            total = total + layer(x)
        return total


class Picks(nn.Module):
    def __init__(self, limit: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))
        self.register_buffer("limit", torch.tensor(limit), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rows = x[x[..., 0] > self.limit]
        return rows.sum() * self.weight


class VaryingRank(nn.Module):
    """Has another number of axes where the width is larger."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.wide = sizes["hidden_size"] > 30
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        index = (0, 0) if self.wide else (0,)
        return x[index].sum() * self.weight


class Chained(nn.Module):
    """Method calls that go over several lines."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.proj = nn.Linear(sizes["hidden_size"], sizes["hidden_size"])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = (
            self.proj(x)
            .topk(2, dim=-1)[0]
            .sum(dim=-1)
        )  # fmt: skip
        return scores


def pair(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    weights = x.softmax(-1)
    return weights * x, weights


class Drops(nn.Module):
    """Uses one of two results."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.proj = nn.Linear(sizes["hidden_size"], sizes["hidden_size"])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept, _ = pair(x)
        return self.proj(kept)


def choosing(module_class: type[nn.Module]) -> type[nn.Module]:
    """A class decorator that wraps ``forward``, as libraries do to choose an implementation."""
    forward = module_class.forward

    @functools.wraps(forward)
    def chosen(self: nn.Module, *args: object, **kwargs: object) -> object:
        return forward(self, *args, **kwargs)

    module_class.forward = chosen
    return module_class


@choosing
class Chosen(nn.Module):
    """Doubles and shifts."""

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        doubled = hidden_states * 2
        return doubled + 1


class WrappedForward(nn.Module):
    """A module whose class is decorated."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.chosen = Chosen()
        self.project = nn.Linear(sizes["hidden_size"], sizes["hidden_size"])

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        return self.project(self.chosen(hidden_states))


class CalledAgain(nn.Module):
    """The first layer runs once more, outside the loop over all layers."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        width, inner = sizes["hidden_size"], sizes["intermediate_size"]
        self.layers = nn.ModuleList(FeedForward(width, inner) for _ in range(3))

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        hidden_states = self.layers[0](hidden_states)
        for layer in self.layers:
            hidden_states = hidden_states + layer(hidden_states)
        return hidden_states


class Delegates(nn.Module):
    """Its ``forward`` only calls another method of its own."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(sizes["hidden_size"]))

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        return self._scaled(hidden_states)

    def _scaled(self, hidden_states: torch.Tensor) -> torch.Tensor:
        shifted = hidden_states + 1
        return shifted * self.scale


class Delegating(nn.Module):
    """One layer kind that hands on to another method."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Delegates(sizes) for _ in range(3))

    def forward(self, hidden_states: torch.Tensor) -> torch.Tensor:
        for layer in self.layers:
            hidden_states = layer(hidden_states)
        return hidden_states
