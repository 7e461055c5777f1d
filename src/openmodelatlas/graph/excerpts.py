"""Parses one function without the rest of its file: of a file of five thousand lines often three of one helper ran."""

from __future__ import annotations

import ast
from collections.abc import Sequence

_HEADS = ("def ", "async def ")
Definition = ast.FunctionDef | ast.AsyncFunctionDef


def parse_function(lines: Sequence[str], first_line: int, name: str) -> Definition | None:
    """The statement of a function, with the positions that it has in the file; ``None`` where the file must tell.

    The excerpt ends where a line is not indented more than the function. That such a line belongs to a text, a bracket
    or a continued line shows: what is cut in two does not parse.

    Args:
        lines: of the whole file.
        first_line: where the function begins, decorators included.
        name: its own name, without those of the classes around it.
    """
    above = next((line.strip() for line in reversed(lines[: first_line - 1]) if line.strip()), "")
    if above.startswith(("@", ")")):  # it may have begun there
        return None
    excerpt = _excerpt(lines[first_line - 1 :])
    indented = excerpt[:1] != excerpt[:1].lstrip()
    before = "\n" * (first_line - 2) + "if True:\n" if indented else "\n" * (first_line - 1)
    try:
        (statement,) = ast.parse(before + excerpt).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    if isinstance(statement, ast.If) and len(statement.body) == 1:
        statement = statement.body[0]
    found = isinstance(statement, Definition) and statement.name == name
    return statement if found else None  # type: ignore[return-value]


def _excerpt(lines: Sequence[str]) -> str:
    """The first of ``lines`` and those that go on with it; nothing where tabs leave open what is indented more."""
    taken: list[str] = []
    first = lines[0].lstrip() if lines else ""
    margin = len(lines[0]) - len(first) if lines else 0
    if not first.startswith(("@", *_HEADS)):
        return ""
    defined = False  # lines of decorators come first
    for line in lines:
        text = line.lstrip()
        indent = line[: len(line) - len(text)]
        if text and "\t" in indent:
            return ""
        if defined and text and text[0] not in "#)]}" and len(indent) <= margin:
            break
        defined = defined or text.startswith(_HEADS)
        taken.append(line)
    return "\n".join(taken)
