"""Mark-up of texts and formulas: code between backticks, LaTeX between dollar signs, terms that light."""

from __future__ import annotations

import re
from collections.abc import Iterator

_MARK = re.compile(r"\\htmlData\{[^{}]*\}")
_DOLLAR = re.compile(r"(?<![\\$])\$(?![\s$])((?:\\.|[^$\\\n`])+?)(?<!\s)\$(?!\d)")


def without_marks(latex: str) -> str:
    r"""A formula without ``\htmlData{light=…}``; the braces around the term stay."""
    return _MARK.sub("", latex) if "htmlData" in latex else latex


def split(text: str) -> Iterator[tuple[str, str]]:
    """Parts of a text as (kind, content): ``text``, ``code`` between backticks, ``latex`` between dollar signs.

    An odd backtick is no mark-up, and neither is a dollar sign before a blank or a number after it, as in prices.
    """
    parts = text.split("`")
    if len(parts) % 2 == 0:
        parts = [text]
    for index, part in enumerate(parts):
        if index % 2:
            yield "code", part
            continue
        position = 0
        for found in _DOLLAR.finditer(part):
            if found.start() > position:
                yield "text", part[position : found.start()]
            yield "latex", found[1]
            position = found.end()
        if position < len(part):
            yield "text", part[position:]
