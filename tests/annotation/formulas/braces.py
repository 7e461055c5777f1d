"""Whether what is written is well-formed LaTeX."""

from __future__ import annotations

import re


def brackets_balance(text: str) -> bool:
    """Whether the braces of a piece of LaTeX close in the right order, escaped ones aside."""
    depth = 0
    for match in re.finditer(r"\\.|[{}]", text, re.DOTALL):
        if match[0] == "{":
            depth += 1
        elif match[0] == "}":
            depth -= 1
        if depth < 0:
            return False
    return depth == 0
