"""A quick answer whether an expression can fit a tensor at all, whatever its names are bound to.

Most places that a pattern is held against fail within an operation or two. Here they do without a fit being made, and
no place is looked at twice: the answer depends on the expression and the tensor alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from openmodelatlas.annotation.mechanisms.fit import PREDICATES, orders
from openmodelatlas.annotation.mechanisms.flow import Flow, Operand, Operation
from openmodelatlas.catalogue.entry import Symbol
from openmodelatlas.catalogue.pattern import Call, Constant, Either, Equation, Expression, Found, Name, Path

OutputsOf = Callable[[str], Collection[str]]


class Plausible:
    """Answers for one pattern in one atlas.

    Attributes:
        flow: the data flow.
        symbols: of the mechanism, by name.
        equations: of the pattern, by the names that they bind.
        outputs_of: gives the tensors that are outputs of a mechanism's places.
    """

    def __init__(
        self,
        flow: Flow,
        symbols: Mapping[str, Symbol],
        equations: Mapping[str, tuple[Equation, int]],
        outputs_of: OutputsOf,
    ) -> None:
        self.flow = flow
        self.symbols = symbols
        self.equations = equations
        self.outputs_of = outputs_of
        self._known: dict[tuple[int, str], bool] = {}

    def anywhere(self, expression: Expression) -> bool:
        """Whether the atlas has the operations and mechanisms that an expression names; ``False`` where one lacks."""
        if isinstance(expression, Call):
            if expression.operation in PREDICATES or may_be_absent(expression):
                return self.anywhere(expression.operands[0])
            inside = (*expression.operands, *(value for _, value in expression.arguments))
            return expression.operation in self.flow.by_name and all(map(self.anywhere, inside))
        if isinstance(expression, Either):
            return any(map(self.anywhere, expression.choices))
        if isinstance(expression, Path):
            return all(map(self.anywhere, expression.origins))
        return not isinstance(expression, Found) or bool(self.outputs_of(expression.mechanism))

    def __call__(self, expression: Expression, operand: Operand) -> bool:
        """Whether ``expression`` may fit ``operand``; ``False`` only where no fit exists."""
        if isinstance(expression, Call):
            if operand.tensor is None:
                return expression.optional and self(expression.operands[0], operand)
            key = (id(expression), operand.tensor)
            known = self._known.get(key)
            if known is None:
                self._known[key] = True  # an equation that leads back to itself asks nothing more
                known = self._known[key] = self._call(expression, operand)
            return known
        if isinstance(expression, Name):
            if not self._may_be(expression.name, operand):
                return False
            equation = self.equations.get(expression.name)
            # One of several names may be bound by another equation's way here, so nothing is known of it.
            return equation is None or len(equation[0].names) > 1 or self(equation[0].expression, operand)
        if isinstance(expression, Constant):
            return operand.tensor is None and bool(operand.number == expression.value)
        if isinstance(expression, Either):
            return any(self(choice, operand) for choice in expression.choices)
        if isinstance(expression, Found):
            return operand.tensor is not None and operand.tensor in self.outputs_of(expression.mechanism)
        return operand.tensor is not None

    def _may_be(self, name: str, operand: Operand) -> bool:
        """Whether a symbol, if the name is one, may stand for an operand of this kind."""
        symbol = self.symbols.get(name)
        binds = symbol.binds if symbol is not None else None
        if binds == "parameter":
            return operand.tensor in self.flow.document.parameters
        if binds == "number":
            return operand.tensor is not None or isinstance(operand.number, int | float | dict)
        return operand.tensor is not None or binds not in ("input", "output", "intermediate")

    def _call(self, call: Call, operand: Operand) -> bool:
        if call.operation in PREDICATES:
            return self(call.operands[0], operand)
        if call.operation in self.flow.names_passed:
            return True
        made = self.flow.producers.get(operand.tensor or "")
        if made is not None and made[0].name == call.operation and call.result in (None, made[1]):
            named = [self(expression, each) for expression, each in named_of(call, made[0])]
            if all(named) and any(all(map(self, call.operands, operands)) for operands in orders(made[0], call)):
                return True
        return may_be_absent(call) and self(call.operands[0], operand)


def named_of(call: Call, operation: Operation) -> list[tuple[Expression, Operand]]:
    """The arguments that a call gives by name, beside what the operation has there."""
    return [
        (expression, operation.named.get(name, Operand(tensor=None, number=None, reader=operation.address)))
        for name, expression in call.arguments
    ]


def may_be_absent(call: Call) -> bool:
    """Whether a call may stand for its first operand alone."""
    return call.optional or (call.operation == "getitem" and len(call.operands) == 1)
