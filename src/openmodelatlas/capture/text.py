"""Source text in the lines that Python counts."""

from __future__ import annotations

import re

_END = re.compile(r"\r\n|\r|\n")


def lines_of(text: str) -> list[str]:
    """The lines of ``text`` without their ends, and without a byte order mark, as Python's line numbers count them.

    Only ``\\n``, ``\\r\\n`` and ``\\r`` end a line (https://docs.python.org/3/reference/lexical_analysis.html).
    :meth:`str.splitlines` also splits at form feeds, which older code puts between classes, and at others.
    """
    return _END.split(text.removeprefix("\ufeff"))
