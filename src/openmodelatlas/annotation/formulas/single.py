"""The formula of one operation, and its verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from openmodelatlas.annotation.formulas.calls import Call, Operand
from openmodelatlas.annotation.formulas.entry import MATRIX_PRODUCTS, MissingValueError, Pairs, UnavailableError
from openmodelatlas.annotation.formulas.evaluate import Array, Values, applied, arguments_of, as_list, evaluated, read
from openmodelatlas.annotation.formulas.pairs import indices, is_pairwise, pair
from openmodelatlas.annotation.formulas.symbols import Symbols
from openmodelatlas.annotation.formulas.terms import Terms
from openmodelatlas.annotation.formulas.verdict import tolerance, unavailable, verdict
from openmodelatlas.annotation.formulas.writing import Piece
from openmodelatlas.annotation.knowledge import Formula, FormulaCheck
from openmodelatlas.annotation.material import Draft
from openmodelatlas.graph.document import Document

NOT_RUN = "did not run in the probe whose values are kept"


@dataclass(frozen=True)
class Results:
    """What was captured of the results of an operation.

    Attributes:
        arrays: values in order; a plain result as a number.
        dtype: element type of the first.
        compared: what they are, for the verdict.
    """

    arrays: list[Any]
    dtype: str
    compared: str


def formula(call: Call, symbols: Symbols, check: FormulaCheck) -> Formula:
    """The formula of a call with its terms lit.

    Args:
        call: the operation.
        symbols: symbols of tensors.
        check: the verdict.
    """
    draft = symbols.drafts.nodes[call.node.address]
    terms = Terms(symbols, symbols.page(call.node.address), ids_of(draft), matrix=call.name in MATRIX_PRODUCTS)
    outputs = [port.tensor for port in call.node.outputs]
    places = symbols.spans.results(call.node, len(outputs))
    lines = symbols.spans.operands(call)
    spread = indices(call, symbols.axes)
    for operand in call.operands:  # first, so that of two names alike the result's gets the stroke
        terms.tensor(operand.name, lines.get(operand), index=spread.get(operand, ""))
    written = outputs[: _written_outputs(call)]
    letters = ["y"] if len(written) == 1 else [f"y_{{{index + 1}}}" for index in range(len(written))]
    left = [
        terms.tensor(tensor, places[index] if index < len(places) else None, result=letters[index]).latex
        for index, tensor in enumerate(written)
    ]

    def piece(operand: Operand) -> Piece:
        return terms.tensor(operand.name, lines.get(operand))

    pairwise = bool(spread) or any(is_pairwise(piece(operand).latex) for operand in call.operands)
    if pairwise and len(left) == 1 and pair(symbols.axes(written[0])) is not None:
        left = [f"{{{left[0]}}}_{{ij}}"]

    writer = symbols.writer(piece)
    together = r",\, ".join(left)
    result = together if len(left) == 1 else f"({together})" if left else r"\mathrm{value}"
    latex = writer.sentence(call, result)
    shown = terms.symbols()
    for port in (*call.node.inputs, *call.node.outputs):
        if port.tensor in shown:
            draft.symbols.setdefault(port.tensor, shown[port.tensor])
    return Formula(latex=latex, terms=terms.finished(latex), check=check)


def ids_of(draft: Draft) -> set[str]:
    """Ids of the terms that a page already has."""
    return {term.id for formula in draft.formulas for term in formula.terms}


def _written_outputs(call: Call) -> int:
    """How many results are on the left: of a write in place, the tensor and not the views that change with it."""
    return 1 if call.in_place or call.name == "setitem" else len(call.node.outputs)


def check(call: Call, document: Document, values: Values) -> FormulaCheck:
    """Evaluates a call on captured values and compares it with its captured results."""
    try:
        tensors = read(values, call.operands)
        ours = evaluated(call, tensors)
        captured = results_of(call, document, values)
        if call.entry.compare is not None and len(captured.arrays):
            pairs = _paired(call, tensors, ours, captured.arrays)
        else:
            pairs = list(zip(as_list(ours), captured.arrays, strict=False))
        allowed = tolerance(captured.dtype)
        found = verdict(pairs, captured.dtype, allowed, captured.compared)
        if found.verdict == "differs" and found.error is not None and call.entry.summed:
            wider = tolerance(captured.dtype, *_sum(call, tensors, captured.arrays[0]))
            if found.error <= wider:
                return verdict(pairs, captured.dtype, wider, f"{captured.compared} as sums of rounded terms")
        return found
    except UnavailableError as error:
        return unavailable(error)


def _paired(call: Call, tensors: Mapping[Operand, Array], ours: Any, captured: list[Any]) -> Pairs:
    """What must agree, by the entry's own comparison; a captured place outside its axis agrees with nothing."""
    assert call.entry.compare is not None
    try:
        return call.entry.compare(arguments_of(call, tensors), ours, captured)
    except IndexError:
        return [(0, 1)]


def results_of(call: Call, document: Document, values: Values) -> Results:
    """The captured results of a call.

    Raises:
        UnavailableError: they are not at hand.
    """
    arrays: list[Any] = []
    dtype = "float32"
    for index, port in enumerate(call.node.outputs[: _written_outputs(call)]):
        node = document.nodes.get(port.tensor)
        fact = node.tensor if node is not None else None
        if fact is None or fact.value is None:
            note = fact.value_note if fact is not None else None
            raise MissingValueError(f"its captured result is not at hand: {note or NOT_RUN}")
        array, stored = values.with_type(fact.value)
        arrays.append(array)
        dtype = stored if index == 0 else dtype
    if arrays:
        return Results(arrays, dtype, compared(arrays, dtype))
    plain = call.node.result
    if isinstance(plain, dict):
        if "list" not in plain or plain.get("length", len(plain["list"])) != len(plain["list"]):
            raise UnavailableError("its result was not recorded whole")
        plain = _opened(plain)
    if plain is None:
        raise UnavailableError("its result was not recorded")
    return Results([np.asarray(plain)], "float32", "compared with the recorded result")


def _opened(value: Any) -> Any:
    if isinstance(value, dict) and "list" in value:
        return [_opened(item) for item in value["list"]]
    return float(value["float"]) if isinstance(value, dict) and "float" in value else value


def compared(arrays: Sequence[Array], dtype: str) -> str:
    """What was compared, in words."""
    count = sum(int(array.size) for array in arrays)
    one = count == 1
    if dtype == "bool":
        return f"compared with {'the captured truth value' if one else f'all {count:,} captured truth values'}"
    if dtype.startswith(("int", "uint")):
        return f"compared with {'the captured integer' if one else f'all {count:,} captured integers'}"
    numbers = "the captured number" if one else f"all {count:,} captured numbers"
    return f"compared with {numbers}, which the code computed in {dtype}"


def _sum(call: Call, tensors: dict[Operand, Array], result: Array) -> tuple[int, float]:
    """How many terms each element of the result adds up, and how much larger they are together than the result."""
    named = arguments_of(call, tensors)
    parts = [np.asarray(named[name]) for name in call.entry.summed if isinstance(named.get(name), np.ndarray)]
    if not parts:
        return 2, 1.0
    terms = prod(parts[0].shape) // max(min(result.size, prod(parts[0].shape)), 1)
    if len(parts) > 1:
        terms = max(parts[0].shape[-1:] + parts[1].shape[-1:] + (1,))
    whole = applied(call, {name: _absolute(value) for name, value in named.items()})
    first = np.asarray(as_list(whole)[0], dtype=np.float64)
    scale = float(np.max(np.abs(result))) if result.size else 0.0
    largest = float(np.max(np.abs(first))) if first.size else 0.0
    return max(int(terms), 2), largest / scale if scale > 0 and np.isfinite(largest) else 1.0


def _absolute(value: Any) -> Any:
    return np.abs(value) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value
