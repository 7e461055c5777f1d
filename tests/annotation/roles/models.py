"""Models whose roles the tests know: a rotary transformer, a router with a bias, a delta rule, stored sums.

Every name in this file may be replaced by another one (``renaming.py``), except those of torch and of the sizes.
"""

from __future__ import annotations

import torch
from torch import nn


class Norm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))
        self.epsilon = 1e-6

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        wide = features.to(torch.float32)
        variance = wide.pow(2).mean(-1, keepdim=True)
        scaled = wide * torch.rsqrt(variance + self.epsilon)
        return self.gain * scaled.to(features.dtype)


class Rotary(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("rates", 10000.0 ** (-torch.arange(0, width, 2).float() / width), persistent=False)

    def forward(self, count: int, kind: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
        places = torch.arange(count)
        turns = places[:, None] * self.rates
        doubled = torch.cat((turns, turns), dim=-1)
        return doubled.cos().to(kind), doubled.sin().to(kind)


def swap_halves(features: torch.Tensor) -> torch.Tensor:
    left = features[..., : features.shape[-1] // 2]
    right = features[..., features.shape[-1] // 2 :]
    return torch.cat((-right, left), dim=-1)


def turn(features: torch.Tensor, table: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    return features * table[0] + swap_halves(features) * table[1]


class Attention(nn.Module):
    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        width, count, each = sizes["hidden_size"], sizes["num_heads"], sizes["head_dim"]
        self.count, self.each = count, each
        self.ask = nn.Linear(width, count * each, bias=False)
        self.offer = nn.Linear(width, count * each, bias=False)
        self.carry = nn.Linear(width, count * each, bias=False)
        self.back = nn.Linear(count * each, width, bias=False)
        self.valve = nn.Linear(width, count * each, bias=False)

    def heads(self, features: torch.Tensor) -> torch.Tensor:
        return features.view(features.shape[0], features.shape[1], self.count, self.each).transpose(1, 2)

    def forward(
        self, features: torch.Tensor, table: tuple[torch.Tensor, torch.Tensor], hidden: torch.Tensor
    ) -> torch.Tensor:
        asked = turn(self.heads(self.ask(features)), table)
        offered = turn(self.heads(self.offer(features)), table)
        carried = self.heads(self.carry(features))
        match = torch.matmul(asked, offered.transpose(2, 3)) * self.each**-0.5
        shares = torch.softmax(match + hidden, dim=-1).to(features.dtype)
        blend = torch.matmul(shares, carried).transpose(1, 2)
        joined = blend.reshape(features.shape[0], features.shape[1], self.count * self.each)
        return self.back(joined * torch.sigmoid(self.valve(features)))


class Network(nn.Module):
    def __init__(self, width: int, inner: int) -> None:
        super().__init__()
        self.first = nn.Linear(width, inner, bias=False)
        self.second = nn.Linear(width, inner, bias=False)
        self.third = nn.Linear(inner, width, bias=False)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        return self.third(torch.nn.functional.silu(self.first(features)) * self.second(features))


class Choice(nn.Module):
    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        self.best = sizes["num_experts_per_tok"]
        self.matrix = nn.Parameter(torch.empty(sizes["num_experts"], sizes["hidden_size"]))
        self.nudge = nn.Parameter(torch.empty(sizes["num_experts"]))

    def forward(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        raw = torch.nn.functional.linear(rows, self.matrix)
        worth = raw.sigmoid()
        nudged = worth + self.nudge
        picked = nudged.topk(self.best, dim=-1)[1]
        shares = worth.gather(1, picked)
        shares = shares / (shares.sum(dim=-1, keepdim=True) + 1e-20)
        return picked, shares * 2.5


class Mixture(nn.Module):
    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        width, inner, count = sizes["hidden_size"], sizes["moe_intermediate_size"], sizes["num_experts"]
        self.choice = Choice(sizes)
        self.members = nn.ModuleList(Network(width, inner) for _ in range(count))
        self.common = Network(width, inner)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        rows = features.reshape(-1, features.shape[-1])
        picked, shares = self.choice(rows)
        total = torch.zeros_like(rows)
        for number in picked.unique().tolist():
            place, slot = torch.where(picked == number)
            made = self.members[number](rows[place])
            total.index_add_(0, place, made * shares[place, slot, None])
        return total.view(features.shape) + self.common(features)


class Layer(nn.Module):
    def __init__(self, sizes: dict[str, int], sparse: bool) -> None:
        super().__init__()
        self.before = Norm(sizes["hidden_size"])
        self.mix = Attention(sizes)
        self.between = Norm(sizes["hidden_size"])
        self.think = Mixture(sizes) if sparse else Network(sizes["hidden_size"], sizes["intermediate_size"])

    def forward(
        self, stream: torch.Tensor, table: tuple[torch.Tensor, torch.Tensor], hidden: torch.Tensor
    ) -> torch.Tensor:
        stream = stream + self.mix(self.before(stream), table, hidden)
        return stream + self.think(self.between(stream))


class Transformer(nn.Module):
    """Two dense layers and one with experts."""

    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        self.look = nn.Embedding(sizes["vocab_size"], sizes["hidden_size"])
        self.rotary = Rotary(sizes["head_dim"])
        self.pile = nn.ModuleList(Layer(sizes, sparse) for sparse in (False, False, True))
        self.last = Norm(sizes["hidden_size"])
        self.speak = nn.Linear(sizes["hidden_size"], sizes["vocab_size"], bias=False)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        stream = self.look(tokens)
        table = self.rotary(tokens.shape[1], stream.dtype)
        places = torch.arange(tokens.shape[1])
        allowed = places[None, :] <= places[:, None]
        hidden = torch.where(allowed, torch.zeros(()), torch.finfo(torch.float32).min)
        for layer in self.pile:
            stream = layer(stream, table, hidden)
        return self.speak(self.last(stream))


class Delta(nn.Module):
    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        width, count, each = sizes["hidden_size"], sizes["num_heads"], sizes["head_dim"]
        self.count, self.each = count, each
        self.ask = nn.Linear(width, count * each, bias=False)
        self.offer = nn.Linear(width, count * each, bias=False)
        self.carry = nn.Linear(width, count * each, bias=False)
        self.fade = nn.Linear(width, count * each, bias=False)
        self.strong = nn.Linear(width, count, bias=False)
        self.back = nn.Linear(count * each, width, bias=False)

    def heads(self, features: torch.Tensor) -> torch.Tensor:
        return features.view(features.shape[0], features.shape[1], self.count, self.each).transpose(1, 2)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        asked, offered, carried = (
            self.heads(self.ask(features)),
            self.heads(self.offer(features)),
            self.heads(self.carry(features)),
        )
        faded = -torch.nn.functional.softplus(self.heads(self.fade(features)))
        strength = self.strong(features).sigmoid().transpose(1, 2)
        memory = features.new_zeros(features.shape[0], self.count, self.each, self.each)
        results = []
        for place in range(features.shape[1]):
            one = offered[:, :, place].unsqueeze(-1)
            memory = memory * faded[:, :, place].exp().unsqueeze(-1)
            known = (one * memory).sum(dim=2)
            news = (carried[:, :, place] - known) * strength[:, :, place].unsqueeze(-1)
            memory = memory + one * news.unsqueeze(2)
            results.append((asked[:, :, place].unsqueeze(-1) * memory).sum(dim=2))
        joined = torch.stack(results, dim=1).reshape(features.shape[0], features.shape[1], self.count * self.each)
        return self.back(joined)


class Recurrent(nn.Module):
    """Three layers of linear attention by the delta rule."""

    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        self.before = nn.ModuleList(Norm(sizes["hidden_size"]) for _ in range(3))
        self.pile = nn.ModuleList(Delta(sizes) for _ in range(3))

    def forward(self, stream: torch.Tensor) -> torch.Tensor:
        for norm, mixer in zip(self.before, self.pile, strict=True):
            stream = stream + mixer(norm(stream))
        return stream


def blend_sums(running: torch.Tensor, kept: torch.Tensor, norm: Norm, scorer: nn.Linear) -> torch.Tensor:
    every = torch.cat((kept, running.unsqueeze(2)), dim=2)
    variance = every.pow(2).mean(-1, keepdim=True)
    names = every * torch.rsqrt(variance + norm.epsilon)
    probe = norm.gain * scorer.weight.squeeze(0)
    shares = (names * probe).sum(dim=-1).softmax(dim=-1)
    return torch.matmul(shares.unsqueeze(2), every).squeeze(2)


class Storing(nn.Module):
    def __init__(self, sizes: dict[str, int], number: int) -> None:
        super().__init__()
        width = sizes["hidden_size"]
        self.starts = number % 2 == 0
        self.before, self.between, self.judge = Norm(width), Norm(width), Norm(width)
        self.scorer = nn.Linear(width, 1, bias=False)
        self.mix = Simple(sizes)
        self.think = Network(width, sizes["intermediate_size"])

    def forward(self, running: torch.Tensor, kept: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        features = running
        if self.starts:
            kept = torch.cat((kept, running.unsqueeze(2)), dim=2)
        update = self.mix(self.before(features))
        if self.starts:  # noqa: SIM108 - statements of their own, so that the branch is one
            running = update
        else:
            running = running + update
        features = blend_sums(running, kept, self.judge, self.scorer)
        running = running + self.think(self.between(features))
        return running, kept


class Simple(nn.Module):
    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        width, each = sizes["hidden_size"], sizes["head_dim"]
        self.ask = nn.Linear(width, each, bias=False)
        self.offer = nn.Linear(width, each, bias=False)
        self.carry = nn.Linear(width, each, bias=False)
        self.back = nn.Linear(each, width, bias=False)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        match = self.ask(features) @ self.offer(features).transpose(-1, -2)
        return self.back(match.softmax(-1) @ self.carry(features))


class Depth(nn.Module):
    """Six layers that store the running sum of the stream every second layer."""

    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        self.pile = nn.ModuleList(Storing(sizes, number) for number in range(6))

    def forward(self, running: torch.Tensor) -> torch.Tensor:
        kept = running.new_zeros(*running.shape[:2], 0, running.shape[2])
        for layer in self.pile:
            running, kept = layer(running, kept)
        return running


class Latent(nn.Module):
    """Attention whose keys and values come from a latent, beside a key part that all heads share."""

    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        width, count, each = sizes["hidden_size"], sizes["num_heads"], sizes["head_dim"]
        self.count, self.each, self.narrow = count, each, sizes["moe_intermediate_size"]
        self.squeeze_ask = nn.Linear(width, self.narrow, bias=False)
        self.level_ask = Norm(self.narrow)
        self.ask = nn.Linear(self.narrow, count * 2 * each, bias=False)
        self.squeeze_both = nn.Linear(width, self.narrow + each, bias=False)
        self.level_both = Norm(self.narrow)
        self.both = nn.Linear(self.narrow, count * 2 * each, bias=False)
        self.back = nn.Linear(count * each, width, bias=False)

    def heads(self, features: torch.Tensor) -> torch.Tensor:
        return features.view(features.shape[0], features.shape[1], self.count, 2 * self.each).transpose(1, 2)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        asked = self.heads(self.ask(self.level_ask(self.squeeze_ask(features))))
        small, common = self.squeeze_both(features).split((self.narrow, self.each), dim=-1)
        offered, carried = self.heads(self.both(self.level_both(small))).split((self.each, self.each), dim=-1)
        spread = common.unsqueeze(1).expand(-1, self.count, -1, -1)
        offered = torch.cat((offered, spread), dim=-1)
        shares = (torch.matmul(asked, offered.transpose(2, 3)) * (2 * self.each) ** -0.5).softmax(-1)
        blend = torch.matmul(shares, carried).transpose(1, 2)
        return self.back(blend.reshape(features.shape[0], features.shape[1], self.count * self.each))


class Latents(nn.Module):
    """Two layers of latent attention."""

    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        self.pile = nn.ModuleList(LatentLayer(sizes) for _ in range(2))

    def forward(self, stream: torch.Tensor) -> torch.Tensor:
        for layer in self.pile:
            stream = layer(stream)
        return stream


class LatentLayer(nn.Module):
    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        self.before = Norm(sizes["hidden_size"])
        self.mix = Latent(sizes)
        self.after = Norm(sizes["hidden_size"])

    def forward(self, stream: torch.Tensor) -> torch.Tensor:
        return stream + self.after(self.mix(self.before(stream)))
