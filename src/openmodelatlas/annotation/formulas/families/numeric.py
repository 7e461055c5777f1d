"""Small pieces that the families of operations share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from openmodelatlas.annotation.formulas.entry import Dtype, UnavailableError

Array = np.ndarray[Any, Any]

INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "long", "int", "short"})


def cast(x: Any, dtype: Any) -> Any:
    """``x`` as another element type; all floating types are float64 here, all integers int64."""
    if dtype is None:
        return x
    array = np.asarray(x)
    if dtype == "bool":
        return array != 0
    if dtype in INTEGERS:
        return np.trunc(array).astype(np.int64) if array.dtype.kind == "f" else array.astype(np.int64)
    if str(dtype).startswith("complex"):
        return array.astype(np.complex128)
    return array.astype(np.float64)


def as_float(x: Any) -> Array:
    """As float64."""
    return np.asarray(x, dtype=np.float64)


def flat(sizes: Any) -> tuple[int, ...]:
    """Sizes or axes that come one by one or as one list."""
    if isinstance(sizes, int | np.integer):
        return (int(sizes),)
    found: list[int] = []
    for size in sizes:
        found.extend(flat(size) if isinstance(size, list | tuple) else [int(size)])
    return tuple(found)


def axes_of(dim: Any) -> Any:
    """A ``dim`` argument as NumPy's ``axis``."""
    if dim is None or (isinstance(dim, list | tuple) and not dim):
        return None
    return flat(dim) if isinstance(dim, list | tuple) else int(dim)


def pieces(x: Array, sizes: Sequence[int], dim: int) -> tuple[Array, ...]:
    """``x`` cut along ``dim`` into parts of these sizes."""
    return tuple(np.split(x, np.cumsum(sizes)[:-1].tolist(), axis=dim)) if len(sizes) else ()


def need(condition: bool, reason: str) -> None:
    """Gives up with ``reason`` unless ``condition`` holds."""
    if not condition:
        raise UnavailableError(reason)


def is_array(x: Any) -> bool:
    """Whether an argument is a tensor (of any rank)."""
    return isinstance(x, np.ndarray)


def dtype_among(values: Iterable[Any]) -> Any:
    """The element type that ``.to(…)`` was given: a type, or that of a tensor."""
    for value in values:
        if isinstance(value, Dtype):
            return value
        if is_array(value):
            return Dtype({"b": "bool", "i": "int64", "c": "complex64"}.get(value.dtype.kind, "float32"))
    return None
