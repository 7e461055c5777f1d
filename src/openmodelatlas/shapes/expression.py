"""Expressions that dimensions are written in: a small immutable tree, canonical by construction.

::

    sum      := [-] product ((+ | -) product)*
    product  := factor ((* | //) factor)*
    factor   := integer | name | ( sum ) | ceil(sum, sum) | min(sum, sum) | max(sum, sum)

``//`` rounds down and ``ceil(a, b)`` divides rounding up. Names are configuration keys and ``B``, ``T``, ``P``. The
functions below (:func:`add`, :func:`multiply`, …) are the only way to make nodes. They simplify, order and intern, so
that two expressions of the same canonical form are one object and ``is`` compares them. Simplified and original have
the same value wherever the original has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeVar
from weakref import WeakValueDictionary

from openmodelatlas.errors import ShapeError
from openmodelatlas.shapes.names import KEY_PATTERN, order_key


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Integer:
    """A literal number."""

    value: int

    def __str__(self) -> str:
        return to_text(self)


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Name:
    """A size with a name: a configuration key, ``B``, ``T`` or ``P``."""

    key: str

    def __str__(self) -> str:
        return to_text(self)


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Sum:
    """``terms`` added up: at least two, no two alike but for their coefficient, none a sum, the integer last."""

    terms: tuple[Expression, ...]

    def __str__(self) -> str:
        return to_text(self)


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Product:
    """``coefficient`` times ``factors``: neither 0 nor a lone factor times 1; none an integer or a product."""

    coefficient: int
    factors: tuple[Expression, ...]

    def __str__(self) -> str:
        return to_text(self)


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Quotient:
    """``numerator`` divided by ``denominator``, rounded down or up."""

    numerator: Expression
    denominator: Expression
    rounding: Literal["down", "up"]

    def __str__(self) -> str:
        return to_text(self)


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Extreme:
    """The least or greatest of at least two different ``options``."""

    which: Literal["min", "max"]
    options: tuple[Expression, ...]

    def __str__(self) -> str:
        return to_text(self)


Expression = Integer | Name | Sum | Product | Quotient | Extreme

_Node = TypeVar("_Node", Integer, Name, Sum, Product, Quotient, Extreme)
_INTERNED: WeakValueDictionary[tuple[Any, ...], Any] = WeakValueDictionary()


def _intern(kind: type[_Node], *fields: Any) -> _Node:
    # Children are interned before their parents and compared by identity, so that a lookup never walks the tree.
    identity = (kind, *fields)
    node: _Node | None = _INTERNED.get(identity)
    if node is None:
        node = kind(*fields)
        _INTERNED[identity] = node
    return node


def integer(value: int) -> Integer:
    """The literal ``value``."""
    return _intern(Integer, int(value))


def name(key: str) -> Name:
    """The size called ``key``. Raises :class:`ShapeError` for a key that expressions can't spell."""
    if KEY_PATTERN.match(key) is None:
        raise ShapeError(f"{key!r} is not a name that a dimension expression can hold.")
    return _intern(Name, key)


def add(*terms: Expression) -> Expression:
    """The sum of ``terms``; like terms are collected."""
    constant = 0
    collected: dict[tuple[Expression, ...], int] = {}
    for term in _flat_terms(terms):
        coefficient, factors = _split(term)
        if factors:
            collected[factors] = collected.get(factors, 0) + coefficient
        else:
            constant += coefficient
    kept = [_product(coefficient, factors) for factors, coefficient in collected.items() if coefficient]
    kept.sort(key=_term_order)
    if constant or not kept:
        kept.append(integer(constant))
    return kept[0] if len(kept) == 1 else _intern(Sum, tuple(kept))


def _flat_terms(terms: Iterable[Expression]) -> Iterable[Expression]:
    for term in terms:
        if isinstance(term, Sum):
            yield from term.terms
        else:
            yield term


def multiply(*factors: Expression) -> Expression:
    """The product of ``factors``. A sum is kept as a factor, except that a lone minus is carried into it."""
    coefficient = 1
    kept: list[Expression] = []
    for factor in factors:
        inner_coefficient, inner_factors = _split(factor)
        coefficient *= inner_coefficient
        kept.extend(inner_factors)
    return _product(coefficient, tuple(kept))


def subtract(left: Expression, right: Expression) -> Expression:
    """``left - right``."""
    return add(left, multiply(integer(-1), right))


def _split(node: Expression) -> tuple[int, tuple[Expression, ...]]:
    """Coefficient and factors of a node."""
    if isinstance(node, Integer):
        return node.value, ()
    if isinstance(node, Product):
        return node.coefficient, node.factors
    return 1, (node,)


def _product(coefficient: int, factors: tuple[Expression, ...]) -> Expression:
    if coefficient == 0 or not factors:
        return integer(coefficient)
    if len(factors) == 1:
        if coefficient == 1:
            return factors[0]
        if coefficient == -1 and isinstance(factors[0], Sum):
            return add(*(multiply(integer(-1), term) for term in factors[0].terms))
    return _intern(Product, coefficient, tuple(sorted(factors, key=_factor_order)))


def floor_divide(numerator: Expression, denominator: Expression) -> Expression:
    """``numerator // denominator``, rounded down. Raises :class:`ShapeError` for the literal denominator 0."""
    return _divide(numerator, denominator, "down")


def ceil_divide(numerator: Expression, denominator: Expression) -> Expression:
    """``ceil(numerator, denominator)``: divided, rounded up. Raises :class:`ShapeError` for the literal 0."""
    return _divide(numerator, denominator, "up")


def _divide(numerator: Expression, denominator: Expression, rounding: Literal["down", "up"]) -> Expression:
    if isinstance(denominator, Integer):
        divisor = denominator.value
        if divisor == 0:
            raise ShapeError(f"{numerator} is divided by 0.")
        coefficient, factors = _split(numerator)
        if coefficient % divisor == 0:
            return _product(coefficient // divisor, factors)
        if not factors:
            return integer(_rounded(coefficient, divisor, rounding))
        if isinstance(numerator, Quotient) and numerator.rounding == rounding and divisor > 0:
            inner = numerator.denominator
            if isinstance(inner, Integer) and inner.value > 0:
                return _divide(numerator.numerator, integer(inner.value * divisor), rounding)
    return _intern(Quotient, numerator, denominator, rounding)


def _rounded(numerator: int, denominator: int, rounding: Literal["down", "up"]) -> int:
    return numerator // denominator if rounding == "down" else -(-numerator // denominator)


def minimum(*options: Expression) -> Expression:
    """The least of ``options`` (at least one)."""
    return _extreme("min", options)


def maximum(*options: Expression) -> Expression:
    """The greatest of ``options`` (at least one)."""
    return _extreme("max", options)


def _extreme(which: Literal["min", "max"], options: Iterable[Expression]) -> Expression:
    literals: list[int] = []
    others: list[Expression] = []
    for option in options:
        nested = option.options if isinstance(option, Extreme) and option.which == which else (option,)
        for candidate in nested:
            if isinstance(candidate, Integer):
                literals.append(candidate.value)
            elif candidate not in others:
                others.append(candidate)
    others.sort(key=_term_order)
    if literals:
        others.append(integer(min(literals) if which == "min" else max(literals)))
    return others[0] if len(others) == 1 else _intern(Extreme, which, tuple(others))


def _factor_order(node: Expression) -> tuple[Any, ...]:
    return (0, order_key(node.key), "") if isinstance(node, Name) else (1, (0, "", ""), to_text(node))


def _term_order(node: Expression) -> tuple[Any, ...]:
    """Within sums: what is added before what is taken away; B, T, P, then widths, then counts, by first name."""
    coefficient, factors = _split(node)
    text = to_text(_product(abs(coefficient), factors))
    first = min((order_key(key) for key in names(node)), default=(9, "", ""))
    rank = {3: 4, 4: 3}.get(first[0], first[0])
    return coefficient < 0, rank, first[1], first[2], len(factors), text


def names(node: Expression) -> tuple[str, ...]:
    """The different names in an expression, in the order in which they are written."""
    found: dict[str, None] = {}
    _walk_names(node, found)
    return tuple(found)


def name_count(node: Expression) -> int:
    """How many names are written in the expression; one that is repeated counts again."""
    return 1 if isinstance(node, Name) else sum(name_count(child) for child in children(node))


def _walk_names(node: Expression, found: dict[str, None]) -> None:
    if isinstance(node, Name):
        found[node.key] = None
    for child in children(node):
        _walk_names(child, found)


def children(node: Expression) -> tuple[Expression, ...]:
    """The expressions a node is made of; the coefficient of a product is not one."""
    if isinstance(node, Sum):
        return node.terms
    if isinstance(node, Product):
        return node.factors
    if isinstance(node, Quotient):
        return node.numerator, node.denominator
    return node.options if isinstance(node, Extreme) else ()


def evaluate(node: Expression, values: Mapping[str, int]) -> int:
    """The value of an expression, in elements, where ``values`` gives the size of each name.

    Raises:
        ShapeError: a name has no value, or a denominator is 0; ``where`` is the expression.
    """
    if isinstance(node, Integer):
        return node.value
    if isinstance(node, Name):
        if node.key not in values:
            raise ShapeError(f"The size {node.key} has no value here.", where=node.key)
        return values[node.key]
    if isinstance(node, Sum):
        return sum(evaluate(term, values) for term in node.terms)
    if isinstance(node, Product):
        product = node.coefficient
        for factor in node.factors:
            product *= evaluate(factor, values)
        return product
    if isinstance(node, Extreme):
        choose = min if node.which == "min" else max
        return choose(evaluate(option, values) for option in node.options)
    denominator = evaluate(node.denominator, values)
    if denominator == 0:
        raise ShapeError(f"{node.denominator} is 0 and divides {node.numerator}.", where=str(node))
    return _rounded(evaluate(node.numerator, values), denominator, node.rounding)


def to_text(node: Expression) -> str:
    """Canonical text: ``num_attention_heads*(qk_nope_head_dim + qk_rope_head_dim)``; parsing it gives ``node`` back."""
    if isinstance(node, Integer):
        return str(node.value)
    if isinstance(node, Name):
        return node.key
    if isinstance(node, Sum):
        return _signed_join([to_text(term) for term in node.terms])
    if isinstance(node, Product):
        text = "*".join(_operand(factor) for factor in node.factors)
        return {1: text, -1: f"-{text}"}.get(node.coefficient, f"{node.coefficient}*{text}")
    if isinstance(node, Quotient) and node.rounding == "down":
        return f"{_operand(node.numerator)}//{_operand(node.denominator)}"
    called = node.which if isinstance(node, Extreme) else "ceil"
    return f"{called}({', '.join(to_text(child) for child in children(node))})"


def _signed_join(terms: list[str]) -> str:
    text = terms[0]
    for term in terms[1:]:
        text += f" - {term[1:]}" if term.startswith("-") else f" + {term}"
    return text


def _operand(node: Expression) -> str:
    text = to_text(node)
    rounds_down = isinstance(node, Quotient) and node.rounding == "down"
    negative = isinstance(node, Integer) and node.value < 0
    return f"({text})" if isinstance(node, Sum | Product) or rounds_down or negative else text
