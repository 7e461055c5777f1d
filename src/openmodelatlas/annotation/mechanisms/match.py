"""Finds where a pattern of the catalogue fits the data flow: all ways of binding its names.

Matching goes from a result backwards: an expression is held against the tensor that an operand reads. A way of fitting
is a :class:`Fit`; the same place may have several, and the numbers decide between them (``evaluate``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice

from openmodelatlas.annotation.mechanisms.fit import PREDICATES, Fit, Place, heads, orders, same
from openmodelatlas.annotation.mechanisms.flow import Flow, Operand, Operation
from openmodelatlas.annotation.mechanisms.plausible import Plausible, may_be_absent, named_of
from openmodelatlas.annotation.mechanisms.settings import settings_of
from openmodelatlas.catalogue.entry import Mechanism
from openmodelatlas.catalogue.pattern import (
    Call,
    Constant,
    Either,
    Equation,
    Expression,
    Found,
    Name,
    Path,
    Pattern,
    walk,
)

_MOST_FITS = 48
_MOST_ASIDE = 4
_NEAR = 3
"""Operations between what is bound and the result of an equation that nothing has used."""


class Matcher:
    """Fits of one mechanism's patterns in one atlas."""

    def __init__(self, flow: Flow, mechanism: Mechanism, found: Mapping[str, list[Place]]) -> None:
        self.flow = flow
        self.mechanism = mechanism
        self.symbols = mechanism.front.symbols
        self._settings = tuple(settings_of(flow.document, self.symbols))
        self.found = found
        self._outputs: dict[str, dict[str, list[tuple[str, Place]]]] = {}
        self._equations: dict[str, tuple[Equation, int]] = {}
        self._is_aside = False
        self._searching: dict[int, bool] = {}

    def fits(self) -> Iterator[tuple[str, list[Fit]]]:
        """For every result at which a pattern fits: the ways, those of earlier patterns first."""
        by_root: dict[str, list[Fit]] = {}
        for pattern in self.mechanism.spelt_out:
            for fit in self._with_settings(self._pattern(pattern)):
                ways = by_root.setdefault(fit.root, [])
                if len(ways) < _MOST_FITS and fit not in ways:
                    ways.append(fit)
        yield from by_root.items()

    def _with_settings(self, fits: Iterable[Fit]) -> Iterator[Fit]:
        """Fits with the settings bound, in every way in which the configuration has them."""
        for fit in fits:
            for settings in self._settings:
                yield replace(fit, bound={**fit.bound, **settings}) if settings else fit

    def _pattern(self, pattern: Pattern) -> Iterator[Fit]:
        self._equations = {name: (one, index) for one in pattern.equations for index, name in enumerate(one.names)}
        self._equations.pop("_", None)
        self._searching = {}
        self._plausible = Plausible(self.flow, self.symbols, self._equations, self._outputs_of)
        first, *others = pattern.equations
        bind = (first, *(equation for equation, _ in self._equations.values()))
        if not all(self._plausible.anywhere(equation.expression) for equation in bind):
            return
        for root in self._roots(first):
            if self._plausible(first.expression, root):
                start = Fit(root=root.seen or "", bound={}, operations=frozenset())
                yield from islice(self._others(self._equation(first, 0, root, start), others), _MOST_FITS)

    def _others(self, fits: Iterator[Fit], equations: list[Equation]) -> Iterator[Fit]:
        """Fits that also satisfy the equations which nothing has used so far."""
        if not equations:
            yield from fits
            return
        first, *rest = equations
        if isinstance(first.expression, Constant):  # told, not found
            told = Operand(tensor=None, number=first.expression.value)
            yield from self._others((fit.bind(first.names[0], told) for fit in fits), rest)
            return
        for fit in fits:
            if all(name in fit.bound for name in first.names):
                yield from self._others(iter((fit,)), rest)
                continue
            candidates = (each for each in self._reading(first, fit) if self._plausible(first.expression, each))
            more = (new for operand in candidates for new in self._equation(first, 0, operand, fit))
            yield from self._others(more, rest)

    def _roots(self, equation: Equation) -> Iterator[Operand]:
        """Results at which an equation can start."""
        for operation in self._named(equation.expression):
            if operation.results:
                yield self.flow.result(operation.results[self._result_of(equation, 0) or 0])
        for part in heads(equation.expression):
            if isinstance(part, Found):
                for tensor in self._outputs_of(part.mechanism):
                    yield self.flow.result(tensor)

    def _named(self, expression: Expression) -> Iterator[Operation]:
        names = dict.fromkeys(part.operation for part in heads(expression) if isinstance(part, Call))
        for name in names:
            yield from self.flow.by_name.get(name, ())

    def _result_of(self, equation: Equation, index: int) -> int | None:
        head = equation.expression
        if len(equation.names) > 1:
            return index
        return head.result if isinstance(head, Call) else None

    def _reading(self, equation: Equation, fit: Fit) -> list[Operand]:
        """Results of operations that could be an equation's and depend on something bound already, near ones first."""
        names = {part.operation for part in heads(equation.expression) if isinstance(part, Call)}
        tensors = dict.fromkeys(operand.tensor for operand in fit.bound.values() if operand.tensor is not None)
        found: dict[str, Operand] = {}
        reached = dict.fromkeys(tensors)
        for _ in range(_NEAR):
            following: dict[str, None] = {}
            for tensor in reached:
                for operation in self.flow.consumers.get(tensor, ()):
                    following.update(dict.fromkeys(operation.results))
                    if operation.name in names and operation.results:
                        result = operation.results[self._result_of(equation, 0) or 0]
                        found.setdefault(result, self.flow.result(result))
            reached = following
        for part in heads(equation.expression):
            if isinstance(part, Found):
                for tensor, ways in self._outputs_of(part.mechanism).items():
                    touched = {bound.tensor for _, place in ways for bound in place.fit.bound.values()}
                    if touched & tensors.keys():
                        found.setdefault(tensor, self.flow.result(tensor))
        return list(found.values())

    def _equation(self, equation: Equation, index: int, operand: Operand, fit: Fit) -> Iterator[Fit]:
        """The operand is result ``index`` of the equation; all its names are bound."""
        expression = equation.expression
        several = len(equation.names) > 1
        if several and isinstance(expression, Call):
            expression = replace(expression, result=index)
        for new in self._match(expression, operand, fit):
            bound: Fit | None = self._bind(equation.names[index], operand, new)
            made = self.flow.producers.get(operand.tensor or "")
            for other, name in enumerate(equation.names):
                if bound is not None and several and other != index and name != "_":
                    if made is None or other >= len(made[0].results):
                        bound = None
                    else:
                        bound = self._bind(name, self.flow.result(made[0].results[other]), bound)
            if bound is not None:
                yield bound

    def _match(self, expression: Expression, operand: Operand, fit: Fit) -> Iterator[Fit]:
        if isinstance(expression, Call):
            yield from self._call(expression, operand, fit)
        elif isinstance(expression, Name):
            yield from self._name(expression.name, operand, fit)
        elif isinstance(expression, Constant):
            if operand.tensor is None and operand.number == expression.value:
                yield fit
        elif isinstance(expression, Either):
            for choice in expression.choices:
                yield from self._match(choice, operand, fit)
        elif isinstance(expression, Path):
            yield from self._path(expression, operand, fit)
        else:
            yield from self._found(expression, operand, fit)

    def _name(self, name: str, operand: Operand, fit: Fit) -> Iterator[Fit]:
        if name == "_":
            yield fit
            return
        equation = self._equations.get(name)
        if name not in fit.bound and equation is not None:
            outer, self._is_aside = self._is_aside, False
            found = list(self._equation(*equation, operand, fit)) if outer else self._equation(*equation, operand, fit)
            self._is_aside = outer
            for new in found:
                yield replace(new, named=new.named | (new.operations - fit.operations))
            return
        bound = self._bind(name, operand, fit)
        if bound is not None:
            yield bound

    def _bind(self, name: str, operand: Operand, fit: Fit) -> Fit | None:
        """The name stands for the operand; ``None`` where it stands for another or cannot be one."""
        if name == "_":
            return fit
        known = fit.bound.get(name)
        if known is not None:
            return fit if same(known, operand) else None
        symbol = self.symbols.get(name)
        if symbol is not None:
            parameter = operand.tensor in self.flow.document.parameters
            number = operand.tensor is None and isinstance(operand.number, int | float | dict)
            if symbol.binds == "parameter" and not parameter:
                return None
            if symbol.binds == "number" and not (number or self._is_scalar(operand)):
                return None
            if symbol.binds in ("input", "output", "intermediate") and operand.tensor is None:
                return None
        return fit.bind(name, operand)

    def _is_scalar(self, operand: Operand) -> bool:
        fact = self.flow.fact(operand.seen or "")
        return fact is not None and not fact.shape

    def _call(self, call: Call, operand: Operand, fit: Fit) -> Iterator[Fit]:
        if operand.tensor is None:
            if call.optional:
                yield from self._match(call.operands[0], operand, fit)
            return
        if call.operation in PREDICATES:
            if self._holds(call.operation, operand.tensor):
                yield from (
                    self._aside(call, operand, fit)
                    if call.operation == "aside"
                    else self._match(call.operands[0], operand, fit)
                )
            return
        made = self.flow.producers.get(operand.tensor)
        passed = self.flow.passed.get(operand.seen or "")
        if passed is not None and passed.name == call.operation:
            made = (passed, 0)
        if made is not None and made[0].name == call.operation and call.result in (None, made[1]):
            covered = fit.cover((made[0].address,))
            for operands in orders(made[0], call):
                pairs = [*zip(call.operands, operands, strict=True), *named_of(call, made[0])]
                if all(self._plausible(*pair) for pair in pairs):
                    yield from self._all(pairs, covered)
        if may_be_absent(call):
            yield from self._match(call.operands[0], operand, fit)

    def _aside(self, call: Call, operand: Operand, fit: Fit) -> Iterator[Fit]:
        """What an expression binds, without what it covers itself; no second way of binding the same."""
        outer, self._is_aside = self._is_aside, True
        found: list[Fit] = []
        for new in self._match(call.operands[0], operand, fit):
            bare = replace(new, operations=fit.operations | new.named)
            if bare not in found:
                found.append(bare)
            if len(found) >= _MOST_ASIDE or len(bare.bound) == len(fit.bound):
                break
        self._is_aside = outer
        yield from found

    def _all(self, pairs: Iterable[tuple[Expression, Operand]], fit: Fit) -> Iterator[Fit]:
        """All pairs match; those that search the data flow come last, when the others have bound what they could."""
        every = sorted(pairs, key=lambda pair: self._searches(pair[0]))
        if not every:
            yield fit
            return
        (expression, operand), *rest = every
        for new in self._match(expression, operand, fit):
            yield from self._all(rest, new)

    def _searches(self, expression: Expression) -> bool:
        """Whether there is a ``from`` in an expression, or in the equations of its names."""
        known = self._searching.get(id(expression))
        if known is None:
            self._searching[id(expression)] = False  # an equation that leads back to itself adds nothing
            known = any(
                isinstance(part, Path)
                or (
                    isinstance(part, Name)
                    and part.name in self._equations
                    and self._searches(self._equations[part.name][0].expression)
                )
                for part in walk(expression)
            )
            self._searching[id(expression)] = known
        return known

    def _path(self, path: Path, operand: Operand, fit: Fit) -> Iterator[Fit]:
        if operand.tensor is None:
            return
        ancestors = self.flow.ancestors(operand.tensor)
        known = [fit.bound.get(origin.name) for origin in path.origins if isinstance(origin, Name)]
        if all(bound is None or bound.tensor in ancestors for bound in known):
            yield from self._origins(path.origins, operand.tensor, ancestors, fit)

    def _origins(
        self, origins: tuple[Expression, ...], tensor: str, ancestors: dict[str, None], fit: Fit
    ) -> Iterator[Fit]:
        if not origins:
            yield fit
            return
        first, *rest = origins
        for candidate in self._candidates(first, ancestors, fit):
            for new in self._match(first, candidate, fit):
                ways = () if self._is_aside else self.flow.between(candidate.tensor or "", tensor)
                yield from self._origins(tuple(rest), tensor, ancestors, new.cover(ways))

    def _candidates(self, origin: Expression, ancestors: dict[str, None], fit: Fit) -> Iterator[Operand]:
        """Ancestors that an origin could be: the bound one, or those made by an operation of its name."""
        if isinstance(origin, Either):
            every = (each for choice in origin.choices for each in self._candidates(choice, ancestors, fit))
            yield from {candidate.tensor: candidate for candidate in every}.values()
            return
        if isinstance(origin, Name):
            known = fit.bound.get(origin.name)
            if known is not None:
                if known.tensor in ancestors:
                    yield known
                return
            equation = self._equations.get(origin.name)
            if equation is not None:
                yield from self._candidates(equation[0].expression, ancestors, fit)
                return
            symbol = self.symbols.get(origin.name)
            for tensor in ancestors:
                if symbol is None or symbol.binds != "parameter" or tensor in self.flow.document.parameters:
                    yield self.flow.result(tensor)
            return
        wanted: set[str] = set()
        for head in heads(origin):
            wanted.update(
                self.flow.made_by.get(head.operation, ())
                if isinstance(head, Call)
                else self._outputs_of(head.mechanism)
            )
        for tensor in ancestors:
            if tensor in wanted:
                yield self.flow.result(tensor)

    def _found(self, found: Found, operand: Operand, fit: Fit) -> Iterator[Fit]:
        for output, place in self._outputs_of(found.mechanism).get(operand.tensor or "", ()):
            if found.output not in (None, output):
                continue
            covered = fit.cover(place.fit.operations)
            pairs = [(inner, place.fit.bound[name]) for name, inner in found.symbols if name in place.fit.bound]
            if len(pairs) != len(found.symbols):
                continue
            yield from self._all(pairs, covered)

    def _outputs_of(self, mechanism: str) -> dict[str, list[tuple[str, Place]]]:
        """Outputs of a mechanism's places by tensor."""
        known = self._outputs.get(mechanism)
        if known is None:
            known = self._outputs[mechanism] = {}
            for place in self.found.get(mechanism, ()):
                for name in place.outputs:
                    known.setdefault(place.fit.bound[name].tensor or "", []).append((name, place))
        return known

    def _holds(self, predicate: str, tensor: str) -> bool:
        document = self.flow.document
        if predicate == "aside":
            return True
        if predicate == "parameter":
            return tensor in document.parameters
        if predicate == "given":
            return tensor in document.inputs
        return tensor in self.flow.returned
