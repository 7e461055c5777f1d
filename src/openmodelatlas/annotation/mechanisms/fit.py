"""How a pattern fits: what its names stand for; and which operands and heads an expression can have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

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
        return Fit(self.root, {**self.bound, name: operand}, self.operations, self.named)

    def cover(self, addresses: Iterable[str]) -> Fit:
        """With more operations."""
        return Fit(self.root, self.bound, self.operations.union(addresses), self.named)


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


def orders(operation: Operation, call: Call) -> list[tuple[Operand, ...]]:
    """Operands of an operation as a call can take them: all, or its tensors only; in either order if it commutes.

    Operands beyond the call's are passed over only where they are no tensors.
    """
    count = len(call.operands)
    found: list[tuple[Operand, ...]] = []
    choices: Sequence[tuple[Operand, ...]] = (operation.operands, operation.tensors)
    if call.arguments:
        named = {id(operation.named.get(name)) for name, _ in call.arguments}
        choices = tuple(tuple(each for each in every if id(each) not in named) for every in choices)
    for operands in choices:
        taken = operands[:count]
        if len(taken) < count or (not call.rest and any(left.tensor is not None for left in operands[count:])):
            continue
        both = (taken, taken[::-1]) if count == 2 and operation.name in COMMUTATIVE else (taken,)
        found += [order for order in both if order not in found]
    return found
