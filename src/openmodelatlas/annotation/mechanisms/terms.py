"""Formulas of mechanisms at a place: terms bound to tensors, parameters and characters of the code."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from openmodelatlas.annotation.knowledge import Formula, FormulaCheck, Term
from openmodelatlas.annotation.mechanisms.evaluate import tolerance
from openmodelatlas.annotation.mechanisms.fit import Place
from openmodelatlas.annotation.mechanisms.flow import Flow, Operand
from openmodelatlas.catalogue.entry import Mechanism, Symbol
from openmodelatlas.catalogue.load import fill_formula, formula_symbols, without_unbound
from openmodelatlas.graph.document import Lines, Node


def formula_of(flow: Flow, mechanism: Mechanism, places: Sequence[Place], symbols: Mapping[str, str]) -> Formula:
    """The formula of a mechanism for its places at one node; ``symbols`` are those that roles gave to tensors."""
    notation = {name for name, symbol in mechanism.front.symbols.items() if symbol.binds == "index"}
    text = without_unbound(mechanism.front.formula, notation | places[0].fit.bound.keys())
    names = formula_symbols(text)
    latex = latex_of(mechanism, places, symbols)
    ids = term_ids(mechanism)
    terms = []
    for name in names:
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


def latex_of(mechanism: Mechanism, places: Sequence[Place], symbols: Mapping[str, str]) -> dict[str, str]:
    """How each symbol is set: as roles set its tensor, where that is clear; else as the entry sets it.

    It is not clear where places differ, where two symbols would look alike, or where the formula names a symbol by the
    entry's own letter.
    """
    own = {name: symbol.latex for name, symbol in mechanism.front.symbols.items()}
    rest = fill_formula(mechanism.front.formula, lambda _: " ")
    letters = [latex for latex in own.values() if latex and latex in rest]
    if any(re.search(rf"(?<![A-Za-z\\]){re.escape(latex)}(?![A-Za-z])", rest) for latex in letters):
        return own
    mixed = dict(own)
    for name in own:
        given = {symbols.get(place.fit.bound[name].tensor or "") for place in places if name in place.fit.bound}
        if len(given) == 1 and None not in given:
            mixed[name] = str(*given)
    return mixed if len(set(mixed.values())) == len(set(own.values())) else own


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
    called = {operand.tensor for operand in operands if operand.tensor in flow.document.parameters}
    if symbol.binds not in ("parameter", "input") or len(called) != 1:
        return symbol.meaning
    name = str(*called).partition(" @ ")[0]
    return f"{symbol.meaning}, `{name}`"


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
