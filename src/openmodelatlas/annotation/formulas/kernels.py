"""Kernels that stand-ins replace: their formulas come from what the stand-in declares, and are evaluated in NumPy."""

from __future__ import annotations

import re

from openmodelatlas.annotation.formulas import single
from openmodelatlas.annotation.formulas.calls import Call, Operand, in_order, named_call
from openmodelatlas.annotation.formulas.entry import Entry
from openmodelatlas.annotation.formulas.evaluate import Values
from openmodelatlas.annotation.formulas.symbols import Symbols
from openmodelatlas.annotation.kernel_specs import specs
from openmodelatlas.annotation.knowledge import Formula, FormulaCheck, Term
from openmodelatlas.capture.standins.registry import KernelSpec
from openmodelatlas.graph.document import Node, Port
from openmodelatlas.graph.naming import slug, unique

_RESULTS = ("output", "final_state")
_COMMANDS = r"\\(?:text|operatorname|mathrm|begin|end)\{[^{}]*\}|\\[A-Za-z]+"

_UNKNOWN = "a kernel of which the operation table has no evaluation"


def call_of(node: Node, symbols: Symbols) -> Call | None:
    """The call of a kernel, its arguments by the names of its signature; ``None`` if it cannot be evaluated."""
    from openmodelatlas.annotation.formulas.families.kernels import KERNELS

    spec = specs().get(node.function or "")
    kernel = KERNELS.get(spec.name) if spec is not None else None
    if kernel is None:
        return None
    entry = Entry(latex="", evaluate=kernel.evaluate)
    return named_call(node, symbols.document, kernel.signature.split(), entry)


def check(node: Node, symbols: Symbols, values: Values) -> FormulaCheck:
    """Evaluates a kernel on its captured inputs."""
    call = call_of(node, symbols)
    if call is None:
        return FormulaCheck(verdict="not checked", error=None, detail=_UNKNOWN)
    return single.check(call, symbols.document, values)


def formula(node: Node, symbols: Symbols, check: FormulaCheck) -> Formula | None:
    """The formula of a kernel with the symbols of its arguments lit; ``None`` if the kernel is unknown."""
    spec = specs().get(node.function or "")
    if spec is None:
        return None
    taken: set[str] = set()
    terms: dict[str, Term] = {}
    bound = _bound(node, spec, symbols)
    for symbol in spec.symbols:
        if not symbol.argument or symbol.latex in terms:
            continue
        shape = f" {symbol.shape}" if symbol.shape else ""
        terms[symbol.latex] = Term(
            id=unique(slug(symbol.argument), taken),
            latex=symbol.latex,
            meaning=f"{symbol.meaning}{shape}",
            addresses=_addresses(bound.get(symbol.argument), symbols),
        )
    latex = _lit(spec.formula, terms)
    lit = tuple(term for term in terms.values() if f"light={term.id}}}" in latex)
    return Formula(latex=latex, terms=lit, check=check)


def _lit(formula: str, terms: dict[str, Term]) -> str:
    """The formula with every symbol marked, commands and words left alone."""
    if not terms:
        return formula
    longest = sorted(terms, key=len, reverse=True)
    names = "|".join(re.escape(latex) for latex in longest)
    pattern = re.compile(rf"(?<![A-Za-z\\])(?P<symbol>{names})(?![A-Za-z])|{_COMMANDS}")

    def mark(match: re.Match[str]) -> str:
        latex = match["symbol"]
        return match[0] if latex is None else rf"{{\htmlData{{light={terms[latex].id}}}{{{latex}}}}}"

    return pattern.sub(mark, formula)


def _bound(node: Node, spec: KernelSpec, symbols: Symbols) -> dict[str, str]:
    """The tensor of each argument: by name, or by position in the signature; and of each result."""
    call = call_of(node, symbols)
    if call is not None:
        bound = {name: value.name for name, value in call.named.items() if isinstance(value, Operand)}
    else:  # in the order of the symbols that stand for tensors
        tensors = [each.argument for each in spec.symbols if each.shape and each.argument not in ("", *_RESULTS)]
        ordered = list(dict.fromkeys(tensors))
        bound = {}
        for key, value in in_order(node.operands).items():
            name = ordered[int(key)] if key.isdecimal() and int(key) < len(ordered) else key
            if isinstance(value, dict) and "tensor" in value:
                bound.setdefault(name, value["tensor"])
    results: tuple[Port, ...] = node.outputs
    return bound | {name: port.tensor for name, port in zip(_RESULTS, results, strict=False)}


def _addresses(tensor: str | None, symbols: Symbols) -> tuple[str, ...]:
    if tensor is None:
        return ()
    made = symbols.producer(tensor)
    root = symbols.root(tensor)
    return tuple(dict.fromkeys(name for name in (tensor, made.address if made is not None else None, root) if name))
