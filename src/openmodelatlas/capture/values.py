"""The tensors of the value probe: a safetensors file from the child, checked and then held open.

Format: https://github.com/huggingface/safetensors#format (length of the header, header as
JSON, bytes of the tensors).
Read here with ``msgspec`` and ``mmap``, so that no tensor library is needed. The optional entry
``__metadata__`` of the format is refused: the child writes none.
"""

from __future__ import annotations

import mmap
import os
from math import prod
from pathlib import Path
from typing import BinaryIO

import msgspec

from openmodelatlas.capture import reading
from openmodelatlas.capture.recording import Recording
from openmodelatlas.errors import RecordingError

FILE_NAME = "values.safetensors"
LARGEST_HEADER = 100_000_000
"""In bytes."""

# dtype in the file: (dtype of torch, bytes of one element)
DTYPES = {
    "BOOL": ("bool", 1),
    "U8": ("uint8", 1),
    "I8": ("int8", 1),
    "F8_E4M3": ("float8_e4m3fn", 1),
    "F8_E5M2": ("float8_e5m2", 1),
    "I16": ("int16", 2),
    "U16": ("uint16", 2),
    "F16": ("float16", 2),
    "BF16": ("bfloat16", 2),
    "I32": ("int32", 4),
    "U32": ("uint32", 4),
    "F32": ("float32", 4),
    "I64": ("int64", 8),
    "U64": ("uint64", 8),
    "F64": ("float64", 8),
    "C64": ("complex64", 8),
}


class Entry(msgspec.Struct, frozen=True):
    """Where one tensor lies in the file.

    Attributes:
        dtype: key of ``DTYPES``.
        shape: sizes in elements.
        data_offsets: first byte and byte after the last, counted from the end of the header.
    """

    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


class Values:
    """The values of one probe's tensors, by tensor number.

    The file stays readable after its folder has been removed. Use as a context manager, or close it.
    """

    def __init__(self, file: BinaryIO, entries: dict[int, Entry], start: int) -> None:
        self._file = file
        self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._start = start
        self.entries = entries

    def __contains__(self, number: object) -> bool:
        return number in self.entries

    def __len__(self) -> int:
        return len(self.entries)

    def data(self, number: int) -> bytes:
        """Bytes of a tensor, little-endian and row by row, as ``entries[number]`` describes. Raises KeyError."""
        first, end = self.entries[number].data_offsets
        return self._map[self._start + first : self._start + end]

    def close(self) -> None:
        """Let go of the file."""
        self._map.close()
        self._file.close()

    def __enter__(self) -> Values:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_values(folder: Path, recording: Recording, *, largest: int) -> Values | None:
    """Open the values in the child's output ``folder``; ``None`` if it left none.

    Args:
        folder: output folder.
        recording: the probe whose tensors they are.
        largest: size of the file in bytes above which it is refused.

    Raises:
        RecordingError: the file is malformed, or contradicts the recording.
    """
    try:
        descriptor = reading.open_file(folder, FILE_NAME, largest=largest)
    except FileNotFoundError:
        return None
    file = os.fdopen(descriptor, "rb")
    try:
        length = os.fstat(descriptor).st_size
        header = int.from_bytes(file.read(8), "little")
        if length < 8 or header > min(LARGEST_HEADER, length - 8):
            raise _wrong(f"its header claims {header:,} bytes")
        entries = _entries(file.read(header), length - 8 - header)
        _compare(entries, recording)
        return Values(file, entries, 8 + header)
    except BaseException:
        file.close()
        raise


def _wrong(what: str) -> RecordingError:
    return RecordingError(f"The file of tensor values is malformed: {what}.", where=FILE_NAME)


def _entries(header: bytes, length: int) -> dict[int, Entry]:
    entries: dict[int, Entry] = {}
    for name, entry in reading.decode(header, dict[str, Entry], FILE_NAME).items():
        if not (name.isascii() and name.isdigit()) or str(int(name[:20])) != name:
            raise _wrong(f"{name[:40]!r} is no tensor number")
        if entry.dtype not in DTYPES:
            raise _wrong(f"tensor {name} has the unknown type {entry.dtype[:40]!r}")
        first, end = entry.data_offsets
        if any(size < 0 for size in entry.shape) or not 0 <= first <= end <= length:
            raise _wrong(f"tensor {name} lies outside the file")
        if end - first != prod(entry.shape) * DTYPES[entry.dtype][1]:
            raise _wrong(f"tensor {name} has {end - first} bytes for the shape {list(entry.shape)}")
        entries[int(name)] = entry
    position = 0
    for first, end in sorted(entry.data_offsets for entry in entries.values()):
        if first != position:
            raise _wrong(f"its tensors overlap or leave a gap at byte {min(first, position)}")
        position = end
    if position != length:
        raise _wrong(f"{length - position} bytes belong to no tensor")
    return entries


def _compare(entries: dict[int, Entry], recording: Recording) -> None:
    for number, entry in entries.items():
        if number >= len(recording.tensors):
            raise _wrong(f"tensor {number} is not in the recording")
        tensor = recording.tensors[number]
        if tuple(tensor.shape) != entry.shape or tensor.dtype != DTYPES[entry.dtype][0]:
            raise _wrong(
                f"tensor {number} is {DTYPES[entry.dtype][0]}{list(entry.shape)}, "
                f"recorded as {tensor.dtype}{list(tensor.shape)}"
            )
