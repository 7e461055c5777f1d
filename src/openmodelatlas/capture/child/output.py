"""What the child writes, as JSON. Text of model code may hold halves of characters, which UTF-8 cannot."""

from __future__ import annotations

from collections.abc import Container
from itertools import count
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


def distinct(key: str, taken: Container[str]) -> str:
    """``key``, or what is not ``taken`` and shows that it is a further one: ``key (2)``."""
    if key not in taken:
        return key
    return next(other for number in count(2) if (other := f"{key} ({number})") not in taken)


def _written_out(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.isascii() else value.encode(errors="backslashreplace").decode()
    if isinstance(value, dict):
        written: dict[Any, Any] = {}
        for key, item in value.items():
            written[distinct(_written_out(key), written)] = _written_out(item)
        return written
    if isinstance(value, (list, tuple)):
        return [_written_out(item) for item in value]
    return value
