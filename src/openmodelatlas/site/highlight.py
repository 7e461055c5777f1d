"""Python code as highlighted tokens, line by line, and as HTML with lines, expressions and characters marked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
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
_OWN = "\0own"


@dataclass(frozen=True, slots=True)
class Expression:
    """Characters of the code that light: ``word`` is what they light with, lines and columns as in ``Lines``."""

    word: str
    first: int
    last: int
    start: int
    end: int


class Highlighter:
    """Highlights code; the same text is highlighted once."""

    def __init__(self) -> None:
        self._lines: dict[str, list[Line]] = {}
        self._html: dict[tuple[str, int, tuple[Expression, ...]], list[str]] = {}
        self._marks: dict[tuple[str, int, tuple[Expression, ...]], dict[int, list[_Mark]]] = {}

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
        expressions: tuple[Expression, ...] = (),
        terms: tuple[Expression, ...] = (),
    ) -> Markup:
        """An ordered list with one item per line, numbered as in the file.

        Args:
            text: the lines.
            first: number of the first one.
            own: lines of the node, which are marked.
            columns: first character and the one after the last, in the first and last own line.
            unreached: lines no layer reached, which are greyed with the reason as title.
            expressions: characters that light, the same for all pages that show this code beside one diagram.
            terms: those that light on this page only.
        """
        lines = self.lines(text)
        plain = self._plain(text, first, expressions)
        special = self._special(text, first, own, columns, expressions, terms)
        cold = {number: item for item in unreached for number in range(item.lines[0], item.lines[1] + 1)}
        items = []
        for index, html in enumerate(plain):
            number = first + index
            attributes = f' id="L{number}"'
            if own is not None and own[0] <= number <= own[1]:
                attributes += ' class="own"'
            elif number in cold:
                attributes += f' class="cold" title="{escape(cold_reason(cold[number]))}"'
            content = _marked(lines[index], special[number]) if number in special else html
            items.append(f"<li{attributes}>{content}</li>")
        body = "".join(items)
        return Markup(f'<ol class="code" start="{first}" tabindex="0">{body}</ol>')  # noqa: S704  (escaped above)

    def _plain(self, text: str, first: int, expressions: tuple[Expression, ...]) -> list[str]:
        """The lines as every page has them."""
        key = (text, first, expressions)
        plain = self._html.get(key)
        if plain is None:
            lines = self.lines(text)
            marks = self._marks[key] = _by_line(expressions, first, lines)
            plain = [_marked(line, marks.get(first + index, [])) for index, line in enumerate(lines)]
            self._html[key] = plain
        return plain

    def _special(
        self,
        text: str,
        first: int,
        own: LineRange | None,
        columns: tuple[int, int] | None,
        expressions: tuple[Expression, ...],
        terms: tuple[Expression, ...],
    ) -> dict[int, list[_Mark]]:
        """Marks of the lines that are other than on other pages."""
        lines = self.lines(text)
        shared = self._marks[text, first, expressions]
        special = {
            number: _joined([*shared.get(number, []), *marks])
            for number, marks in _by_line(terms, first, lines).items()
        }
        if own is not None and columns is not None:
            for number in range(max(own[0], first), min(own[1], first + len(lines) - 1) + 1):
                line = lines[number - first]
                start = columns[0] if number == own[0] else 0
                end = columns[1] if number == own[1] else _length(line)
                marks = special.get(number, shared.get(number, []))
                special[number] = [*marks, *_trimmed(line, start, end, _OWN)]
        return special


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


_Mark = tuple[int, int, str]
"""First character in the line, the one after the last, and what it lights with."""


def _by_line(expressions: Iterable[Expression], first: int, lines: Sequence[Line]) -> dict[int, list[_Mark]]:
    """The expressions cut at line ends; those with the same characters as one."""
    words: dict[tuple[int, int, int], list[str]] = {}
    for item in expressions:
        for number in range(max(item.first, first), min(item.last, first + len(lines) - 1) + 1):
            line = lines[number - first]
            start = item.start if number == item.first else 0
            end = item.end if number == item.last else _length(line)
            for begin, stop, word in _trimmed(line, start, end, item.word):
                found = words.setdefault((number, begin, stop), [])
                if word not in found:
                    found.append(word)
    marks: dict[int, list[_Mark]] = {}
    for (number, start, end), found in words.items():
        marks.setdefault(number, []).append((start, end, " ".join(found)))
    return marks


def _joined(marks: Iterable[_Mark]) -> list[_Mark]:
    """Marks of the same characters as one."""
    words: dict[tuple[int, int], list[str]] = {}
    for start, end, word in marks:
        words.setdefault((start, end), []).append(word)
    return [(start, end, " ".join(found)) for (start, end), found in words.items()]


def _length(line: Line) -> int:
    return sum(len(text) for _, text in line)


def _trimmed(line: Line, start: int, end: int, word: str) -> list[_Mark]:
    """The mark without the blanks around it, which are no part of what the eye should find; none if nothing is left."""
    text = "".join(part for _, part in line)[start:end]
    start += len(text) - len(text.lstrip())
    end = start + len(text.strip())
    return [(start, end, word)] if end > start else []


def _marked(line: Line, marks: Sequence[_Mark]) -> str:
    """One line as HTML, with elements around the marks: nested where they nest, cut where they overlap."""
    if not line:
        return "\n"
    if not marks:
        return "".join(_span(name, text) for name, text in line)
    borders = sorted({place for start, end, _ in marks for place in (start, end)})
    opening = sorted(marks, key=lambda mark: (mark[0], -mark[1], mark[2] == _OWN))
    parts: list[str] = []
    stack: list[_Mark] = []
    position = 0
    for name, text in line:
        for piece in _cut(text, position, borders):
            while stack and any(mark[1] <= position for mark in stack):
                parts.append(_close(stack.pop()))
            # What was closed only because it overlaps goes on.
            for mark in opening:
                if mark[0] <= position < mark[1] and mark not in stack:
                    stack.append(mark)
                    parts.append(_open(mark))
            parts.append(_span(name, piece))
            position += len(piece)
    parts += [_close(mark) for mark in reversed(stack)]
    return "".join(parts)


def _cut(text: str, position: int, borders: Sequence[int]) -> list[str]:
    """``text``, which begins at ``position`` of its line, in pieces that no border lies in."""
    cuts = [place - position for place in borders if position < place < position + len(text)]
    return [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]


def _open(mark: _Mark) -> str:
    if mark[2] == _OWN:
        return "<mark>"
    return f'<span data-light="{escape(mark[2])}" tabindex="0">'


def _close(mark: _Mark) -> str:
    return "</mark>" if mark[2] == _OWN else "</span>"


def _span(name: str, text: str) -> str:
    escaped = escape(text, quote=False)
    return f'<i class="{name}">{escaped}</i>' if name else escaped
