"""Python code as highlighted tokens, line by line, and as HTML with lines marked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from markupsafe import Markup
from pygments.lexers.python import PythonLexer
from pygments.token import (
    Comment,
    Keyword,
    Name,
    Number,
    Operator,
    String,
    _TokenType,
)

from openmodelatlas.site.fields import LineRange, PageUnreached

Line = list[tuple[str, str]]
"""Tokens of one line: class (empty for plain text) and text."""

# Few classes on purpose: they are what the eye tells apart, and pages stay small.
_CLASSES: tuple[tuple[_TokenType, str], ...] = (
    (Comment, "c"),
    (String, "s"),
    (Number, "n"),
    (Operator.Word, "k"),
    (Keyword, "k"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Decorator, "d"),
    (Name.Builtin.Pseudo, "p"),
    (Name.Builtin, "b"),
)
_LEXER = PythonLexer(stripnl=False, ensurenl=False)


class Highlighter:
    """Highlights code; the same text is highlighted once."""

    def __init__(self) -> None:
        self._lines: dict[str, list[Line]] = {}
        self._html: dict[str, list[str]] = {}

    def lines(self, text: str) -> list[Line]:
        """Tokens of each line of ``text``."""
        found = self._lines.get(text)
        if found is None:
            found = self._lines[text] = _tokens(text)
        return found

    def html(
        self,
        text: str,
        first: int,
        *,
        own: LineRange | None = None,
        columns: tuple[int, int] | None = None,
        unreached: Sequence[PageUnreached] = (),
    ) -> Markup:
        """An ordered list with one item per line, numbered as in the file.

        Args:
            text: the lines.
            first: number of the first one.
            own: lines of the node, which are marked.
            columns: first character and the one after the last, in the first and last own line.
            unreached: lines no layer reached, which are greyed with the reason as title.
        """
        lines = self.lines(text)
        plain = self._html.get(text)
        if plain is None:
            plain = self._html[text] = [_line_html(line) for line in lines]
        cold = {number: item for item in unreached for number in range(item.lines[0], item.lines[1] + 1)}
        items = []
        for index, html in enumerate(plain):
            number = first + index
            attributes = f' id="L{number}"'
            content = html
            if own is not None and own[0] <= number <= own[1]:
                attributes += ' class="own"'
                if columns is not None:
                    start = columns[0] if number == own[0] else 0
                    end = columns[1] if number == own[1] else None
                    content = _line_html(lines[index], start, end)
            elif number in cold:
                attributes += f' class="cold" title="{escape(cold_reason(cold[number]))}"'
            items.append(f"<li{attributes}>{content}</li>")
        return Markup(f'<ol class="code" start="{first}">{"".join(items)}</ol>')  # noqa: S704  (escaped above)


def cold_reason(item: PageUnreached) -> str:
    """Why no layer reached these lines, in words."""
    if item.condition is None:
        return "no layer reached this"
    return f"no layer reached this: kept out by {item.condition} (line {item.condition_line})"


def _tokens(text: str) -> list[Line]:
    lines: list[Line] = [[]]
    for kind, value in _LEXER.get_tokens(text):
        name = next((name for token, name in _CLASSES if kind in token), "")
        for index, part in enumerate(value.split("\n")):
            if index:
                lines.append([])
            if part:
                line = lines[-1]
                if line and line[-1][0] == name:
                    line[-1] = (name, line[-1][1] + part)
                else:
                    line.append((name, part))
    count = text.count("\n") + 1
    return lines[:count]


def _line_html(line: Iterable[tuple[str, str]], start: int | None = None, end: int | None = None) -> str:
    """One line as HTML; the characters from ``start`` to ``end`` are marked if ``start`` is given."""
    if start is None:
        return "".join(_span(name, text) for name, text in line) or "\n"
    before: list[str] = []
    inside: list[str] = []
    after: list[str] = []
    position = 0
    for name, text in line:
        stop = len(text) if end is None else max(min(end - position, len(text)), 0)
        begin = min(max(start - position, 0), stop)
        if not inside:  # leading blanks of a continued expression are no part of what the eye should find
            begin += len(text[begin:stop]) - len(text[begin:stop].lstrip())
        for target, part in ((before, text[:begin]), (inside, text[begin:stop]), (after, text[stop:])):
            if part:
                target.append(_span(name, part))
        position += len(text)
    marked = f"<mark>{''.join(inside)}</mark>" if inside else ""
    return "".join(before) + marked + "".join(after) or "\n"


def _span(name: str, text: str) -> str:
    escaped = escape(text, quote=False)
    return f'<i class="{name}">{escaped}</i>' if name else escaped
