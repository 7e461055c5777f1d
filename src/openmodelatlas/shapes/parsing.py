"""From text to expression: the grammar of :mod:`openmodelatlas.shapes.expression`, read by recursive descent."""

from __future__ import annotations

import re

from openmodelatlas.errors import ShapeError
from openmodelatlas.shapes.expression import (
    Expression,
    add,
    ceil_divide,
    floor_divide,
    integer,
    maximum,
    minimum,
    multiply,
    name,
    subtract,
)

_TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*)|(//|[-+*(),]))")
_LONGEST_TEXT = 10_000
_MOST_DIGITS = 30
_DEEPEST = 60


def parse(text: str) -> Expression:
    """The expression that ``text`` spells, in canonical form.

    Raises:
        ShapeError: the text is not in the grammar, or is absurdly long or nested; ``where`` is the text.
    """
    reader = _Reader(text)
    node = reader.sum()
    if reader.token:
        raise reader.error(f"unexpected {reader.token!r}")
    return node


class _Reader:
    """One pass over a text; ``token`` is the next token, empty at the end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0
        self.depth = 0
        self.token = ""
        if len(text) > _LONGEST_TEXT:
            raise self.error(f"longer than {_LONGEST_TEXT} characters")
        self.advance()

    def error(self, what: str) -> ShapeError:
        shown = self.text if len(self.text) <= 80 else self.text[:77] + "..."
        return ShapeError(f"Not a dimension expression: {what}.", where=repr(shown))

    def advance(self) -> str:
        """Step to the next token and return the one that was current."""
        current = self.token
        if not self.text[self.position :].strip():
            self.token = ""
            return current
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            raise self.error(f"column {self.position + 1} cannot be read")
        self.position = match.end()
        self.token = match.group(1) or match.group(2) or match.group(3)
        return current

    def expect(self, token: str) -> None:
        if self.token != token:
            raise self.error(f"expected {token!r}, found {self.token!r}" if self.token else f"{token!r} is missing")
        self.advance()

    def sum(self) -> Expression:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise self.error(f"nested deeper than {_DEEPEST}")
        if self.token == "-":  # noqa: S105 - a minus, not a password
            self.advance()
            node = multiply(integer(-1), self.product())
        else:
            node = self.product()
        while self.token in ("+", "-"):
            operator = self.advance()
            right = self.product()
            node = add(node, right) if operator == "+" else subtract(node, right)
        self.depth -= 1
        return node

    def product(self) -> Expression:
        node = self.factor()
        while self.token in ("*", "//"):
            operator = self.advance()
            right = self.factor()
            node = multiply(node, right) if operator == "*" else floor_divide(node, right)
        return node

    def factor(self) -> Expression:
        token = self.advance()
        if not token:
            raise self.error("it ends too early")
        if token.isdigit():
            if len(token) > _MOST_DIGITS:
                raise self.error(f"a number of more than {_MOST_DIGITS} digits")
            return integer(int(token))
        if token == "(":  # noqa: S105
            node = self.sum()
            self.expect(")")
            return node
        if token in ("ceil", "min", "max") and self.token == "(":  # noqa: S105
            return self.function(token)
        if not (token[0].isalpha() or token[0] == "_"):
            raise self.error(f"unexpected {token!r}")
        return name(token)

    def function(self, called: str) -> Expression:
        self.expect("(")
        arguments = [self.sum()]
        while self.token == ",":  # noqa: S105
            self.advance()
            arguments.append(self.sum())
        self.expect(")")
        if len(arguments) < 2 or (called == "ceil" and len(arguments) != 2):
            raise self.error(f"{called} takes {'two' if called == 'ceil' else 'at least two'} arguments")
        if called == "ceil":
            return ceil_divide(*arguments)
        return minimum(*arguments) if called == "min" else maximum(*arguments)
