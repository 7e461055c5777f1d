"""What the probes fill parameters with."""

from __future__ import annotations

import torch
from torch import nn

from openmodelatlas.capture.child.weights import fill, marked_uninitialised_memory, no_initialisation


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.offset = nn.Parameter(torch.zeros(16))
        self.linear = nn.Linear(16, 64)
        self.experts = nn.Parameter(torch.empty(4, 8, 32))
        self.A_log = nn.Parameter(torch.log(torch.arange(1.0, 17.0)))
        self.forgotten = nn.Parameter(torch.empty(16))
        self.register_buffer("correction", torch.zeros(16))
        self.register_buffer("inv_freq", torch.ones(4), persistent=False)
        self.register_buffer("table", torch.arange(5.0))
        self.register_buffer("count", torch.tensor(0))


def made(seed: int) -> Small:
    torch.manual_seed(0)
    with marked_uninitialised_memory():
        model = Small()
    fill(model, seed)
    return model


def test_nothing_is_regular_or_unset() -> None:
    model = made(1)
    for name, tensor in [*model.named_parameters(), ("correction", model.correction)]:
        assert torch.isfinite(tensor).all(), name
        assert len(tensor.unique()) > 0.9 * tensor.numel(), name
    assert abs(float(model.norm.weight.mean()) - 1) < 0.3
    assert float((model.norm.weight - 1).abs().max()) > 0.05
    assert float(model.offset.abs().max()) < 1


def test_matrices_keep_the_scale_of_activations() -> None:
    model = made(1)
    assert abs(float(model.linear.weight.std()) * 16**0.5 - 1) < 0.2
    assert abs(float(model.experts.std()) * (8 * 32) ** 0.25 - 1) < 0.2


def test_meaning_of_an_initialisation_stays() -> None:
    model = made(1)
    expected = torch.log(torch.arange(1.0, 17.0))
    assert torch.corrcoef(torch.stack([model.A_log.detach(), expected]))[0, 1] > 0.8
    assert not torch.equal(model.A_log, expected)


def test_computed_buffers_stay() -> None:
    model = made(1)
    assert torch.equal(model.inv_freq, torch.ones(4))
    assert torch.equal(model.table, torch.arange(5.0))
    assert int(model.count) == 0


def test_values_depend_on_seed_and_name_only() -> None:
    first, again, other = made(1), made(1), made(2)
    for name, tensor in first.state_dict().items():
        assert torch.equal(tensor, again.state_dict()[name]), name
    assert not torch.equal(first.linear.weight, other.linear.weight)
    assert not torch.equal(first.norm.weight, first.offset + 1)


def test_tied_weights_stay_tied_and_initialisation_can_be_left_out() -> None:
    with torch.device("meta"), no_initialisation():
        model = Small()
    assert all(parameter.is_meta for parameter in model.parameters())
    before = nn.init.normal_
    with no_initialisation():
        assert nn.init.normal_ is not before
    assert nn.init.normal_ is before
    assert not torch.are_deterministic_algorithms_enabled()
