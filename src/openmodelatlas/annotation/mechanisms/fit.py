"""How a pattern fits: what its names stand for; and which operands and heads an expression can have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from openmodelatlas.annotation.mechanisms.flow import Operand, Operation
from openmodelatlas.catalogue.pattern import Call, Either, Expression, Found

COMMUTATIVE = frozenset(
    {"add", "multiply", "maximum", "minimum", "eq", "ne", "logical_and", "logical_or", "logical_xor"}
)
PREDICATES = frozenset({"returned", "given", "parameter", "aside"})


@dataclass(frozen=True)
class Fit:
    """One way in which a pattern fits.

    Attributes:
        root: the result at which matching started.
        bound: what each name stands for.
        operations: addresses of the operations that it covers.
        named: those of them that equations cover, also where an ``aside`` led to the equation.
    """

    root: str
    bound: Mapping[str, Operand]
    operations: frozenset[str]
    named: frozenset[str] = frozenset()

    def bind(self, name: str, operand: Operand) -> Fit:
        """With one more name."""
        return replace(self, bound={**self.bound, name: operand})

    def cover(self, addresses: Iterable[str]) -> Fit:
        """With more operations."""
        return replace(self, operations=self.operations.union(addresses))


@dataclass(frozen=True)
class Place:
    """A mechanism found at a place.

    Attributes:
        mechanism: its identifier.
        fit: how it fits there.
        outputs: names in ``fit.bound`` of what it gives.
        error: of its evaluation, ``None`` where a value is missing.
        detail: what was compared, or why it could not be.
    """

    mechanism: str
    fit: Fit
    outputs: tuple[str, ...]
    error: float | None
    detail: str


def same(one: Operand, other: Operand) -> bool:
    """Whether two operands are the same tensor or number; a later round's result has another value."""
    if one.tensor is None:
        return other.tensor is None and one.number == other.number
    return one.tensor == other.tensor and (one.seen != other.seen or one.value == other.value)


def heads(expression: Expression) -> Iterator[Call | Found]:
    """Operations and mechanisms that may make the result of an expression."""
    if isinstance(expression, Either):
        for choice in expression.choices:
            yield from heads(choice)
    elif isinstance(expression, Found):
        yield expression
    elif isinstance(expression, Call):
        if expression.operation in PREDICATES:
            yield from heads(expression.operands[0])
            return
        yield expression
        if expression.optional:
            yield from heads(expression.operands[0])


def orders(operation: Operation, call: Call) -> Iterator[tuple[Operand, ...]]:
    """Operands of an operation as a call can take them: all, or its tensors only; in either order if it commutes.

    Operands beyond the call's are passed over only where they are no tensors.
    """
    count = len(call.operands)
    named = {id(operation.named.get(name)) for name, _ in call.arguments}
    seen: list[tuple[Operand, ...]] = []
    for every in (operation.operands, operation.tensors):
        operands = tuple(operand for operand in every if id(operand) not in named)
        if len(operands) < count:
            continue
        taken, left = operands[:count], operands[count:]
        if not call.rest and any(operand.tensor is not None for operand in left):
            continue
        orders = [taken]
        if count == 2 and operation.name in COMMUTATIVE:
            orders.append(taken[::-1])
        for order in orders:
            if order not in seen:
                seen.append(order)
                yield order
