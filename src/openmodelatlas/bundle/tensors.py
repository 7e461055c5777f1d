"""Tensor values without numpy: reads and writes the safetensors format.

The format is eight bytes with the little-endian length of a JSON header, the header (name to dtype, shape and the
half-open byte range within the data), then the data (https://github.com/huggingface/safetensors, README, "Format").
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import msgspec

from openmodelatlas.capture import values as captured
from openmodelatlas.errors import BundleError

# Code in the file: format of ``struct`` (``None``: decoded by hand).
_FORMATS = {
    "BOOL": "?",
    "U8": "B",
    "I8": "b",
    "I16": "h",
    "U16": "H",
    "I32": "i",
    "U32": "I",
    "I64": "q",
    "U64": "Q",
    "F16": "e",
    "BF16": None,
    "F32": "f",
    "F64": "d",
}
DTYPES = {code: (*captured.DTYPES[code], letter) for code, letter in _FORMATS.items()}
"""Code in the file: name on pages, bytes an element takes, format of ``struct``. Values of other types are not kept."""
_CODES = {name: code for code, (name, _, _) in DTYPES.items()}


class TensorValue(msgspec.Struct, frozen=True, kw_only=True):
    """The values of one tensor.

    Attributes:
        dtype: ``float32``, ``bfloat16``, ``int64``, ``bool``, …
        shape: sizes in elements, one per axis.
        data: little-endian elements in row-major order.
    """

    dtype: str
    shape: tuple[int, ...]
    data: bytes

    def elements(self) -> list[Any]:
        """All elements as Python numbers in row-major order, ``prod(shape)`` of them.

        Raises:
            BundleError: the data is shorter or longer than dtype and shape say.
        """
        _, size, code = DTYPES[_code_of(self.dtype)]
        count = prod(self.shape)
        if len(self.data) != count * size:
            raise BundleError(
                f"A tensor of shape {list(self.shape)} and dtype {self.dtype} has {len(self.data)} bytes."
            )
        if code is None:  # a bfloat16 is the upper half of a float32
            halves = struct.unpack(f"<{count}H", self.data)
            return list(struct.unpack(f"<{count}f", struct.pack(f"<{count}I", *(half << 16 for half in halves))))
        return list(struct.unpack(f"<{count}{code}", self.data))


class _Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One tensor in the header."""

    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


class TensorFile:
    """A safetensors file, of which single tensors are read when they are asked for."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._entries, self._start = _read_header(path)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Any:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, key: str) -> TensorValue:
        """The tensor called ``key``.

        Raises:
            KeyError: there is no such tensor.
            BundleError: the file is shorter than its header says, or cannot be read.
        """
        entry = self._entries[key]
        begin, end = entry.data_offsets
        try:
            with self._path.open("rb") as file:
                file.seek(self._start + begin)
                data = file.read(end - begin)
        except OSError as error:
            raise BundleError(f"The values cannot be read: {error.strerror}.", where=str(self._path)) from error
        if len(data) != end - begin:
            raise BundleError("The file ends before its last tensor.", where=str(self._path))
        return TensorValue(dtype=DTYPES[entry.dtype][0], shape=entry.shape, data=data)


def encode_tensors(tensors: Mapping[str, TensorValue]) -> bytes:
    """A safetensors file; equal tensors give equal bytes (keys sorted, data in the same order).

    Raises:
        BundleError: a dtype is unknown, or the data of a tensor does not fit its shape.
    """
    header: dict[str, dict[str, Any]] = {}
    chunks: list[bytes] = []
    offset = 0
    for key in sorted(tensors):
        tensor = tensors[key]
        code = _code_of(tensor.dtype)
        if len(tensor.data) != prod(tensor.shape) * DTYPES[code][1]:
            raise BundleError(f"The data of tensor {key} does not fit its shape {list(tensor.shape)}.")
        header[key] = {"dtype": code, "shape": tensor.shape, "data_offsets": (offset, offset + len(tensor.data))}
        chunks.append(tensor.data)
        offset += len(tensor.data)
    text = msgspec.json.encode(header)
    text += b" " * (-len(text) % 8)
    return b"".join([struct.pack("<Q", len(text)), text, *chunks])


def _code_of(dtype: str) -> str:
    code = _CODES.get(dtype)
    if code is None:
        raise BundleError(f"Values of dtype {dtype} cannot be stored.")
    return code


def _read_header(path: Path) -> tuple[dict[str, _Entry], int]:
    """The header's entries and the position at which the data begins."""
    try:
        with path.open("rb") as file:
            first = file.read(8)
            length = struct.unpack("<Q", first)[0] if len(first) == 8 else captured.LARGEST_HEADER + 1
            if length > captured.LARGEST_HEADER:
                raise BundleError("This is not a safetensors file.", where=str(path))
            text = file.read(length)
            file.seek(0, 2)
            available = file.tell() - 8 - length
    except OSError as error:
        raise BundleError(f"The values cannot be read: {error.strerror}.", where=str(path)) from error
    try:
        table = msgspec.json.decode(text, type=dict[str, Any])
        table.pop("__metadata__", None)
        entries = msgspec.convert(table, dict[str, _Entry])
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise BundleError(f"The header of the values is corrupt: {error}.", where=str(path)) from error
    for key, entry in entries.items():
        begin, end = entry.data_offsets
        if entry.dtype not in DTYPES or any(size < 0 for size in entry.shape):
            raise BundleError(f"Tensor {key} has dtype {entry.dtype} and shape {list(entry.shape)}.", where=str(path))
        if not 0 <= begin <= end <= available or end - begin != prod(entry.shape) * DTYPES[entry.dtype][1]:
            raise BundleError(f"Tensor {key} does not lie within the file.", where=str(path))
    return entries, 8 + length
