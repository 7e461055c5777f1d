"""Source text in the lines that Python counts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

_END = re.compile(r"\r\n|\r|\n")


def lines_of(text: str) -> list[str]:
    """The lines of ``text`` without their ends, and without a byte order mark, as Python's line numbers count them.

    Only ``\\n``, ``\\r\\n`` and ``\\r`` end a line (https://docs.python.org/3/reference/lexical_analysis.html).
    :meth:`str.splitlines` also splits at form feeds, which older code puts between classes, and at others.
    """
    return _END.split(text.removeprefix("\ufeff"))


def sha256_of_lines(lines: Sequence[str], first: int, last: int) -> str:
    """SHA-256, in hexadecimal, of the lines ``first`` to ``last`` (1-based) in UTF-8, each ended by a line feed."""
    text = "".join(f"{line}\n" for line in lines[first - 1 : last])
    return hashlib.sha256(text.encode("utf-8", errors="surrogateescape")).hexdigest()
