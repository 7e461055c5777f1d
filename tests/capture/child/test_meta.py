"""Functions on tensors without values: a result that is known already is the one that torch would give."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from openmodelatlas.capture.child.functions import torch_function
from openmodelatlas.capture.child.meta import MetaFunctions


def _made(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.empty(shape, dtype=dtype, device="meta")


def _told(tensor: torch.Tensor) -> tuple[Any, ...]:
    return tensor.shape, tensor.stride(), tensor.dtype, tensor.device.type, tensor.storage_offset()


def _run(functions: MetaFunctions, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    return functions.function(torch_function(func), func)(*args, **kwargs)


Example = tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]

CALLS: list[Example] = [
    (torch.Tensor.mul, lambda: (_made(2, 1, 4), _made(3, 1))),
    (torch.Tensor.add, lambda: (_made(2, 3, dtype=torch.int64), 1)),
    (torch.Tensor.add, lambda: (_made(2, 3, dtype=torch.int64), 1.0)),
    (torch.Tensor.add, lambda: (_made(2, 3, dtype=torch.bool), True)),
    (torch.Tensor.add, lambda: (_made(2, 3, dtype=torch.bool), 1)),
    (torch.Tensor.float, lambda: (_made(2, 3, dtype=torch.bfloat16),)),
    (torch.Tensor.float, lambda: (_made(2, 3),)),
    (torch.Tensor.transpose, lambda: (_made(2, 3), 0, 1)),
    (torch.Tensor.contiguous, lambda: (_made(2, 3),)),
    (torch.Tensor.contiguous, lambda: (_made(2, 3).t(),)),
    (torch.Tensor.reshape, lambda: (_made(2, 3), 6)),
    (torch.Tensor.reshape, lambda: (_made(2, 3).t(), 6)),
    (torch.Tensor.mul_, lambda: (_made(2, 3), 2)),
    (torch.Tensor.__getitem__, lambda: (_made(4, 3), (slice(0, 2), None, ...))),
    (torch.cat, lambda: ([_made(2, 3), _made(1, 3)],)),
    (torch.Tensor.split, lambda: (_made(4, 3), 2)),
    (torch.nn.functional.softmax, lambda: (_made(2, 3), -1)),
    (torch.nn.functional.linear, lambda: (_made(2, 3), torch.nn.Parameter(_made(5, 3)))),
]


@given(st.lists(st.sampled_from(CALLS), min_size=1, max_size=12))
def test_results_are_those_that_torch_gives(
    calls: list[tuple[Callable[..., Any], Callable[[], tuple[Any, ...]]]],
) -> None:
    functions = MetaFunctions()
    with torch.no_grad():
        for func, arguments in [*calls, *calls]:
            args = arguments()
            known, asked = _run(functions, func, *args), func(*args)
            several = isinstance(asked, tuple | list)
            for one, two in zip(known, asked, strict=True) if several else [(known, asked)]:
                assert _told(one) == _told(two)
                shares = [one.untyped_storage()._cdata == t.untyped_storage()._cdata for t in _tensors(args)]
                assert shares == [two.untyped_storage()._cdata == t.untyped_storage()._cdata for t in _tensors(args)]


def _tensors(values: Any) -> list[torch.Tensor]:
    found = [value for value in values if isinstance(value, torch.Tensor)]
    return found + [inner for value in values if isinstance(value, list) for inner in _tensors(value)]


def test_equal_arguments_are_asked_for_once() -> None:
    functions, asked = MetaFunctions(), []

    def scaled(tensor: torch.Tensor, factor: float) -> torch.Tensor:
        asked.append(factor)
        return tensor * factor

    with torch.no_grad():
        for _ in range(3):
            assert _told(_run(functions, scaled, _made(2, 3), 2.0)) == _told(_made(2, 3))
    assert asked == [2.0]


def test_a_function_that_writes_is_always_run() -> None:
    functions = MetaFunctions()

    def counted(total: torch.Tensor, more: torch.Tensor) -> torch.Tensor:
        total.add_(more)
        return more + 1

    total = _made(2)
    with torch.no_grad():
        for _ in range(3):
            _run(functions, counted, total, _made(2))
    assert total._version == 3


@pytest.mark.parametrize("argument", [object(), _told, torch.zeros(2), 1j])
def test_what_other_arguments_do_is_never_assumed(argument: Any) -> None:
    functions, asked = MetaFunctions(), []

    def taken(tensor: torch.Tensor, other: Any) -> torch.Tensor:
        asked.append(other)
        return tensor + 1

    for _ in range(2):
        _run(functions, taken, _made(2), argument)
    assert len(asked) == 2
