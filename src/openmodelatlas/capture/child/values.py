"""Write the captured values: one safetensors file (https://github.com/huggingface/safetensors, section "Format")."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import torch

_TYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
    torch.complex64: "C64",
}

_TOGETHER = 2**17
"""Elements that are joined before they are written: one system call for many small tensors, and memory used again."""


def write_values(path: Path, values: dict[str, torch.Tensor]) -> list[str]:
    """Write tensors of any shape by their decimal numbers, each whole whatever it shares memory with.

    Layout: the header's length as 64-bit little-endian integer, the JSON header padded with spaces to 8 bytes, the
    data of all tensors one after the other, row-major: type by type in the order of the table above (so that thousands
    of them are joined in one step), in number order within a type.

    Returns:
        names of tensors whose type the format does not know; they are left out.
    """
    by_type: dict[torch.dtype, list[str]] = {kind: [] for kind in _TYPES}
    unknown: list[str] = []
    for name in sorted(values, key=int):
        by_type.get(values[name].dtype, unknown).append(name)
    header: dict[str, object] = {}
    offset = 0
    for kind, names in by_type.items():
        for name in names:
            end = offset + values[name].numel() * kind.itemsize
            header[name] = {"dtype": _TYPES[kind], "shape": list(values[name].shape), "data_offsets": (offset, end)}
            offset = end
    text = msgspec.json.encode(header)
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for names in by_type.values():
            for joined in _joined([values[name] for name in names]):
                file.write(joined.view(torch.uint8).numpy().data)
    return unknown


def _joined(tensors: list[torch.Tensor]) -> Iterator[torch.Tensor]:
    """The elements of tensors of one type, one after the other, in pieces."""
    waiting: list[torch.Tensor] = []
    size = 0
    for tensor in tensors:
        if tensor.numel() == 0:
            continue
        waiting.append(tensor.detach().flatten())
        size += tensor.numel()
        if size >= _TOGETHER:
            yield torch.cat(waiting)
            waiting, size = [], 0
    if waiting:
        yield torch.cat(waiting)
