"""What is done with whole expressions: how complex one is, and putting an expression in the place of a name."""

from __future__ import annotations

from collections.abc import Mapping

from openmodelatlas.shapes.expression import (
    Expression,
    Extreme,
    Integer,
    Name,
    Product,
    Quotient,
    Sum,
    add,
    ceil_divide,
    children,
    evaluate,
    floor_divide,
    integer,
    maximum,
    minimum,
    multiply,
    name,
)


def complexity(node: Expression) -> int:
    """Cost of an expression: ten for each name written, and a little for each operation and the size of numbers."""
    if isinstance(node, Integer):
        return 1 + abs(node.value).bit_length()
    cost = sum(complexity(child) for child in children(node))
    if isinstance(node, Sum | Product):
        cost += 2 * (len(children(node)) - 1)
        if isinstance(node, Product) and node.coefficient != 1:
            cost += 2 + abs(node.coefficient).bit_length()
        return cost
    if isinstance(node, Quotient):
        return cost + (4 if node.rounding == "down" else 5)
    return cost + 4 if isinstance(node, Extreme) else 10


def substitute(node: Expression, key: str, replacement: Expression) -> Expression:
    """``node`` with ``replacement`` for every occurrence of the name ``key``, in canonical form."""
    if isinstance(node, Name):
        return replacement if node.key == key else node
    return _rebuild(node, [substitute(child, key, replacement) for child in children(node)])


def with_other_rounding(node: Expression) -> list[Expression]:
    """``node`` with one quotient rounded the other way: ``ceil(a, b)`` as ``a//b + 1`` and the reverse.

    The two differ only where ``b`` divides ``a``.
    """
    found: list[Expression] = []
    if isinstance(node, Quotient):
        if node.rounding == "up":
            found.append(add(floor_divide(node.numerator, node.denominator), integer(1)))
        else:
            found.append(add(ceil_divide(node.numerator, node.denominator), integer(-1)))
    for position, child in enumerate(children(node)):
        for changed in with_other_rounding(child):
            parts = list(children(node))
            parts[position] = changed
            found.append(_rebuild(node, parts))
    return found


def _rebuild(node: Expression, parts: list[Expression]) -> Expression:
    """A node of the same kind as ``node`` with other children."""
    if isinstance(node, Sum):
        return add(*parts)
    if isinstance(node, Product):
        return multiply(integer(node.coefficient), *parts)
    if isinstance(node, Extreme):
        return (minimum if node.which == "min" else maximum)(*parts)
    if isinstance(node, Quotient):
        return (floor_divide if node.rounding == "down" else ceil_divide)(*parts)
    return node


def with_literal_as(node: Expression, value: int, key: str) -> Expression:
    """``node`` with the name ``key``, of size ``value``, for every literal that is or contains the factor ``value``."""
    if isinstance(node, Integer):
        return name(key) if node.value == value else node
    changed = _rebuild(node, [with_literal_as(child, value, key) for child in children(node)])
    if isinstance(node, Product) and abs(node.coefficient) > 1 and node.coefficient % value == 0:
        factors = [with_literal_as(child, value, key) for child in children(node)]
        return multiply(integer(node.coefficient // value), name(key), *factors)
    return changed


def tells_less_than_its_operands(node: Expression, sizes: Mapping[str, int]) -> bool:
    """Whether at these sizes a quotient is rounded, or only one option of a minimum or maximum decides."""
    if isinstance(node, Extreme):
        return True
    if isinstance(node, Quotient):
        denominator = evaluate(node.denominator, sizes)
        if denominator == 0 or evaluate(node.numerator, sizes) % denominator:
            return True
    return any(tells_less_than_its_operands(child, sizes) for child in children(node))
