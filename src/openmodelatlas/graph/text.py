"""Source text on one line."""

from __future__ import annotations

import io
import tokenize


def one_line(text: str) -> str:
    """A stretch of source text without its comments, each run of space in it one character.

    Comments go before the lines are joined: afterwards one would reach to the end. Text that has no tokens of Python
    keeps them.
    """
    return " ".join((_without_comments(text) if "#" in text else text).split())


def _without_comments(text: str) -> str:
    opened = f"(\n{text}\n)"  # between brackets no line's indentation matters
    rows = opened.split("\n")
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(opened).readline))
    except (tokenize.TokenError, SyntaxError):
        return text
    if any(token.type == tokenize.ERRORTOKEN for token in tokens):
        return text
    for token in tokens:
        if token.type == tokenize.COMMENT:
            row = token.start[0] - 1
            rows[row] = rows[row][: token.start[1]]
    return "\n".join(rows[1:-1])
