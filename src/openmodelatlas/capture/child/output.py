"""What the child writes, as JSON. Text of model code may hold halves of characters, which UTF-8 cannot."""

from __future__ import annotations

from typing import Any

import msgspec


def encoded(value: Any) -> bytes:
    r"""UTF-8 JSON of ``value``; a lone surrogate in its text becomes ``\udc80``, written out."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_written_out(msgspec.to_builtins(value, enc_hook=_decoded)))


def _decoded(part: Any) -> Any:
    """What of ``value`` is JSON already."""
    return msgspec.json.decode(part)


def _written_out(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode(errors="backslashreplace").decode()
    if isinstance(value, dict):
        return {_written_out(key): _written_out(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_written_out(item) for item in value]
    return value
