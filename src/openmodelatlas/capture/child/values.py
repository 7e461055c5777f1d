"""Write the captured values: one safetensors file (https://github.com/huggingface/safetensors, section "Format")."""

from __future__ import annotations

import json
from pathlib import Path

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


def write_values(path: Path, values: dict[str, torch.Tensor]) -> list[str]:
    """Write tensors of any shape by their decimal numbers, in number order, each whole whatever it shares memory with.

    Layout: the header's length as 64-bit little-endian integer, the JSON header padded with spaces to 8 bytes, the
    data of all tensors one after the other, row-major.

    Returns:
        names of tensors whose type the format does not know; they are left out.
    """
    header: dict[str, object] = {}
    kept: list[torch.Tensor] = []
    unknown = []
    offset = 0
    for name in sorted(values, key=int):
        tensor = values[name]
        kind = _TYPES.get(tensor.dtype)
        if kind is None:
            unknown.append(name)
            continue
        size = tensor.numel() * tensor.element_size()
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [offset, offset + size]}
        kept.append(tensor)
        offset += size
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with path.open("wb") as file:
        file.write(len(text).to_bytes(8, "little"))
        file.write(text)
        for tensor in kept:
            if tensor.numel():
                file.write(tensor.detach().contiguous().flatten().view(torch.uint8).numpy().data)
    return unknown
