"""What a factory gives as example inputs comes to the model as it was given, or an error says why it does not."""

from __future__ import annotations

import collections
import dataclasses
import functools
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

from openmodelatlas.capture.child import probes
from openmodelatlas.capture.child.factories import FactorySubject
from openmodelatlas.capture.child.subject import Inputs, tensors_in
from openmodelatlas.capture.recording import Probe
from openmodelatlas.errors import ConfigurationError, ModelCodeError
from tests.capture.recorder.recording_of import Seen, check_invariants

PROBE = Probe(name="a", role="solve", sizes={}, batch=3, tokens=4, dtype="float32", seed=0)


@dataclasses.dataclass(frozen=True)
class Given:
    mask: torch.Tensor
    power: int = 2


Pair = collections.namedtuple("Pair", "left right")
X = torch.rand(2, 5)


def subject_of(factory: Callable[..., Any], **configuration: Any) -> FactorySubject:
    job: Any = SimpleNamespace(
        root=str(Path(__file__).parent), files={}, configuration=configuration, entry="shop:build"
    )
    return FactorySubject(job, factory)


def run(module: nn.Module, *example: Any) -> tuple[Seen, list[str]]:
    subject = subject_of(lambda: (module, *example) if example else module)
    recorder, notes = probes.run_probe(subject, {}, PROBE, keep_values=True)
    seen = Seen(recorder)
    check_invariants(seen.recording)
    return seen, notes


class Takes(nn.Module):
    """Keeps what it was called with."""

    def take(self, **given: Any) -> torch.Tensor:
        self.given = given
        return sum((tensor.float().sum() for tensor in tensors_in(given).values()), torch.ones(1).sin())


def taking(forward: Callable[..., Any], **attributes: Any) -> Takes:
    return type("Model", (Takes,), {"forward": forward, **attributes})()


@pytest.mark.parametrize(
    ("forward", "example", "names"),
    [
        (lambda self, x, k: self.take(x=x, k=k), (X, 3), ["x"]),
        (lambda self, x, mask=None: self.take(x=x, mask=mask), (X, None), ["x"]),
        (lambda self, x, *, k=1: self.take(x=x, k=k), {"x": X, "k": 4}, ["x"]),
        (lambda self, pair: self.take(pair=pair), ((X, X[0]),), ["pair_0", "pair_1"]),
        (lambda self, pair: self.take(pair=pair), (Pair(X, [X[:1]]),), ["pair_0", "pair_1_0"]),
        (lambda self, given: self.take(given=given), (Given(X),), ["given_mask"]),
        (lambda self, given: self.take(given=given), ({"a b": X, "a_b": X + 1},), ["given_a_b", "given_a_b_"]),
        (lambda self, *xs: self.take(xs=xs), (X, X + 1), ["xs_0", "xs_1"]),
        (lambda self, y, *xs: self.take(y=y, xs=xs), (X, X + 1), ["y", "xs_0"]),
        (lambda self, **named: self.take(**named), {"a": X, "b": X + 1}, ["a", "b"]),
        (lambda self, x, /: self.take(x=x), (X,), ["x"]),
        (lambda self, x: self.take(x=x), X, ["x"]),
        (lambda self, x: self.take(x=x), [X], ["x"]),
        (lambda self, x: self.take(x=x), (X.to_sparse(),), ["x"]),
        (lambda self, x, rest: self.take(x=x, rest=rest), (X, torch.zeros(0, 5)), ["x", "rest"]),
        (lambda self: self.take(), (), []),
        (lambda self: self.take(), {}, []),
    ],
)
def test_inputs_come_as_they_were_given(forward: Any, example: Any, names: list[str]) -> None:
    seen, _ = run(module := taking(forward), example)
    entered = [tensor.name for tensor in seen.recording.tensors if tensor.origin == "input"]
    assert entered == names
    for tensor in tensors_in(module.given).values():
        if tensor.layout is torch.strided and tensor.dim() > 1 and len(tensor):
            assert len(tensor) == PROBE.batch
            assert torch.equal(tensor[2], tensor[0])
    given = example.values() if isinstance(example, dict) else [] if isinstance(example, torch.Tensor) else example
    taken = [value for name, value in module.given.items() if name != "xs"] + list(module.given.get("xs", ()))
    for was, came in zip(given, taken, strict=isinstance(example, tuple | dict)):
        assert type(was) is type(came)
        assert not isinstance(was, int | None) or was == came


def test_a_model_without_arguments_needs_no_example() -> None:
    seen, _ = run(taking(lambda self: self.take()))
    assert len(seen.operations("sin")) == 1


def test_hooks_before_the_model_see_the_inputs_by_position() -> None:
    module = taking(lambda self, x: self.take(x=x))
    given: list[Any] = []
    module.register_forward_pre_hook(lambda _, args: given.append(args) or (args[0],))  # type: ignore[func-returns-value]
    run(module, (X, 3))
    ((x, number),) = given
    assert (len(x), number) == (3, 3)


@pytest.mark.parametrize(
    ("example", "words"),
    [
        ((X, X, X), "too many positional arguments"),
        ({"x": X, "z": X}, "unexpected keyword argument 'z'"),
        ({"y": X}, "missing a required argument: 'x'"),
        ((), "missing a required argument: 'x'"),
        (3, "int, which is no example inputs"),
        ("x", "str, which is no example inputs"),
        ((torch.zeros(0, 5),), r"empty: x is \[0, 5\]"),
        ((torch.zeros(2, 5, device="meta"),), "x is on the meta device"),
        (None, "gives no example inputs"),
    ],
)
def test_inputs_that_cannot_be_given_are_told(example: Any, words: str) -> None:
    with pytest.raises(ConfigurationError, match=words) as caught:
        run(taking(lambda self, x, y=None: self.take(x=x, y=y)), example)
    assert caught.value.where == "shop:build"
    assert caught.value.advice


def outer(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(self: Any, first: Any, second: Any) -> Any:
        return function(self, first + second)

    return wrapper


def test_a_wrapper_may_take_more_than_what_it_wraps() -> None:
    module = taking(outer(lambda self, x: self.take(x=x)))
    run(module, (X, X))
    assert torch.equal(module.given["x"][:2], X + X)


def test_a_key_that_the_factory_does_not_take_is_told() -> None:
    def build(hidden_size: int = 8, /, *, inner: int = 4) -> nn.Module:
        return nn.Linear(8, inner)

    with pytest.raises(ConfigurationError, match=r"shop:build takes no inner_size; it takes inner\.") as caught:
        subject_of(build, inner=5, inner_size=6)
    assert caught.value.where == "inner_size"
    assert subject_of(build, inner=5).configuration == {"inner": 5}
    assert subject_of(lambda **sizes: nn.Linear(8, **sizes), inner=5).configuration == {"inner": 5}


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.cell = nn.Embedding(9, 4), nn.LSTM(4, 4, batch_first=True)


class Open(Recurrent):
    def forward(self, input_ids: torch.Tensor, **kwargs: Any) -> Any:
        assert not kwargs
        return self.cell(self.embed(input_ids))


class Stateless(Recurrent):
    def forward(self, input_ids: torch.Tensor) -> Any:
        return self.cell(self.embed(input_ids))


class Stateful(Recurrent):
    def forward(self, input_ids: torch.Tensor, state: Any = None, use_cache: bool = False, scale: float = 1.0) -> Any:
        assert use_cache
        assert scale == 2
        return self.cell(self.embed(input_ids) * scale, state)


@pytest.mark.parametrize("kind", [Open, Stateless])
def test_a_pair_is_no_cache_unless_forward_takes_one(kind: type[nn.Module]) -> None:
    seen, notes = run(kind())
    assert notes == [probes.NO_CACHE]
    assert {call.phase for call in seen.recording.calls} == {"prefill"}


def test_a_cache_goes_back_where_forward_has_a_name_for_it() -> None:
    ids = torch.randint(0, 9, (2, 6))
    seen, notes = run(Stateful(), {"input_ids": ids, "scale": 2.0})
    again, _ = run(Stateful(), (ids, None, True, 2.0))
    assert notes == []
    for each in (seen, again):
        first, second = (call for call in each.recording.calls if call.parent < 0)
        assert (first.phase, second.phase) == ("prefill", "decode")
        assert (first.arguments["state"], second.arguments["scale"]) == (None, 2.0)
        assert second.arguments["state"] == first.result["list"][1]
        assert each.recording.tensors[second.arguments["input_ids"]["tensor"]].shape == [3, 1]


def test_only_what_hands_keywords_on_is_given_others() -> None:
    """As ``forward`` of transformers do, which name neither."""
    given: list[dict[str, Any]] = []

    class Hands(Recurrent):
        def forward(self, input_ids: torch.Tensor, **kwargs: Any) -> Any:
            given.append(kwargs)
            return {"logits": self.embed(input_ids), "past_key_values": [1]}

    model = Hands()
    for passed_on in (False, True):
        recorder = probes.Recorder(model, roots={}, keep_values=False)
        inputs = Inputs({"input_ids": torch.ones(1, 2, dtype=torch.int64)}, passed_on=passed_on)
        notes = probes.run_phases(model, recorder, inputs, 0)
        assert bool(notes) is not passed_on
    assert given == [{}, {"use_cache": True}, {"use_cache": True, "past_key_values": [1]}]


def generator(self: Any, x: torch.Tensor) -> Any:
    yield self.take(x=x)


async def coroutine(self: Any, x: torch.Tensor) -> Any:
    return self.take(x=x)


async def asynchronous(self: Any, x: torch.Tensor) -> Any:
    yield self.take(x=x)


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
@pytest.mark.parametrize(
    ("forward", "kind"),
    [(generator, "generator"), (coroutine, "coroutine"), (asynchronous, "async generator")],
)
def test_what_forward_only_promises_is_not_run(forward: Any, kind: str) -> None:
    with pytest.raises(ModelCodeError, match=f"forward returned a {kind}, which nobody ran") as caught:
        run(taking(forward), (X,))
    assert caught.value.where == "Model.forward"
    assert caught.value.advice
    promising = taking(lambda self, x: forward(self, x.sin()))
    seen, notes = run(promising, (X,))
    assert f"returned a {kind}, which nobody ran" in notes[0]
    assert [operation.function for operation in seen.recording.operations] == ["torch.Tensor.sin"]
