"""What took no part is left out; everything that remains says the same."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from openmodelatlas.capture.child.compact import compact
from openmodelatlas.capture.recording import Recording, link
from openmodelatlas.capture.validate import validate

from .recording_of import check_invariants, numbers, record


class Experts(nn.Module):
    """Of four experts one runs; another one's weight is read without it."""

    def __init__(self) -> None:
        super().__init__()
        self.experts = nn.ModuleList(nn.Linear(3, 3) for _ in range(4))
        self.register_buffer("used", torch.ones(3))
        self.register_buffer("unused", torch.ones(3))
        self.state = torch.zeros(5, 3)

    def forward(self, x):
        x = self.experts[2](x) + self.named(tensor=7, parts={"tensor": x, "dict": [self.used]})
        joined = torch.cat([x, self.experts[1].weight[:1]], dim=0)
        self.state[0:1] = joined[:1]
        return {"tensor": joined, "state": self.state, "kept": [self.used, None]}

    def named(self, tensor, parts):
        return parts["dict"][0] * tensor


def _told(recording: Recording) -> list[Any]:
    """All events, with the tensors they name as what these are."""

    def tensor(number: int) -> Any:
        found = recording.tensors[number]
        held = found.origin in ("parameter", "buffer")
        name = recording.parameters[found.index].name if held else (found.name, found.index)
        return found.shape, found.dtype, found.origin, name, found.base >= 0 and tensor(found.base)

    def told(value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return tensor(value["tensor"]) if "tensor" in value else {kind: each(part) for kind, part in value.items()}

    def each(content: Any) -> Any:
        if isinstance(content, dict):
            return {name: told(value) for name, value in content.items()}
        return [told(value) for value in content] if isinstance(content, list) else content

    names = [module.name for module in recording.modules]
    calls = [
        (call.order, call.name, call.module >= 0 and names[call.module], each(call.arguments), told(call.result))
        for call in recording.calls
    ]
    return [
        calls,
        [
            (
                (o.order, o.function, each(o.arguments), each(o.keywords), told(o.result)),
                [tensor(number) for number in (*o.outputs, *o.writes)],
            )
            for o in recording.operations
        ],
    ]


def test_what_took_no_part_is_left_out() -> None:
    whole = record(Experts(), torch.rand(2, 3)).unlinked
    small = compact(whole)

    assert [module.name for module in small.modules] == ["", "experts", "experts.2"]
    names = [parameter.name for parameter in small.parameters]
    assert names == ["experts.1.weight", "experts.2.weight", "experts.2.bias", "used"]
    assert len(whole.tensors) - len(small.tensors) == len(whole.parameters) - len(small.parameters) == 6
    assert [small.tensors[p.tensor].index for p in small.parameters] == [0, 1, 2, 3]
    validate(small)
    check_invariants(link(small))


def test_everything_that_remains_says_the_same() -> None:
    seen = record(Experts(), torch.rand(2, 3))
    assert _told(link(compact(seen.unlinked))) == _told(seen.recording)


def test_nothing_is_left_out_twice() -> None:
    small = compact(record(Experts(), torch.rand(2, 3)).unlinked)
    assert compact(small) is small
    assert {n for o in link(small).operations for n in numbers(o.arguments)} <= set(range(len(small.tensors)))
