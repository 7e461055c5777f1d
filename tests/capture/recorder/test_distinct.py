"""Of equal layers the first one's values are kept, with everything that kept operations read."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn

from openmodelatlas.capture import encoded
from openmodelatlas.capture.child.layer_kinds import list_element

from .recording_of import Seen, record

WIDTH = 6


def layer_of(seen: Seen, call: int, within: str = "layers") -> int | None:
    """Index of the layer that a call lies in."""
    while call >= 0:
        module = seen.recording.calls[call].module
        element = list_element(seen.recording.modules[module].name) if module >= 0 else None
        if element is not None and element[0] == within:
            return element[1]
        call = seen.recording.calls[call].parent
    return None


def layers_with_values(seen: Seen) -> list[int]:
    """Indices of the layers all of whose operations have values; the others may keep what they hand on."""
    found: dict[int, list[bool]] = {}
    for operation in seen.recording.operations:
        layer = layer_of(seen, operation.call)
        if layer is not None:
            found.setdefault(layer, []).extend(str(number) in seen.values for number in operation.outputs)
    assert found
    return [index for index, kept in sorted(found.items()) if all(kept)]


def kept_layers(*layers: nn.Module, run: Callable[[nn.ModuleList, torch.Tensor], torch.Tensor] | None = None) -> list:
    return layers_with_values(recorded(*layers, run=run))


def recorded(*layers: nn.Module, run: Callable[[nn.ModuleList, torch.Tensor], torch.Tensor] | None = None) -> Seen:
    model = Stack(layers, run or one_after_the_other)
    torch.manual_seed(3)
    with torch.no_grad():
        return record(model, torch.randn(2, 5, WIDTH))


class Stack(nn.Module):
    def __init__(self, layers, run):
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self.run = run

    def forward(self, x):
        return self.run(self.layers, x).exp()


def one_after_the_other(layers, x):
    for layer in layers:
        x = layer(x)
    return x


class Layer(nn.Module):
    """Everything by which a layer may differ from another."""

    def __init__(self, width=WIDTH, scale=1.5, axis=-1, dtype=torch.float32, twice=False, swapped=False):
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, width), nn.Linear(width, WIDTH)
        self.scale, self.axis, self.dtype, self.twice, self.swapped = scale, axis, dtype, twice, swapped

    def forward(self, x, mask=None, told=None):
        y = self.down(torch.relu(self.up(x))).to(self.dtype).float()
        y = y.softmax(self.axis) * self.scale
        if mask is not None:
            y = y + mask
        if self.twice:
            y = y.tanh()
        kept, other = (y, x) if self.swapped else (x, y)
        return torch.sub(kept, other)


def test_names_of_layers():
    assert list_element("model.layers.3.mlp.experts.5.up") == ("model.layers", 3)
    assert list_element("0") == ("", 0)
    assert list_element("0.weight") == ("", 0)
    assert list_element("model.norm") is None


def test_values_of_equal_layers_are_kept_once():
    # The first layer reads what was there before, the others each other: that alone is no reason to keep the second.
    kept = kept_layers(*(Layer() for _ in range(7)))
    assert kept in ([0], [0, 1])


@pytest.mark.parametrize(
    "other",
    [
        {"width": 9},
        {"scale": 2.5},
        {"axis": 1},
        {"dtype": torch.bfloat16},
        {"twice": True},
        {"swapped": True},
    ],
    ids=str,
)
def test_a_layer_that_differs_is_kept(other):
    """One for each way in which a fold tells layers apart."""
    layers = [Layer() for _ in range(8)]
    layers[4] = Layer(**other)
    layers[6] = Layer(**other)
    kept = kept_layers(*layers)
    assert 4 in kept
    assert 6 not in kept
    assert not {3, 5, 7} & set(kept)


def test_whole_numbers_that_go_up_and_down_tell_layers_apart():
    assert kept_layers(*(Layer(axis=axis) for axis in (2, 1, 2, 1, 2, 0, 1, 2)))[-1] == 5
    assert {1, 5} < set(kept_layers(*(Layer(axis=axis) for axis in (2, 1, 2, 1, 2, 0, 1, 2))))


def test_numbers_that_count_layers_do_not():
    def run(layers, x):
        for index, layer in enumerate(layers):
            x = layer(x, told=index)  # no name that says so
        return x

    assert max(kept_layers(*(Layer() for _ in range(12)), run=run)) < 4

    def named(layers, x):
        for index, layer in enumerate(layers):
            x = layer(x, layer_idx=index)
        return x

    assert max(kept_layers(*(Indexed() for _ in range(12)), run=named)) < 2


class Indexed(Layer):
    def forward(self, x, layer_idx):
        return super().forward(x)


def test_numbers_that_values_decide_keep_a_few_layers():
    class Counting(Layer):
        def forward(self, x):
            return torch.add(super().forward(x), int(97 * float(x.sum().sin())))

    assert len(kept_layers(*(Counting() for _ in range(30)))) <= 9


@pytest.mark.parametrize("told", [0.5, "full", True, [0.5]])
def test_what_a_layer_is_told_tells_it_apart(told):
    def run(layers, x):
        for index, layer in enumerate(layers):
            x = layer(x, told=told if index == 5 else None)
        return x

    kept = kept_layers(*(Layer() for _ in range(7)), run=run)
    assert 5 in kept
    assert not {3, 4, 6} & set(kept)


def test_layers_with_other_masks_are_other_layers():
    def run(layers, x):
        masks = [torch.ones(5, WIDTH), torch.zeros(5, WIDTH)]
        for index, layer in enumerate(layers):
            x = layer(x, mask=masks[index % 2])
        return x

    kept = kept_layers(*(Layer() for _ in range(9)), run=run)
    assert {0, 1} <= set(kept)
    assert max(kept) <= 2


def test_layers_that_own_a_tensor_of_a_cache_are_equal_layers():
    """Each reads another tensor from before all layers, which it was not handed as an argument."""
    states: list[torch.Tensor] = []

    class Cached(Layer):
        def forward(self, x, told):
            return super().forward(x) + states[int(told)]

    def run(layers, x):
        states.extend(torch.zeros(1) for _ in layers)
        for index, layer in enumerate(layers):
            x = layer(x, told=index)
        return x

    assert max(kept_layers(*(Cached() for _ in range(12)), run=run)) < 4


def test_a_list_that_no_loop_runs_is_kept_whole():
    """The graph shows each call of its own: there is no fold."""

    def run(layers, x):
        x = layers[0](x)
        x = layers[1](x)
        return layers[2](x)

    assert kept_layers(*(Layer() for _ in range(3)), run=run) == [0, 1, 2]


def test_what_kept_operations_read_is_kept():
    """Also what an equal layer made, or read, and what comes after all layers."""
    layers = [Layer() for _ in range(12)]
    layers[9] = Layer(twice=True)
    seen = recorded(*layers)
    kept = layers_with_values(seen)
    assert 9 in kept
    assert not {7, 8, 10, 11} & set(kept)
    for operation in seen.recording.operations:
        layer = layer_of(seen, operation.call)
        if layer is None or layer in kept:
            read = [n for v in (*operation.arguments, *operation.keywords.values()) for n in encoded.tensors(v)]
            assert all(str(number) in seen.values for number in (*read, *operation.outputs))
    (last,) = seen.operations("exp")
    assert torch.equal(seen.value(last.arguments[0]["tensor"]).exp(), seen.value(last.outputs[0]))


def test_a_value_that_was_overwritten_is_not_given_as_what_it_was():
    class Overwrites(Layer):
        def forward(self, x, stored):
            y = super().forward(x) + stored[0]
            stored[0].add_(y)
            return y.clone()

    def run(layers, x):
        stored = [torch.zeros_like(x)]
        for layer in layers:
            x = layer(x, stored)
        return x * stored[0]

    seen = recorded(*(Overwrites() for _ in range(6)), run=run)
    for function, again in (("__add__", torch.add), ("__mul__", torch.mul), ("sub", torch.sub)):
        for operation in seen.operations(function):
            numbers = [a["tensor"] for a in operation.arguments if isinstance(a, dict)] + operation.outputs
            if len(numbers) == 3 and all(str(number) in seen.values for number in numbers):
                first, second, result = (seen.value(number) for number in numbers)
                assert torch.equal(again(first, second), result)


def test_parameters_of_equal_layers_are_kept_once_and_shared_ones_always():
    layers = [Layer() for _ in range(6)]
    layers[5].up.weight = layers[0].up.weight
    seen = recorded(*layers)
    kept = {parameter.name for parameter in seen.recording.parameters if str(parameter.tensor) in seen.values}
    assert "layers.0.up.weight" in kept
    assert "layers.0.down.bias" in kept
    assert not [name for name in kept if name.startswith(("layers.3.", "layers.5."))]


def test_loops_over_experts_that_were_hit_do_not_set_layers_apart():
    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.experts = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(9))

        def forward(self, x):
            flat = x.reshape(-1, WIDTH)
            chosen = (flat[:, 0] * 97).long().abs() % 9
            out = torch.zeros_like(flat)
            for number in chosen.unique().tolist():
                (rows,) = torch.where(chosen == number)
                out.index_add_(0, rows, self.experts[number](flat[rows]))
            return x + out.view(x.shape)

    seen = recorded(*(Experts() for _ in range(10)))
    assert len(layers_with_values(seen)) <= 2
