"""Formulas of mechanisms at a place: terms bound to tensors, parameters and characters of the code."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

from openmodelatlas.annotation.knowledge import Formula, FormulaCheck, Term
from openmodelatlas.annotation.mechanisms.evaluate import number, tolerance
from openmodelatlas.annotation.mechanisms.fit import Place
from openmodelatlas.annotation.mechanisms.flow import Flow, Operand
from openmodelatlas.catalogue.entry import Mechanism, Symbol
from openmodelatlas.catalogue.load import fill_formula, formula_for, formula_symbols
from openmodelatlas.graph.document import Lines, Node

_NAMED = 4
"""Parameters that one term names: a formula stands for two paths, or three, of one function."""


_CODE_NAME = re.compile(r"\\(?:mathtt|texttt)\b")
"""Begins the symbol of a tensor that is only called what the code calls it."""


def formulas_of(
    flow: Flow, mechanism: Mechanism, places: Sequence[Place], symbols: Mapping[str, str], page: Mapping[str, str]
) -> list[Formula]:
    """The formulas of a mechanism for its places at one node: one for each way in which it is written there.

    ``symbols`` are those that roles gave to tensors, ``page`` those of the node's own page.
    """
    ways: dict[str, list[Place]] = {}
    for place in places:
        ways.setdefault(formula_at(mechanism, place.fit.bound), []).append(place)
    return [
        _formula(flow, mechanism, text, each, latex_of(mechanism, each, symbols, page), way)
        for way, (text, each) in enumerate(ways.items(), 1)
    ]


def formula_at(mechanism: Mechanism, bound: Mapping[str, Operand]) -> str:
    """The mechanism's formula for what is bound at one place, its terms not yet set."""
    return formula_for(mechanism, {name: _is_so(operand) for name, operand in bound.items()})


def _is_so(operand: Operand) -> bool:
    """Whether a name stands for something: not for ``None`` or ``False``."""
    said = number(operand.number)
    return operand.tensor is not None or (said is not None and said is not False)


def _formula(
    flow: Flow, mechanism: Mechanism, text: str, places: Sequence[Place], latex: Mapping[str, str], way: int
) -> Formula:
    """One formula; ``way`` counts those of the same mechanism on a page."""
    ids = {name: each if way == 1 else f"{each}-way-{way}" for name, each in term_ids(mechanism).items()}
    terms = []
    for name in formula_symbols(text):
        operands = [place.fit.bound[name] for place in places if name in place.fit.bound]
        terms.append(
            Term(
                id=ids[name],
                latex=latex[name],
                meaning=_meaning(flow, mechanism.front.symbols[name], operands),
                addresses=tuple(dict.fromkeys(address for operand in operands for address in _addresses(operand))),
                lines=tuple(dict.fromkeys(lines for operand in operands for lines in operand_lines(flow, operand))),
            )
        )

    def fill(name: str) -> str:
        return rf"\htmlData{{light={ids[name]}}}{{{latex[name]}}}"

    return Formula(
        latex=fill_formula(text, fill).strip(),
        terms=tuple(terms),
        check=_check(mechanism, places),
        mechanism=mechanism.id,
    )


def term_ids(mechanism: Mechanism) -> dict[str, str]:
    """Identifiers of the terms of all symbols, unique over the mechanisms of a page."""
    ids: dict[str, str] = {}
    for name in mechanism.front.symbols:
        words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", "-", name).strip("-").lower()
        identifier, number = f"{mechanism.id}-{words}", 2
        while identifier in ids.values():
            identifier, number = f"{mechanism.id}-{words}-{number}", number + 1
        ids[name] = identifier
    return ids


def latex_of(
    mechanism: Mechanism, places: Sequence[Place], symbols: Mapping[str, str], page: Mapping[str, str]
) -> dict[str, str]:
    """How each symbol is set: as roles set its tensor, where that is clear; else as the entry sets it.

    It is not clear where places differ, where the formula names a symbol by the entry's own letter, or where a tensor
    that is not on the page has only the code's name. No two symbols
    look the same unless they are the same tensor, and none looks like another tensor of the page: tensors that the
    formula names choose first, then those of the page, then all other symbols of the entry, primed where they must be.
    Symbols that are one tensor (rounds of a loop made both) have the entry's letters.
    """
    own = {name: _unbounded(name, places) or symbol.latex for name, symbol in mechanism.front.symbols.items()}
    text = formula_at(mechanism, places[0].fit.bound)
    rest = fill_formula(text, lambda _: " ")
    shown = formula_symbols(text)
    tensors = {
        name: frozenset(place.fit.bound[name].tensor or "" for place in places if name in place.fit.bound) - {""}
        for name in own
    }
    given = {
        name: str(*found)
        for name, called in tensors.items()
        if len(found := {symbols.get(tensor, "") for tensor in called}) == 1 and not _says(rest, own[name])
    }
    given = {
        name: latex
        for name, latex in given.items()
        if latex and not _says(rest, latex) and (not _CODE_NAME.match(latex) or tensors[name] & page.keys())
    }
    shared = {
        name
        for name in shown
        for other in shown
        if tensors[name] and tensors[name] == tensors[other] and own[name] != own[other]
    }
    given = {name: latex for name, latex in given.items() if name not in shared}
    taken: dict[str, frozenset[str]] = {}
    for name in shown:
        if name in given:
            taken.setdefault(given[name], tensors[name])
    for tensor, latex in page.items():
        taken.setdefault(latex, frozenset({tensor}))
    mixed: dict[str, str] = {}
    for name in sorted(own, key=lambda name: (name not in shown, name not in given)):
        choices = [given[name]] if name in given else []
        choices += [own[name], *(f"{{{own[name]}}}" + "'" * primes for primes in (1, 2, 3))]
        free = (latex for latex in choices if not latex or taken.get(latex, tensors[name]) == tensors[name])
        mixed[name] = own[name] if name in shared else next(free, own[name])
        taken.setdefault(mixed[name], tensors[name] or frozenset({name}))
    return mixed


def _unbounded(name: str, places: Sequence[Place]) -> str | None:
    """How a number is set that is infinite wherever it stands: not by a letter."""
    values = [number(place.fit.bound[name].number) for place in places if name in place.fit.bound]
    if not values or any(not isinstance(value, float) or not math.isinf(value) for value in values):
        return None
    return r"-\infty" if values[0] < 0 else r"\infty"


def _says(text: str, latex: str) -> bool:
    """Whether a formula without its terms has this letter."""
    if not latex or latex not in text:
        return False
    return re.search(rf"(?<![A-Za-z\\]){re.escape(latex)}(?![A-Za-z])", text) is not None


def operand_lines(flow: Flow, operand: Operand) -> tuple[Lines, ...]:
    """The characters at which the code reads or makes an operand; the whole expression where that is not clear."""
    made = flow.producers.get(operand.tensor or "")
    reader = operand.reader or (made[0].address if made is not None else "")
    node = flow.document.nodes.get(reader)
    if node is None or node.symbol is None:
        return ()
    lines = node.symbol.lines
    return (_narrowed(node, operand.text) or lines,)


def _narrowed(node: Node, text: str | None) -> Lines | None:
    """The only occurrence of ``text`` in the node's expression, where that stands on one line."""
    assert node.symbol is not None
    lines = node.symbol.lines
    if text is None or lines.first != lines.last or lines.column is None:
        return None
    found = [match.start() for match in re.finditer(rf"(?<![\\w.]){re.escape(text)}(?![\\w.(\\[])", node.symbol.text)]
    if len(found) != 1:
        return None
    start = lines.column + found[0]
    return Lines(file=lines.file, first=lines.first, last=lines.last, column=start, end_column=start + len(text))


def _meaning(flow: Flow, symbol: Symbol, operands: Sequence[Operand]) -> str:
    """What a symbol means; of a parameter also what it is called."""
    called = dict.fromkeys(operand.tensor for operand in operands if operand.tensor in flow.document.parameters)
    if symbol.binds not in ("parameter", "input") or not 0 < len(called) <= _NAMED:
        return symbol.meaning
    names = [f"`{str(name).partition(' @ ')[0]}`" for name in called]
    return f"{symbol.meaning}, {' and '.join(', '.join(names).rsplit(', ', 1))}"


def _addresses(operand: Operand) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for name in (operand.tensor, operand.seen) if name))


def _check(mechanism: Mechanism, places: Sequence[Place]) -> FormulaCheck:
    errors = [place.error for place in places if place.error is not None]
    missing = [place.detail for place in places if place.error is None]
    if not errors:
        return FormulaCheck(verdict="not checked", error=None, detail=missing[0], missing=True)
    detail = places[0].detail if places[0].error is not None else "compared"
    if mechanism.front.tolerance is not None:
        detail += f"; tolerance {tolerance(mechanism):g}: {mechanism.front.tolerance.reason}"
    return FormulaCheck(verdict="checked", error=max(errors), detail=detail)
