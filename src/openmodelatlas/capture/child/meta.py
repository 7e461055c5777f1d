"""Torch functions in the run at published size: those that need values, and results that are known already.

The kernels of the meta device are written in Python and take up to a tenth of a millisecond; sixty equal layers ask
them sixty times for the same answer. A new tensor without values is its shape, strides and element type, and these
follow from those of the arguments; so the second time it is made without asking.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from openmodelatlas.capture.child.encode import TENSORS
from openmodelatlas.capture.child.functions import TorchFunction
from openmodelatlas.capture.child.tensors import version_of
from openmodelatlas.capture.child.valueless import valueless_result

_PLAIN = frozenset({str, type(None), torch.dtype, torch.device, torch.Size, torch.layout, torch.memory_format})


class _UnknownError(Exception):
    """An argument of which more matters than can be told here."""


class MetaFunctions:
    """Runs torch functions on tensors without values."""

    def __init__(self) -> None:
        self._known: dict[Any, tuple[tuple[int, ...], tuple[int, ...], torch.dtype] | None] = {}

    def function(self, known: TorchFunction, func: Callable[..., Any]) -> Callable[..., Any]:
        """``func`` for tensors of the meta device.

        Raises (when called):
            ValueNeededError: see :func:`.valueless.valueless_result`.
        """

        def run(*args: Any, **kwargs: Any) -> Any:
            result = valueless_result(known.short, known.name, args, kwargs)
            return self._result(func, args, kwargs) if result is None else result

        return run

    def _result(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            key = (
                func,
                torch.is_grad_enabled(),
                torch.get_default_dtype(),
                tuple([_description(value) for value in args]),
                tuple([(name, _description(value)) for name, value in kwargs.items()]),
            )
        except Exception:  # _UnknownError, or what a class raises that cannot be hashed
            return func(*args, **kwargs)
        found = self._known.get(key)
        if found is not None:
            shape, strides, dtype = found
            return torch.empty_strided(shape, strides, dtype=dtype, device="meta")
        if key in self._known:
            return func(*args, **kwargs)
        read = _tensors([*args, *kwargs.values()])
        versions = [version_of(tensor) for tensor in read]
        result = func(*args, **kwargs)
        written = versions != [version_of(tensor) for tensor in read]
        self._known[key] = None if written else _new_tensor(result, read)
        return result


def _description(value: Any) -> Any:
    """What of an argument decides on the result's shape, strides and element type, and on whether it is new."""
    kind = type(value)
    if kind in TENSORS:
        if not value.is_meta or value.layout is not torch.strided or value.is_neg() or value.is_conj():
            raise _UnknownError
        return value.shape, value.stride(), value.dtype, value.requires_grad
    if kind is int or kind in _PLAIN:
        return value
    if kind is bool or kind is float:
        return kind, value  # 1 == 1.0 == True, but they promote differently
    if kind is list or kind is tuple:
        return kind, tuple([_description(item) for item in value])
    if kind is slice:
        return kind, _description(value.start), _description(value.stop), _description(value.step)
    if value is ...:
        return kind
    raise _UnknownError


def _new_tensor(result: Any, read: list[torch.Tensor]) -> tuple[tuple[int, ...], tuple[int, ...], torch.dtype] | None:
    """Shape, strides and type of a result that is new and shares no memory; ``None`` of any other."""
    if type(result) is not torch.Tensor or not result.is_meta or result.layout is not torch.strided:
        return None
    if result.requires_grad or result.is_neg() or result.is_conj() or result.storage_offset() != 0:
        return None
    storage = result.untyped_storage()._cdata
    if any(tensor.untyped_storage()._cdata == storage for tensor in read):
        return None
    return tuple(result.shape), result.stride(), result.dtype


def _tensors(values: Any) -> list[torch.Tensor]:
    found: list[torch.Tensor] = []
    for value in values:
        if isinstance(value, torch.Tensor):
            found.append(value)
        elif isinstance(value, list | tuple):
            found += _tensors(value)
    return found
