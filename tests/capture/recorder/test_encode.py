"""Values of a model's own types are written down as what they are, and none of them ends its run."""

from __future__ import annotations

import collections
import dataclasses
import enum
import math
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import torch
from torch import nn

from openmodelatlas.capture.child.encode import LONGEST_LIST, Encoder
from openmodelatlas.capture.child.output import distinct, encoded
from openmodelatlas.capture.recording import DEEPEST
from openmodelatlas.capture.validate import validate

from .recording_of import check_invariants, numbers, record


def encode(value: Any, found: list[torch.Tensor] | None = None) -> Any:
    seen: list[torch.Tensor] = [] if found is None else found
    encoder = Encoder(lambda tensor: len(seen) - 1, {}, {}, [], [])
    return encoder.encode(value, seen)


class Mode(str, enum.Enum):  # noqa: UP042 - as models write it
    NEAREST = "nearest"


class Axis(enum.IntEnum):
    LAST = -1


class Talkative(str):
    __slots__ = ()

    def __str__(self) -> str:
        return self


class Boastful(int):
    def __int__(self) -> int:
        return 99

    def __index__(self) -> int:
        return 98


class Modest(float):
    def __float__(self) -> float:
        return 0.25


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Mode.NEAREST, "nearest"),
        (Axis.LAST, -1),
        (Talkative("bti,btj->bij"), "bti,btj->bij"),
        (Boastful(3), 3),
        (Modest(1.5), 1.5),
        (Modest("nan"), {"float": "nan"}),
        (Modest("-inf"), {"float": "-inf"}),
    ],
)
def test_numbers_and_texts_of_other_types(value: Any, expected: Any) -> None:
    result = encode(value)
    assert (type(result), result) == (type(expected), expected)
    encoded(result)


class Liar:
    def __init__(self, kind: type) -> None:
        self._kind = kind

    @property
    def __class__(self) -> type:  # type: ignore[override]
        return self._kind


class Raises:
    @property
    def __class__(self) -> type:  # type: ignore[override]
        raise RuntimeError("who asks?")

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        raise RuntimeError("who asks?")

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("who asks?")


class Unreadable(Mapping[Any, Any]):
    def __getitem__(self, key: Any) -> Any:
        raise RuntimeError("not now")

    def __iter__(self) -> Iterator[Any]:
        raise RuntimeError("not now")

    def __len__(self) -> int:
        return 3


class Nameless:
    def __str__(self) -> str:
        raise RuntimeError("no name")


class Endless(list[int]):
    def __iter__(self) -> Iterator[int]:
        while True:
            yield 1

    def __len__(self) -> int:
        raise RuntimeError("how long?")


class Nowhere(type):
    def __getattribute__(cls, name: str) -> Any:
        raise RuntimeError("no name")


class OfNowhere(metaclass=Nowhere):
    pass


class NotHashable(type):
    """Its classes are compared, and so not hashed."""

    def __eq__(cls, other: object) -> bool:
        return cls is other

    __hash__ = None  # type: ignore[assignment]


class RaisesWhenHashed(type):
    def __hash__(cls) -> int:
        raise RuntimeError("who looks me up?")


class Unhashed(metaclass=NotHashable):
    def __index__(self) -> int:
        return 1


class UnhashedToo(metaclass=RaisesWhenHashed):
    def __index__(self) -> int:
        return 1


class Leaves(dict[str, int]):
    def items(self) -> Any:
        raise SystemExit(3)


HOSTILE: dict[str, Any] = {
    "leaves": Leaves(a=1),
    **{
        f"liar-{kind.__name__}": Liar(kind)
        for kind in (torch.Tensor, nn.Module, list, tuple, dict, int, str, float, slice, type, torch.dtype)
    },
    "raises": Raises(),
    "unreadable": Unreadable(),
    "nameless": {Nameless(): 1},
    "unhashed": Unhashed(),
    "unhashed-too": UnhashedToo(),
}
"""By name, for whoever runs the tests looks at their values too."""


@pytest.mark.parametrize("name", HOSTILE)
def test_what_cannot_be_read_is_an_object(name: str) -> None:
    kind = type(HOSTILE[name])
    assert encode([HOSTILE[name], 1]) == {"list": [{"object": f"{kind.__module__}.{kind.__qualname__}"}, 1]}


def test_a_type_may_have_no_name() -> None:
    assert encode([OfNowhere()]) == {"list": [{"object": "a type without a name"}]}


def test_long_mappings_keep_their_tensors() -> None:
    assert len(encode({i: torch.ones(1) for i in range(LONGEST_LIST + 5)})["dict"]) == LONGEST_LIST + 5
    assert encode(dict.fromkeys(range(LONGEST_LIST + 5), 1))["length"] == LONGEST_LIST + 5


def test_sequences_are_read_as_what_they_hold() -> None:
    assert encode(Endless([1, 2])) == {"list": [1, 2]}
    assert encode(collections.namedtuple("Pair", "a b")(1, 2)) == {"list": [1, 2]}
    assert encode(torch.Size([2, 3])) == {"list": [2, 3]}
    assert encode(weakref.proxy(Endless([1]))) == {"object": "weakref.ProxyType"}


def test_keys_of_equal_text_stay_apart() -> None:
    found: list[torch.Tensor] = []
    x, y, z = torch.ones(1), torch.ones(2), torch.ones(3)
    result = encode({1: x, "1": y, Mode.NEAREST: 2, "1 (2)": z}, found)
    assert result["dict"] == {
        "1": {"tensor": 0},
        "1 (2)": {"tensor": 1},
        "Mode.NEAREST": 2,
        "1 (2) (2)": {"tensor": 2},
    }
    assert [len(tensor) for tensor in found] == [1, 2, 3]


def test_distinct_names() -> None:
    assert [distinct("a", taken) for taken in ([], ["b"], ["a"], ["a", "a (2)"])] == ["a", "a", "a (2)", "a (3)"]


def test_keys_that_are_alike_when_written_out_stay_apart() -> None:
    assert encoded({"\ud800": 1, "\\ud800": 2, "é": 3}).decode() == '{"\\\\ud800":1,"\\\\ud800 (2)":2,"é":3}'


def nested(levels: int, make: Any) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = make(value)
    return value


@pytest.mark.parametrize("make", [lambda v: [v], lambda v: (v,), slice, lambda v: {"a": v}, lambda v: slice(v, 1, [v])])
@pytest.mark.parametrize("levels", [1, DEEPEST, DEEPEST + 1, 1000])
def test_deep_values_end_in_an_object(levels: int, make: Any) -> None:
    text = encoded(encode(nested(levels, make))).decode()
    assert ("object" in text) == (levels > DEEPEST or (levels * 2 > DEEPEST and '"list"' in text and "slice" in text))


@dataclasses.dataclass
class State:
    x: torch.Tensor
    note: str = "n"


def test_attributes_under_odd_names() -> None:
    state = State(torch.ones(1))
    vars(state)[2] = "two"  # type: ignore[call-overload]
    assert encode(state) == {"dict": {"x": {"tensor": 0}, "note": "n"}}


def test_long_lists_are_cut() -> None:
    long = tuple(range(LONGEST_LIST + 5))
    assert encode(long) == {"list": list(range(LONGEST_LIST)), "length": LONGEST_LIST + 5}
    assert len(encode([*long, torch.ones(1)])["list"]) == LONGEST_LIST + 6


def _dispatched(x: torch.Tensor, *_: Any, **__: Any) -> tuple[torch.Tensor]:
    return (x,)


@torch.overrides.wrap_torch_function(_dispatched)
def mixed(x: torch.Tensor, *parts: Any, **named: Any) -> Any:
    return x + 1


class Odd(nn.Module):
    def __init__(self, *parts: Any, **named: Any) -> None:
        super().__init__()
        self.parts = parts
        self.named = named

    def forward(self, x: torch.Tensor, flag: Any = None) -> Any:
        y = mixed(x, *self.parts, **self.named)
        return mixed(y, {1: x, "1": y, math.nan: [x, y]}, slice(x, y))


ODD = {
    **HOSTILE,
    "nowhere": OfNowhere(),
    "enum": Mode.NEAREST,
    "int": Boastful(1),
    "endless": Endless([1]),
    "keys": {1: 1, "1": 2},
}


@pytest.mark.parametrize("name", [*ODD, "deep"])
def test_a_model_runs_whatever_it_hands_on(name: str) -> None:
    value = nested(400, slice) if name == "deep" else ODD[name]
    seen = record(Odd(value, [value], **{"\ud800": value, "\\ud800": 1}), torch.ones(2), flag=value)
    validate(seen.unlinked)
    check_invariants(seen.recording)
    first, second = seen.operations("mixed")
    assert numbers(first.arguments) == first.tensors == [0]
    assert numbers(second.arguments) == second.tensors
    assert len(second.tensors) == 7


class OfUnhashed(nn.Module):
    """Holds objects of a class that cannot be hashed, hands them around and indexes with them."""

    def __init__(self, kind: type) -> None:
        super().__init__()
        self.kind, self.held = kind, kind()

    def pick(self, x: torch.Tensor, places: Any) -> torch.Tensor:
        return x[places[0]]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.pick(x, [self.kind() for _ in range(LONGEST_LIST + 1)]).sin()


@pytest.mark.parametrize("device", ["cpu", "meta"])
@pytest.mark.parametrize("kind", [Unhashed, UnhashedToo])
def test_a_class_need_not_be_hashable(kind: type, device: str) -> None:
    model = OfUnhashed(kind)
    model.weight = nn.Parameter(torch.ones(1, device=device))
    seen = record(model, torch.ones(3, 2, device=device), keep_values=device == "cpu")
    check_invariants(seen.recording)
    assert [operation.function.rsplit(".", 1)[-1] for operation in seen.recording.operations] == ["__getitem__", "sin"]
    (call,) = seen.calls("pick")
    assert call.arguments["places"]["length"] == LONGEST_LIST + 1
