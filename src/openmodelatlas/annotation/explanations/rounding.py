"""What a number becomes in a narrower element type."""

from __future__ import annotations

import struct

_CUT = {"bfloat16": 16, "float32": 0}
"""Bits that the type leaves out at the end of a float32."""


def rounded(value: float, dtype: str) -> float | None:
    """``value`` in ``dtype``, rounded to nearest, ties to even (IEEE 754); ``None`` for types that are not known here.

    ``float16`` has an exponent of its own and goes through Python's own conversion.
    """
    if dtype == "float16":
        return float(struct.unpack("<e", struct.pack("<e", value))[0])
    if dtype not in _CUT:
        return None
    cut = _CUT[dtype]
    bits = struct.unpack("<I", struct.pack("<f", value))[0]
    if cut:
        half = (1 << (cut - 1)) - 1 + ((bits >> cut) & 1)
        bits = ((bits + half) >> cut) << cut
    return float(struct.unpack("<f", struct.pack("<I", bits))[0])
