"""Patterns over the data flow, as entries of the catalogue write them.

A pattern is a few equations, one a line. The first is where matching starts; the others say what the names in it are,
or add outputs::

    y = multiply(normed, g)
    normed = multiply(x, rsqrt(add(mean(square(x)), eps)))

- ``op(a, b)``: an operation by its name in the operation table (``multiply`` for ``*``, ``mul`` and ``__rmul__``) or
  a kernel by its name. Views, transposes and casts between operations are passed over. Operands of ``add``,
  ``multiply`` and their like match in either order.
- ``op(a, dim=-1)``: an argument by name, a number, a word, ``True``, ``None`` or a name that it binds.
- ``name``: a symbol. Where it stands for the second time it must be the same tensor or number. Names that are no
  symbols of the entry are local to the pattern.
- ``2``, ``-0.5``: this number. ``_``: anything. ``*_`` as the last operand: any further ones.
- ``op?(a, b)``: the operation, or just ``a`` where it is not there; ``getitem(a)`` without an index is always so.
- ``a | b``: either.
- ``op(a)[1]``: the second result of an operation with several; ``values, indices = topk(s)`` names them.
- ``from(a, b)``: a value computed from all of these values, through any operations.
- ``@rms-norm(x=v)``: a value that is an output of that mechanism where it was found; ``x=v`` binds its symbol ``x``,
  and ``@gate.weights`` means the output called ``weights``.
- ``aside(a)``: ``a``, which shows that this is the mechanism but is no part of it.
- ``given(a)``, ``returned(a)``, ``parameter(a)``: ``a``, which is an input of the model, one of its outputs, or a
  parameter or buffer.
- ``name = 2`` as an equation: tells the function something that this pattern implies, such as which way it is written.
- ``name(a, b)`` of an idiom (``catalogue.idioms``): one of the ways of writing it, such as ``square``,
  ``inverse_root``, ``project``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from openmodelatlas.errors import CatalogueError

Literal = int | float | str | bool | None


@dataclass(frozen=True)
class Name:
    """A symbol or local name; ``_`` is anything."""

    name: str


@dataclass(frozen=True)
class Constant:
    """A number or word that must stand there."""

    value: Literal


@dataclass(frozen=True)
class Call:
    """An operation with operands.

    Attributes:
        operation: its name.
        operands: in the order of the operation's signature.
        arguments: by name.
        optional: whether it may be absent, leaving its first operand.
        rest: whether further operands may follow.
        result: which result is meant, ``None`` where it does not matter (the first of one).
    """

    operation: str
    operands: tuple[Expression, ...]
    arguments: tuple[tuple[str, Expression], ...] = ()
    optional: bool = False
    rest: bool = False
    result: int | None = None


@dataclass(frozen=True)
class Either:
    """One of several expressions, tried in order."""

    choices: tuple[Expression, ...]


@dataclass(frozen=True)
class Path:
    """A value that depends on all of ``origins``."""

    origins: tuple[Expression, ...]


@dataclass(frozen=True)
class Found:
    """An output of another mechanism.

    Attributes:
        mechanism: its identifier.
        output: which output; ``None`` for any.
        symbols: its symbols that are bound here, by name.
    """

    mechanism: str
    output: str | None
    symbols: tuple[tuple[str, Expression], ...] = ()


Expression = Name | Constant | Call | Either | Path | Found


@dataclass(frozen=True)
class Equation:
    """Names for the results of an expression; more than one name for an operation with several results."""

    names: tuple[str, ...]
    expression: Expression


@dataclass(frozen=True)
class Pattern:
    """Equations; matching starts at the first."""

    equations: tuple[Equation, ...]

    def names(self) -> set[str]:
        """All names that occur."""
        found: set[str] = set()
        for equation in self.equations:
            found.update(equation.names)
            found.update(part.name for part in walk(equation.expression) if isinstance(part, Name))
        return found - {"_"}

    def mechanisms(self) -> set[str]:
        """Identifiers of the mechanisms that it builds on."""
        return {
            part.mechanism
            for equation in self.equations
            for part in walk(equation.expression)
            if isinstance(part, Found)
        }


def walk(expression: Expression) -> Iterator[Expression]:
    """The expression and all inside it."""
    yield expression
    inner: tuple[Expression, ...] = ()
    if isinstance(expression, Call):
        inner = (*expression.operands, *(value for _, value in expression.arguments))
    elif isinstance(expression, Either):
        inner = expression.choices
    elif isinstance(expression, Path):
        inner = expression.origins
    elif isinstance(expression, Found):
        inner = tuple(value for _, value in expression.symbols)
    for part in inner:
        yield from walk(part)


_TOKEN = re.compile(
    r"\s*(?:(?P<number>-?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)|(?P<word>[A-Za-z_]\w*)|(?P<mechanism>@[a-z0-9-]+)"
    r"|(?P<string>'[^']*')|(?P<sign>[(),=|?\[\]*.]))"
)
_WORDS: dict[str, Literal] = {"True": True, "False": False, "None": None}


def parse_pattern(text: str, where: str) -> Pattern:
    """The pattern that ``text`` writes; ``where`` names the entry in messages.

    Raises:
        CatalogueError: the text does not follow the grammar above.
    """
    equations = tuple(_Parser(line, where).equation() for line in text.splitlines() if line.strip())
    if not equations:
        raise CatalogueError("A pattern is empty.", where=where, advice="Write at least one equation: y = op(x).")
    return Pattern(equations)


class _Parser:
    """Recursive descent over one line."""

    def __init__(self, line: str, where: str) -> None:
        self.line, self.where, self.position = line.strip(), where, 0
        self.tokens: list[tuple[str, str]] = []
        place = 0
        while place < len(self.line):
            match = _TOKEN.match(self.line, place)
            if match is None:
                raise self._error(f"{self.line[place:].strip()[:20]!r} cannot be read")
            self.tokens.append((str(match.lastgroup), match[0].strip()))
            place = match.end()

    def equation(self) -> Equation:
        names = [self._take("word")]
        while self._skip(","):
            names.append(self._take("word"))
        self._expect("=")
        expression = self._either()
        if self.position < len(self.tokens):
            raise self._error(f"{self.tokens[self.position][1]!r} is not expected")
        return Equation(tuple(names), expression)

    def _either(self) -> Expression:
        choices = [self._one()]
        while self._skip("|"):
            choices.append(self._one())
        return choices[0] if len(choices) == 1 else Either(tuple(choices))

    def _one(self) -> Expression:
        if self._skip("("):
            inner = self._either()
            self._expect(")")
            return inner
        kind, text = self._next()
        if kind == "number":
            return Constant(float(text) if re.search(r"[.e]", text) else int(text))
        if kind == "string":
            return Constant(text.strip("'"))
        if kind == "mechanism":
            return self._found(text[1:])
        if kind != "word":
            raise self._error(f"{text!r} is not expected")
        if text in _WORDS:
            return Constant(_WORDS[text])
        optional = self._skip("?")
        if not self._skip("("):
            if optional:
                raise self._error(f"? after {text!r}, which is no operation")
            return Name(text)
        operands, arguments, rest = self._operands()
        if text == "from":
            return Path(tuple(operands))
        result = None
        if self._skip("["):
            result = int(self._take("number"))
            self._expect("]")
        if optional and not operands:
            raise self._error(f"{text}? has no operand that could stand for it")
        return Call(text, tuple(operands), tuple(arguments), optional, rest, result)

    def _found(self, mechanism: str) -> Found:
        output = self._take("word") if self._skip(".") else None
        symbols: list[tuple[str, Expression]] = []
        if self._skip("("):
            operands, symbols, _ = self._operands()
            if operands:
                raise self._error(f"operands of @{mechanism} are named: x=…")
        return Found(mechanism, output, tuple(symbols))

    def _operands(self) -> tuple[list[Expression], list[tuple[str, Expression]], bool]:
        operands: list[Expression] = []
        arguments: list[tuple[str, Expression]] = []
        rest = False
        while not self._skip(")"):
            if operands or arguments or rest:
                self._expect(",")
            if self._skip("*"):
                self._take("word")
                rest = True
            elif self._peek(1) == "=" and self.tokens[self.position][0] == "word":
                name = self._take("word")
                self._expect("=")
                arguments.append((name, self._either()))
            else:
                operands.append(self._either())
        return operands, arguments, rest

    def _peek(self, ahead: int) -> str | None:
        place = self.position + ahead
        return self.tokens[place][1] if place < len(self.tokens) else None

    def _next(self) -> tuple[str, str]:
        if self.position >= len(self.tokens):
            raise self._error("it ends too early")
        self.position += 1
        return self.tokens[self.position - 1]

    def _skip(self, sign: str) -> bool:
        if self._peek(0) == sign:
            self.position += 1
            return True
        return False

    def _take(self, kind: str) -> str:
        found, text = self._next()
        if found != kind:
            raise self._error(f"{text!r} stands where a {kind} is expected")
        return text

    def _expect(self, sign: str) -> None:
        if not self._skip(sign):
            raise self._error(f"{sign!r} is expected before {self._peek(0) or 'the end'!r}")

    def _error(self, what: str) -> CatalogueError:
        return CatalogueError(
            f"A pattern cannot be read: {what}.",
            where=f"{self.where}: {self.line}",
            advice="The grammar is in openmodelatlas/catalogue/pattern.py.",
        )
