"""What a range of lines is called: ``DeepseekV3Attention.forward``."""

from __future__ import annotations

import re
from collections.abc import Sequence

_DEFINITION = re.compile(r"(\s*)(?:async\s+)?(?:def|class)\s+(\w+)")


def qualified_name(lines: Sequence[str], first: int, last: int) -> str | None:
    """The name of the function or class whose definition begins in the lines ``first`` to ``last`` (1-based).

    Read from the indentation rather than parsed: the file may be written for another version of Python.

    Returns:
        ``None`` if no definition begins there.
    """
    for index in range(first - 1, min(last, len(lines))):
        match = _DEFINITION.match(lines[index])
        if match:
            return ".".join([*_enclosing(lines, index, len(match[1].expandtabs())), match[2]])
        text = lines[index].strip()
        if index > first - 1 and text and not text.startswith(("@", "#", ")")) and not lines[index][:1].isspace():
            return None
    return None


def _enclosing(lines: Sequence[str], index: int, indent: int) -> list[str]:
    """Names of the definitions around the line, outermost first."""
    names: list[str] = []
    for above in range(index - 1, -1, -1):
        if indent == 0:
            break
        line = lines[above]
        width = len(line) - len(line.lstrip())
        if width >= indent or not line.strip():
            continue
        match = _DEFINITION.match(line)
        if match:
            names.append(match[2])
            indent = len(match[1].expandtabs())
    names.reverse()
    return names
