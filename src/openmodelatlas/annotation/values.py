"""Captured values as NumPy arrays, each decoded once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from openmodelatlas.annotation.material import Code, Value

Array = NDArray[Any]

_DTYPES = {
    "bool": np.bool_, "uint8": np.uint8, "int8": np.int8, "int16": np.int16, "uint16": np.uint16, "int32": np.int32,
    "uint32": np.uint32, "int64": np.int64, "uint64": np.uint64, "float16": np.float16, "float32": np.float32,
    "float64": np.float64,
}  # fmt: skip


def array(value: Value) -> Array:
    """The value with its own element type; bfloat16, which NumPy lacks, as float32, which holds it exactly.

    Raises:
        KeyError: the element type is none that NumPy can hold.
    """
    if value.dtype == "bfloat16":
        bits = np.frombuffer(value.data, dtype="<u2").astype(np.uint32) << 16
        return bits.view(np.float32).reshape(value.shape)
    found = np.frombuffer(value.data, dtype=np.dtype(_DTYPES[value.dtype]).newbyteorder("<"))
    return found.reshape(value.shape)


class Arrays:
    """Values of one atlas as evaluation takes them, by key, each decoded when it is first asked for.

    Floating-point ones are float64, integers int64, booleans as they are. They are shared, so none can be written to.
    """

    def __init__(self, code: Code) -> None:
        self._code = code
        self._known: dict[str, tuple[Array, str] | None] = {}

    def exact(self, key: str) -> Array | None:
        """The value with this key; ``None`` if it is not at hand. Raises as :func:`array`."""
        found = self.with_type(key)
        return None if found is None else found[0]

    def with_type(self, key: str) -> tuple[Array, str] | None:
        """The same with its own element type (``float32``)."""
        if key not in self._known:
            value = self._code.value(key)
            self._known[key] = None if value is None else (_widened(array(value)), value.dtype)
        return self._known[key]


def _widened(found: Array) -> Array:
    if found.dtype.kind in "iu":
        found = found.astype(np.int64)
    elif found.dtype.kind == "f":
        found = found.astype(np.float64)
    found.flags.writeable = False
    return found
