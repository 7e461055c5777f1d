"""A module's call is what runs as its ``forward``, whatever that is called, and what hooks do around it."""

from __future__ import annotations

import functools
import types

import pytest
import torch
from torch import nn

from .recording_of import Seen, check_invariants, record


def checked(model: nn.Module, *inputs: torch.Tensor, **keywords) -> Seen:
    seen = record(model, *inputs, **keywords)
    check_invariants(seen.recording)
    return seen


def step(module, x, power=1):
    return module.inner(x).sin() ** power


def silent(function):
    def wrapper(self, x):
        return function(self, x) * 2

    return wrapper


def told(function):
    @functools.wraps(function)
    def wrapper(self, x):
        return function(self, x) * 2

    return wrapper


class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Identity()


class Alias(Base):
    def run(self, x):
        return step(self, x)

    forward = run


class Nameless(Base):
    forward = lambda module, x: step(module, x)  # noqa: E731, PLW0108


class Partial(Base):
    forward = functools.partialmethod(step, power=2)


class Called(Base):
    def __call__(self, x):
        return step(self, x)


class Patched(Base):
    def __init__(self):
        super().__init__()
        self.forward = types.MethodType(step, self)


class PatchedPartial(Base):
    def __init__(self):
        super().__init__()
        self.forward = functools.partial(step, self, power=2)


class WrappedAlias(Base):
    @told
    def run(self, x):
        return step(self, x)

    forward = run


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (Alias, "Alias.run"),
        (Nameless, "Nameless.<lambda>"),
        (Partial, "step"),
        (Called, "Called.__call__"),
        (Patched, "step"),
        (PatchedPartial, "step"),
        (WrappedAlias, "WrappedAlias.run"),
    ],
)
@pytest.mark.parametrize("nested", [False, True])
def test_the_forward_of_a_module_may_have_any_name(kind, name, nested):
    module = kind()
    seen = checked(nn.Sequential(module, nn.ReLU()) if nested else module, torch.rand(2))
    call = seen.call_of("0" if nested else "")
    assert call.kind == "module"
    assert seen.recording.codes[call.code].name == name
    assert list(call.arguments)[:1] == ["x"]
    inner = seen.call_of("0.inner" if nested else "inner")
    assert inner.kind == "module"
    sine = seen.operation("sin")
    calls = seen.recording.calls
    chain = [sine.call]
    while calls[chain[-1]].parent >= 0:
        chain.append(calls[chain[-1]].parent)
    assert call in [calls[index] for index in chain]


class Closure(Base):
    def __init__(self):
        super().__init__()
        self.forward = lambda x: step(self, x)


class Callable_:
    def __init__(self, module):
        self.module = [module]

    def __call__(self, x):
        return step(self.module[0], x)


class WithCallable(Base):
    def __init__(self):
        super().__init__()
        self.forward = Callable_(self)


@pytest.mark.parametrize("kind", [Closure, WithCallable])
def test_a_forward_that_is_not_told_its_module_is_that_of_the_module_called(kind):
    seen = checked(nn.Sequential(kind(), kind(), kind()), torch.rand(2))
    for index in range(3):
        call = seen.call_of(f"{index}")
        (inside,) = (other for other in seen.recording.calls if seen.recording.calls[other.parent] is call)
        assert (call.kind, call.name, inside.kind) == ("module", kind.__name__, "function")
        assert list(call.arguments) == list(inside.arguments) == ["x"]
        assert seen.call_of(f"{index}.inner").parent > 0


class Silent(Base):
    @silent
    def forward(self, x):
        return step(self, x)


class Told(Base):
    @told
    def forward(self, x):
        return step(self, x)


class Helped(Base):
    def run(self, x):
        return step(self, x)

    def forward(self, x):
        return self.run(x)


class Checkpointed(Base):
    def __call__(self, x):
        return super().__call__(x) * 2

    def forward(self, x):
        return step(self, x)


@pytest.mark.parametrize("kind", [Silent, Told, Helped, Checkpointed])
def test_a_function_called_forward_stays_the_call_of_its_module(kind):
    seen = checked(kind(), torch.rand(2))
    assert seen.recording.codes[seen.call_of("").code].name == f"{kind.__name__}.forward"


class Hooked(nn.Module):
    def __init__(self, *hooks):
        super().__init__()
        self.inner = nn.Identity()
        for register, hook in hooks:
            for module in (self, self.inner):
                getattr(module, register)(hook)

    def forward(self, x, /, scale=1):
        return self.inner(x * scale)


def before(module, given):
    return tuple(value * 2 for value in given)


def before_with_names(module, given, named):
    return tuple(value * 2 for value in given), named | {"scale": 3}


def after(module, given, result):
    return result.cos()


@pytest.mark.parametrize(
    ("hooks", "operations"),
    [
        ([("register_forward_hook", after)], ["__mul__", "cos", "cos"]),
        ([("register_forward_hook", torch.nn.functional.relu6)], None),
        ([("register_forward_pre_hook", before)], ["__mul__", "__mul__", "__mul__"]),
        (
            [("register_forward_pre_hook", before), ("register_forward_hook", after)],
            ["__mul__", "__mul__", "__mul__", "cos", "cos"],
        ),
    ],
)
def test_hooks_of_the_model_belong_to_its_call(hooks, operations):
    if operations is None:  # a hook with no line of the model's own code
        hooks = [("register_forward_hook", functools.partial(lambda f, *given: f(given[2]), hooks[0][1]))]
        operations = ["__mul__", "relu6", "relu6"]
    seen = checked(Hooked(*hooks), torch.rand(2))
    (root,) = (call for call in seen.recording.calls if call.parent < 0)
    assert (root.kind, root.name, root.arguments) == ("module", "Hooked", {"x": {"tensor": 0}})
    assert [o.function.rsplit(".", 1)[-1] for o in seen.recording.operations] == operations
    assert root.result == {"tensor": seen.recording.operations[-1].outputs[0]}
    (forward,) = seen.calls("forward")
    assert seen.recording.calls[forward.parent] is root


def test_hooks_may_change_what_forward_takes():
    model = Hooked()
    model.register_forward_pre_hook(before_with_names, with_kwargs=True)
    model.register_forward_pre_hook(lambda module, given: given[:1])
    seen = checked(model, torch.rand(2), torch.rand(2), torch.rand(3))
    (root,) = (call for call in seen.recording.calls if call.parent < 0)
    assert root.arguments == {"args": {"list": [{"tensor": 0}, {"tensor": 1}, {"tensor": 2}]}}
    (forward,) = seen.calls("forward")
    assert forward.arguments["scale"] == 3


def test_without_hooks_a_model_is_called_as_ever():
    seen = checked(Hooked(), torch.rand(2))
    (root,) = (call for call in seen.recording.calls if call.parent < 0)
    assert seen.recording.codes[root.code].name == "Hooked.forward"
