"""Models that use parts of torch that a capture leaves out until somebody asks for them."""

from __future__ import annotations

import sympy
import torch
import torch._dynamo
import torch.utils.checkpoint
from torch import nn


class Kernels(nn.Module):
    """Needs torch's kernels in Python: for a function on the meta device, and by their own names."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.project = nn.Linear(hidden_size, hidden_size)
        seeded = torch.Generator().manual_seed(1)
        self.register_buffer("noise", torch.randn(hidden_size, generator=seeded))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        mask = torch.empty(x.shape[-1], device="meta") > 0
        kept = torch.where(mask, mask, mask).shape[0]
        return self.project(x) * kept + torch.ops.prims.mul(x, x) * self.noise


class Imports(nn.Module):
    """Asks for whole libraries in the middle of its computation."""

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.project = nn.Linear(hidden_size, hidden_size)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        n = sympy.Symbol("n")
        x = self.project(x) * int((n * 2).subs(n, 3))
        torch._dynamo.reset()
        from torch.fx.experimental.symbolic_shapes import ShapeEnv

        x = x + (1 if ShapeEnv() is not None else 2)
        return torch.utils.checkpoint.checkpoint(torch.sin, x, use_reentrant=False)


def kernels(hidden_size: int = 32) -> tuple[nn.Module, tuple[torch.Tensor]]:
    return Kernels(hidden_size), (torch.randn(2, 5, hidden_size),)


def imports(hidden_size: int = 32) -> tuple[nn.Module, tuple[torch.Tensor]]:
    return Imports(hidden_size), (torch.randn(2, 5, hidden_size),)
