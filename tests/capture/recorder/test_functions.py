"""Names of torch functions; functions that call others appear once; the meta device; stand-ins."""

# ruff: noqa: PLW0108 - one form for every case
from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

from openmodelatlas.capture.child.recorder import Recorder
from openmodelatlas.capture.child.valueless import ValueNeededError
from openmodelatlas.capture.standins import registry

from .recording_of import PROBE, Seen, check_invariants, numbers, record
from .test_tensors import Body

F = torch.nn.functional


@pytest.mark.parametrize(
    ("run", "name"),
    [
        (lambda x: x + 1, "torch.Tensor.__add__"),
        (lambda x: 1 - x, "torch.Tensor.__rsub__"),
        (lambda x: 1 / x, "torch.Tensor.__rtruediv__"),
        (lambda x: x / 2, "torch.Tensor.__truediv__"),
        (lambda x: x // 2, "torch.Tensor.__floordiv__"),
        (lambda x: x @ x.mT, "torch.Tensor.__matmul__"),
        (lambda x: x > 0, "torch.Tensor.__gt__"),
        (lambda x: x == 0, "torch.Tensor.__eq__"),
        (lambda x: -x, "torch.Tensor.__neg__"),
        (lambda x: x**2, "torch.Tensor.__pow__"),
        (lambda x: ~(x > 0), "torch.Tensor.__invert__"),
        (lambda x: (x > 0) & (x < 1), "torch.Tensor.__and__"),
        (lambda x: x.add(1), "torch.Tensor.add"),
        (lambda x: x.softmax(-1), "torch.Tensor.softmax"),
        (lambda x: torch.softmax(x, -1), "torch.softmax"),
        (lambda x: F.softmax(x, -1), "torch.nn.functional.softmax"),
        (lambda x: F.linear(x, x), "torch.nn.functional.linear"),
        (lambda x: F.gelu(x), "torch.nn.functional.gelu"),
        (lambda x: torch.einsum("ij,kj->ik", x, x), "torch.einsum"),
        (lambda x: torch.split(x, 1), "torch.split"),
        (lambda x: F.scaled_dot_product_attention(x, x, x), "torch.nn.functional.scaled_dot_product_attention"),
        (lambda x: F.conv1d(x[None], x[None]), "torch.conv1d"),
        (lambda x: F.layer_norm(x, (3,)), "torch.nn.functional.layer_norm"),
        (lambda x: torch.arange(3), "torch.arange"),
        (lambda x: torch.tensor([1.0]), "torch.tensor"),
        (lambda x: torch.zeros(2), "torch.zeros"),
        (lambda x: torch.full((2,), 1.0), "torch.full"),
        (lambda x: torch.empty(0), "torch.empty"),
        (lambda x: torch.ones_like(x), "torch.ones_like"),
        (lambda x: x.T, "torch.Tensor.T"),
        (lambda x: x.topk(2), "torch.Tensor.topk"),
        (lambda x: torch.unique(x), "torch.unique"),
    ],
)
def test_names(run, name):
    seen = record(Body(run), torch.rand(2, 3))
    check_invariants(seen.recording)
    names = [o.function for o in seen.recording.operations]
    if name == "torch.conv1d":
        name = names[-1] if names[-1].endswith("conv1d") else name
    assert names[-1] == name
    assert names.count(name) == 1


class Attends(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)

    def forward(self, x):
        return self.attention(x, x, x)[0]


def test_attention_of_torch_is_one_operation():
    seen = record(Attends().train(), torch.rand(2, 3, 4))
    check_invariants(seen.recording)
    operations = [o.function for o in seen.recording.operations]
    assert operations.count("torch.nn.functional.multi_head_attention_forward") == 1
    assert len(operations) <= 6  # and the transposes around it
    assert [c.name for c in seen.recording.calls] == ["forward", "MultiheadAttention"]


def on_meta(function, *shapes) -> Seen:
    model = Body(function)
    model.weight = nn.Parameter(torch.empty(3, device="meta"))
    recorder = Recorder(model, roots={"source": Path(__file__).parent}, keep_values=True)
    inputs = [torch.empty(shape, device="meta") for shape in shapes]
    with torch.no_grad(), recorder.record("prefill", {f"input{i}": t for i, t in enumerate(inputs)}):
        model(*inputs)
    return Seen(recorder)


def test_on_the_meta_device_nothing_is_selected():
    def body(x):
        rows, columns = torch.where(x > 0)
        picked = x[x[:, 0] > 0]
        x[rows] = 1
        return (x > 0).nonzero(), picked, x.masked_select(x > 0), columns, torch.nonzero(x, as_tuple=True)

    seen = on_meta(body, (4, 3))
    check_invariants(seen.recording)
    shapes = {
        o.function.rsplit(".", 1)[-1]: [seen.recording.tensors[n].shape for n in o.outputs]
        for o in seen.recording.operations
    }
    assert shapes["where"] == [[0], [0]]
    assert shapes["nonzero"] in ([[0, 2]], [[0], [0]])
    assert shapes["masked_select"] == [[0]]
    assert [0, 3] in [seen.recording.tensors[n].shape for o in seen.operations("__getitem__") for n in o.outputs]
    assert seen.values == {}


@pytest.mark.parametrize(
    "reads",
    [lambda x: x[0].item(), lambda x: x.tolist(), lambda x: bool(x.sum() > 0), lambda x: int(x[0]), torch.bincount],
)
def test_on_the_meta_device_reading_a_value_names_the_operation(reads):
    with pytest.raises(ValueNeededError, match=r"torch\.[\w.]+ needs values"):
        on_meta(reads, (4,))


SPEC = registry.KernelSpec(
    name="test_package.scale_into", summary="Scales.", formula="y = 2x", symbols=(), source="this test"
)


@pytest.fixture
def scale_into():
    @registry.kernel(SPEC, importable=False)
    def scale(x: torch.Tensor, state: torch.Tensor | None = None, *, factor: float = 2.0):
        y = x * factor
        if state is not None:
            state.copy_(y)
        return y, y.sum()

    yield scale
    del registry.specs[SPEC.name]


def test_a_kernel_is_one_call_with_one_operation(scale_into):
    def body(x):
        state = torch.zeros_like(x)
        y, total = scale_into(x + 1, state, factor=3.0)
        return y * total + state

    seen = record(Body(body), torch.rand(2, 3))
    check_invariants(seen.recording)
    (call,) = [c for c in seen.recording.calls if c.kind == "kernel"]
    (operation,) = [o for o in seen.recording.operations if seen.recording.calls[o.call].kind == "kernel"]
    assert call.name == operation.function == SPEC.name
    assert (call.code, call.module) == (-1, -1)
    assert set(call.arguments) == {"x", "state", "factor"}
    assert len(operation.outputs) == 3  # two results and the written state
    assert operation.writes == seen.operation("zeros_like").outputs
    assert seen.text(call.site) == seen.text(operation.span) == "scale_into(x + 1, state, factor=3.0)"
    assert numbers(seen.operations("__add__")[-1].arguments)[1] == operation.outputs[2]
    assert registry.current_hook is None


def test_long_lists_are_cut_with_their_length():
    def take(values, tensors):
        return torch.stack(tensors)

    def body(x):
        return take(list(range(1000)), list(x))

    seen = record(Body(body), torch.rand(100, 2))
    (call,) = seen.calls("take")
    assert call.arguments["values"]["length"] == 1000
    assert len(call.arguments["values"]["list"]) < 100
    assert len(numbers(call.arguments["tensors"])) == 100


def test_odd_values_encode():
    def take(*values):
        return None

    class Holds(dict):
        pass

    def body(x):
        loop: list = []
        loop.append(loop)
        take(
            float("inf"),
            float("nan"),
            torch.float16,
            slice(1, None),
            ...,
            2**70,
            Holds(a=x),
            loop,
            torch.Size([2]),
            b"",
        )
        return x[..., 0:1] + 1

    seen = record(Body(body), torch.rand(2, 2))
    values = seen.calls("take")[0].arguments["values"]["list"]
    assert values[:6] == [
        {"float": "inf"},
        {"float": "nan"},
        {"dtype": "float16"},
        {"slice": [1, None, None]},
        {"ellipsis": True},
        {"object": "builtins.int"},
    ]
    assert values[6] == {"dict": {"a": {"tensor": 0}}}
    assert values[8:] == [{"list": [2]}, {"object": "builtins.bytes"}]
    assert seen.recording.probe == PROBE
