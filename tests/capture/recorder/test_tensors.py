"""Which tensor is which: views, writes in place, caches over two phases, tied weights."""

# ruff: noqa: PLW0108, PT018 - one form for every case
from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies
from torch import nn

from openmodelatlas.capture.child import tensors
from openmodelatlas.capture.child.recorder import Recorder
from openmodelatlas.capture.child.tensors import overlap

from .recording_of import Seen, check_invariants, numbers, record


class Body(nn.Module):
    """A module whose forward is given as a function of this file."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def seen_of(function, *inputs) -> Seen:
    seen = record(Body(function), *inputs)
    check_invariants(seen.recording)
    return seen


def test_a_write_through_a_view_renews_the_view_and_its_base():
    def body(x):
        whole = x.new_zeros(4, 6)
        whole[:, :2].copy_(x)
        return whole * 1

    seen = seen_of(body, torch.rand(4, 2))
    (zeros,) = seen.operation("new_zeros").outputs
    (view,) = seen.operation("__getitem__").outputs
    copy = seen.operation("copy_")
    assert seen.recording.tensors[view].base == zeros
    assert copy.writes == [view, zeros]
    assert len(copy.outputs) == 2
    assert numbers(seen.operation("__mul__").arguments) == [copy.outputs[1]]
    assert torch.equal(seen.value(copy.outputs[1])[:, 2:], torch.zeros(4, 4))
    assert not torch.equal(seen.value(copy.outputs[1]), seen.value(zeros))


def test_parts_that_do_not_overlap_keep_their_numbers():
    def body(x):
        left, right = (x + 0).chunk(2, dim=-1)
        left.add_(1)
        return left + right

    seen = seen_of(body, torch.rand(4, 6))
    left, right = seen.operation("chunk").outputs
    write = seen.operation("add_")
    assert write.writes[0] == left
    assert right not in write.writes
    assert numbers(seen.operations("__add__")[-1].arguments) == [write.outputs[0], right]


def test_overlapping_views_are_renewed():
    def body(x):
        base = x + 0
        first, second = base[:3], base[2:]
        first.mul_(2)
        return second * 1

    seen = seen_of(body, torch.rand(5, 2))
    write = seen.operation("mul_")
    assert len(write.outputs) == 3
    (read,) = numbers(seen.operation("__mul__").arguments)
    assert read in write.outputs


@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.__setitem__(0, 5.0),
        lambda x: x.index_add_(0, torch.tensor([1]), torch.ones(1, 3)),
        lambda x: torch.add(x, 1, out=x),
        lambda x: torch.nn.functional.relu(x, inplace=True),
        lambda x: x.masked_fill_(x > 0.5, 0.0),
        lambda x: x.data.fill_(2.0),
        lambda x: x.__iadd__(1),
        lambda x: torch.nn.init.ones_(x),
        lambda x: x.T.unsqueeze(0).zero_(),
    ],
)
def test_every_way_to_write_gives_a_new_number(write):
    def body(x):
        y = x * 1
        write(y)
        return y * 3

    seen = seen_of(body, torch.rand(4, 3))
    first, last = seen.operations("__mul__")
    (read,) = numbers(last.arguments)
    assert read != first.outputs[0]
    assert first.outputs[0] in [n for o in seen.recording.operations for n in o.writes]
    assert torch.equal(seen.value(last.outputs[0]), seen.value(read) * 3)


@pytest.mark.parametrize(
    ("name", "through"),
    [
        ("to", lambda x: x.to(torch.float32)),
        ("contiguous", lambda x: x.contiguous()),
        ("dropout", lambda x: torch.nn.functional.dropout(x, 0.5, training=False)),
        ("float", lambda x: x.float()),
        ("type_as", lambda x: x.type_as(x)),
        ("expand", lambda x: x.expand(-1, -1)),
        ("real", lambda x: x.real),
    ],
)
def test_a_tensor_handed_through_is_another_tensor(name, through):
    seen = seen_of(lambda x: through(x * 1) + 1, torch.rand(4, 3))
    (before,) = seen.operation("__mul__").outputs
    (after,) = seen.operation(name).outputs
    assert after != before
    assert seen.recording.tensors[after].base == before
    assert numbers(seen.operation("__add__").arguments) == [after]


def test_a_parameter_handed_through_stays_the_modules_parameter():
    class Casts(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.rand(3))

        def forward(self, x):
            return x * self.weight.to(torch.float32)

    model = Casts()
    weight = model.weight
    seen = record(model, torch.rand(3))
    assert model.weight is weight
    assert isinstance(model.weight, nn.Parameter)
    assert numbers(seen.operation("to").arguments) == [seen.recording.parameters[0].tensor]


def test_properties_and_sizes_are_no_operations():
    def body(x):
        y = x.T
        assert x.shape[0] == x.size(0) == len(x) == 2
        assert x.dim() == x.ndim and x.dtype == y.dtype and x.device == y.device and not x.is_cuda
        assert x.numel() and x.is_floating_point() and x.stride() and x.is_contiguous() and repr(x) and hash(x)
        return y

    seen = seen_of(body, torch.rand(2, 3))
    assert [o.function for o in seen.recording.operations] == ["torch.Tensor.T"]


def test_values_read_from_tensors_are_operations_without_outputs():
    def body(x):
        if x.sum() > 0:
            x = x * int(x[0].round())
        return x.tolist(), x.max().item(), x.numpy(), float(x.min())

    seen = seen_of(body, torch.full((3,), 2.0))
    for name in ("__bool__", "__int__", "tolist", "item", "numpy", "__float__"):
        operation = seen.operation(name)
        assert operation.outputs == []
        assert numbers([operation.arguments])
    assert seen.operation("item").result == 4.0


def test_iterating_and_unpacking_give_numbered_rows():
    def body(x):
        first, second = x
        return first + second

    seen = seen_of(body, torch.rand(2, 3))
    unbind = seen.operation("unbind")
    assert numbers(seen.operation("__add__").arguments) == unbind.outputs


def test_tensors_from_outside_say_so():
    def body(x):
        counts = x.numpy().sum(axis=0)
        return torch.from_numpy(counts) * x

    seen = seen_of(body, torch.rand(2, 3))
    read = numbers(seen.operation("__mul__").arguments)
    assert [seen.recording.tensors[n].origin for n in read] == ["outside", "input"]


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(7, 3)
        self.head = nn.Linear(3, 7, bias=False)
        self.head.weight = self.embed.weight
        self.register_buffer("scale", torch.rand(()), persistent=False)

    def forward(self, tokens):
        return self.head(self.embed(tokens) * self.scale)


def test_tied_weights_are_one_parameter_with_two_names():
    seen = record(Tied(), torch.tensor([[1, 2]]))
    check_invariants(seen.recording)
    weight, scale = seen.recording.parameters
    assert (weight.name, weight.aliases, weight.kind) == ("embed.weight", ["head.weight"], "parameter")
    assert (scale.name, scale.kind, scale.persistent) == ("scale", "buffer", False)
    assert numbers(seen.operation("embedding").arguments)[1] == weight.tensor
    assert numbers(seen.operation("linear").arguments)[1] == weight.tensor
    assert seen.recording.tensors[weight.tensor].index == 0
    assert [m.class_name for m in seen.recording.modules] == ["Tied", "torch.nn.Embedding", "torch.nn.Linear"]


class Cache:
    def __init__(self):
        self.key_cache = []

    def update(self, new):
        if self.key_cache:
            self.key_cache[0] = torch.cat([self.key_cache[0], new], dim=1)
        else:
            self.key_cache.append(new)
        return self.key_cache[0]


class Cached(nn.Module):
    def __init__(self):
        super().__init__()
        self.project = nn.Linear(3, 3)

    def forward(self, x, cache):
        return cache.update(self.project(x)).sum(1), cache


def test_a_cache_links_prefill_and_decode():
    model, cache = Cached(), Cache()
    recorder = Recorder(model, roots={"source": Path(__file__).parent}, keep_values=True)
    x, step = torch.rand(2, 4, 3), torch.rand(2, 1, 3)
    with torch.no_grad():
        with recorder.record("prefill", {"x": x}):
            model(x, cache)
        with recorder.record("decode", {"x": step}):
            model(step, cache)
    seen = Seen(recorder)
    check_invariants(seen.recording)
    stored = seen.operations("linear")[0].outputs[0]
    assert numbers(seen.operation("cat").arguments)[0] == stored
    decode = next(c for c in seen.recording.calls if c.phase == "decode" and c.kind == "module")
    assert decode.arguments["cache"] == {"dict": {"key_cache": {"list": [{"tensor": stored}]}}}
    assert numbers(decode.result["list"][1]) == seen.operation("cat").outputs
    assert [t.name for t in seen.recording.tensors if t.origin == "input"] == ["x", "x"]


def test_values_are_those_of_the_moment():
    def body(x):
        y = x * 2
        y[0] = 7.0
        return y

    x = torch.rand(3, 2)
    seen = seen_of(body, x)
    before, after = seen.operation("__mul__").outputs[0], seen.operation("__setitem__").outputs[0]
    assert torch.equal(seen.value(before), x * 2)
    assert torch.equal(seen.value(after)[0], torch.full((2,), 7.0))
    assert set(seen.values) == {str(n) for n in range(len(seen.recording.tensors))}
    assert all(value.is_contiguous() for value in seen.values.values())


def test_overlap_is_told_by_elements():
    x = torch.zeros(4, 6)
    assert overlap(x[:2], x[1:])
    assert not overlap(x[:2], x[2:])
    assert not overlap(x[:, :3], x[:, 3:])
    assert not overlap(x[::2], x[1::2])
    assert overlap(x.T, x[3:])
    assert not overlap(x[:0], x)


INDICES = strategies.tuples(*[strategies.slices(5), strategies.slices(4), strategies.slices(3)]).filter(
    lambda index: all(part.step is None or part.step > 0 for part in index)
)


@settings(deadline=None)
@given(INDICES, INDICES, strategies.permutations(range(3)))
def test_overlap_agrees_with_marking_elements(first, second, order):
    numbers = torch.arange(60).reshape(5, 4, 3)
    a, b = numbers[first], numbers[second].permute(order)
    expected = bool(set(a.reshape(-1).tolist()) & set(b.reshape(-1).tolist()))
    assert overlap(a, b) == expected
    assert overlap(b, a) == expected


def test_memory_that_nobody_wrote_is_recorded_as_zeros():
    def body(x):
        torch.full((64,), 3.0)  # freed at once: its memory is likely to be handed out again
        first, second = torch.empty(64), x.new_empty(8, 8)
        second[0] = 1
        return first, torch.empty_like(x), second

    seen = seen_of(body, torch.rand(64))
    for name in ("empty", "new_empty", "empty_like"):
        assert not seen.value(seen.operation(name).outputs[0]).any()
    assert seen.value(seen.operation("__setitem__").outputs[0]).sum() == 8


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.view(-1).add_(1),
        lambda x: torch.add(x, 1, out=x),
        lambda x: x.numpy().fill(7),
        lambda x: x.T.data.zero_(),
        lambda x: x.untyped_storage().fill_(0),
        lambda x: torch._foreach_add_([x], 1),
        lambda x: np.asarray(x).fill(7),
        lambda x: torch.from_dlpack(x).zero_(),
    ],
)
def test_values_are_those_of_their_time(change):
    """Whatever changes a tensor's memory later, and by whichever way, its value is what it was when it was made."""

    def body(x):
        made = x * 2
        view = made.reshape(-1)[1:]
        change(made)
        return made + view.sum()

    x = torch.rand(3, 4)
    seen = seen_of(body, x)
    assert torch.equal(seen.value(seen.operation("__mul__").outputs[0]), x * 2)
    assert torch.equal(seen.value(seen.operation("__getitem__").outputs[0]), (x * 2).view(-1)[1:])


class Releases(nn.Module):
    """Makes tensors that nobody uses any more, and others that are used in ways that are hard to see."""

    def forward(self, x):
        held = []
        aliased = (x * 2).data
        array = (x * 3).numpy()
        view = (x * 4).view(-1)[1:]
        state = x
        for _ in range(30):
            state = (state + 1).sin()
            held.append(state.T)
        return state + aliased + torch.as_tensor(array) + view.sum() + torch.stack(held).sum()


def test_memory_is_given_back_without_changing_anything(monkeypatch):
    x = torch.randn(4, 4)
    with torch.no_grad():
        plain = Releases()(x)
    before = record(Releases(), x)
    emptied = []
    resize = torch.UntypedStorage.resize_

    def counting(storage, size):
        emptied.append(storage.nbytes())
        return resize(storage, size)

    monkeypatch.setattr(tensors, "RELEASE_AFTER", 0)
    monkeypatch.setattr(torch.UntypedStorage, "resize_", counting)
    after = record(Releases(), x, keep_values=False)
    assert len(emptied) >= 25
    assert all(emptied)
    assert after.recording.operations == before.recording.operations
    assert after.recording.tensors == before.recording.tensors
    after = record(Releases(), x)
    assert after.recording.operations == before.recording.operations
    assert after.recording.tensors == before.recording.tensors
    assert after.values.keys() == before.values.keys()
    assert all(torch.equal(after.values[number], before.values[number]) for number in before.values)
    assert torch.equal(after.value(after.recording.operations[-1].outputs[0]), plain)


def test_tensors_without_memory_are_not_searched_for_some(monkeypatch):
    """A model at full size has terabytes on the meta device, none of them in memory."""
    monkeypatch.setattr(tensors.TensorTable, "_release", lambda table: pytest.fail("nothing to give back"))
    table = tensors.TensorTable(keep_values=False)
    for _ in range(3):
        table.enter(torch.empty(2**40, device="meta"), "outside", -1)
    assert table.count == 3


def halves(x):
    y = x * 2
    first, second = y.chunk(2, -1)
    first += second
    return y.sin()


def second_half(x):
    y = x * 2
    y[..., 2:] += 1
    flat = y.view(-1)
    y[1:].mul_(2)
    return y.sin() + flat.sum()


def two_ranks(x):
    y = x * 2
    flat, rows = y.view(-1), y.unbind(0)
    rows[1].zero_()
    y[:, 1::2].fill_(1)
    return flat.sin(), rows[0] + 1


@pytest.mark.parametrize("function", [halves, second_half, two_ranks])
def test_views_share_without_values_what_they_share_with_them(function):
    """A tensor on the meta device has no address, whatever its offset is."""
    seen = []
    for device in ("cpu", "meta"):
        model = Body(function)
        model.weight = nn.Parameter(torch.ones(1, device=device))
        seen.append(record(model, torch.ones(2, 4, device=device), keep_values=device == "cpu").recording)
    with_values, without = seen
    assert any(operation.writes for operation in with_values.operations)
    assert [(o.function, o.outputs, o.writes) for o in without.operations] == [
        (o.function, o.outputs, o.writes) for o in with_values.operations
    ]
    assert [tensor.base for tensor in without.tensors] == [tensor.base for tensor in with_values.tensors]
