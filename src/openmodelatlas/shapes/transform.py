"""What is done with whole expressions: how complex one is, and putting an expression in the place of a name."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from math import log2

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
    name_count,
    names,
)
from openmodelatlas.shapes.names import RUN_NAMES, is_seam

_RUN_BITS = 2.0
_OPERATION_BITS = 1.5
_ROUNDING_BITS = 3.0
_REPEATED_BITS = 1.0


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


def description_bits(
    node: Expression, vocabulary: int, probes: Sequence[Mapping[str, int]], written: Container[int] = ()
) -> float:
    """About how many bits it takes to single out an expression among all that could be written for these probes.

    By the reasoning of minimum description length (Rissanen 1978): there are some ``2**bits`` expressions that are as
    simple, and so many chances that one of them fits by accident. Sizes of a run, and windows and chunks beside them,
    are likelier than the ``vocabulary`` of all names; quotients that leave no remainder in any probe are few. So are
    the numbers that are ``written`` in the code as lengths.
    """
    keys = names(node)
    in_run = any(key in RUN_NAMES for key in keys)
    bits = 0.0
    for key in keys:
        likely = key in RUN_NAMES or (in_run and is_seam(key))
        bits += _RUN_BITS if likely else max(log2(max(vocabulary, 1)), _RUN_BITS)
    return bits + _REPEATED_BITS * (name_count(node) - len(keys)) + _form_bits(node, probes, written)


def _form_bits(node: Expression, probes: Sequence[Mapping[str, int]], written: Container[int]) -> float:
    """Bits for the operations and numbers of an expression."""
    if isinstance(node, Integer):
        return _RUN_BITS if node.value in written else _number_bits(node.value)
    parts = children(node)
    if isinstance(node, Quotient) and not any(tells_less_than_its_operands(node, sizes) for sizes in probes):
        return _ROUNDING_BITS - name_count(node)
    bits = sum(_form_bits(child, probes, written) for child in parts)
    if isinstance(node, Quotient | Extreme):
        return bits + _ROUNDING_BITS
    if isinstance(node, Product) and node.coefficient not in (1, -1):
        bits += _number_bits(node.coefficient) + _OPERATION_BITS
    return bits + _OPERATION_BITS * max(len(parts) - 1, 0)


def _number_bits(value: int) -> float:
    return 1 + 2 * log2(max(abs(value), 1))


def evidence_bits(sizes: Sequence[int]) -> float:
    """About how many bits of observation there are in the sizes of one axis: a size of 1 says little, 7168 much."""
    return sum(log2(1 + max(size, 0)) for size in sizes)


def is_plain(node: Expression) -> bool:
    """Whether the expression is a name or a product of names and no more."""
    if isinstance(node, Product):
        return node.coefficient == 1 and all(isinstance(factor, Name) for factor in node.factors)
    return isinstance(node, Name)


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
