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
    """Arrays of one atlas by the key of the value, decoded when they are first asked for."""

    def __init__(self, code: Code) -> None:
        self._code = code
        self._native: dict[str, Array | None] = {}
        self._exact: dict[str, Array | None] = {}

    def native(self, key: str) -> Array | None:
        """The value with its own element type; ``None`` if it is not at hand."""
        if key not in self._native:
            value = self._code.value(key)
            self._native[key] = None if value is None else array(value)
        return self._native[key]

    def exact(self, key: str) -> Array | None:
        """The value for evaluation: floating point as float64, integers and booleans as they are."""
        if key not in self._exact:
            found = self.native(key)
            if found is not None and found.dtype.kind == "f":
                found = found.astype(np.float64)
            self._exact[key] = found
        return self._exact[key]
