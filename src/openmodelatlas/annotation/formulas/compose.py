"""The formula of a function, module or branch, composed from the operations within."""

from __future__ import annotations

from openmodelatlas.annotation.formulas.calls import Call, Operand
from openmodelatlas.annotation.formulas.chains import Chain
from openmodelatlas.annotation.formulas.entry import ATOM, MATRIX_PRODUCTS, SYMBOL
from openmodelatlas.annotation.formulas.notation import unlit
from openmodelatlas.annotation.formulas.single import ids_of
from openmodelatlas.annotation.formulas.symbols import Symbols
from openmodelatlas.annotation.formulas.terms import Terms
from openmodelatlas.annotation.formulas.writing import Piece, Writer
from openmodelatlas.annotation.knowledge import Formula, FormulaCheck

MOST_LINES = 5
"""Lines of a composed formula; what would take more is told by its parts."""

LONGEST = 72
"""Characters, marks and commands aside, up to which an operation is written into the one that reads its result."""


class TooLongError(Exception):
    """A composed formula has more lines than a page should show."""


def compose(chain: Chain, symbols: Symbols, check: FormulaCheck) -> Formula | None:
    """The formula of a node; ``None`` if it would be long."""
    composer = _Composer(chain, symbols)
    try:
        for result in chain.results:
            composer.line(result)
    except TooLongError:
        return None
    lines = composer.lines
    latex = lines[0] if len(lines) == 1 else _aligned(lines)
    draft = symbols.drafts.nodes[chain.node.address]
    shown = composer.terms.symbols()
    for port in (*chain.node.inputs, *chain.node.outputs):
        if port.tensor in shown:
            draft.symbols.setdefault(port.tensor, shown[port.tensor])
    return Formula(latex=latex, terms=composer.terms.finished(latex), check=check)


def _aligned(lines: list[str]) -> str:
    rows = r" \\ ".join(line.replace(" = ", " &= ", 1) for line in lines)
    return rf"\begin{{aligned}} {rows} \end{{aligned}}"


class _Composer:
    """Writes one chain.

    Attributes:
        terms: terms so far.
        lines: one for every result and every tensor that is not written into another.
    """

    def __init__(self, chain: Chain, symbols: Symbols) -> None:
        draft = symbols.drafts.nodes[chain.node.address]
        self.terms = Terms(symbols, symbols.page(chain.node.address), ids_of(draft))
        self.lines: list[str] = []
        self._chain = chain
        self._symbols = symbols
        self._done: set[str] = set()

    def line(self, tensor: str) -> None:
        """Adds the line of a tensor, after those of what it needs.

        Raises:
            TooLongError: there are too many.
        """
        call = self._chain.made[tensor]
        if call.node.address in self._done:
            return
        self._done.add(call.node.address)
        right = self._right(call)
        outputs = [port.tensor for port in call.node.outputs]
        if call.in_place or call.name == "setitem":
            outputs = outputs[:1]
        places = self._symbols.spans.results(call.node, len(outputs))
        letters = ["y"] if len(outputs) == 1 else [f"y_{{{index + 1}}}" for index in range(len(outputs))]
        left = [
            self.terms.tensor(name, place, result=letter).latex
            for name, place, letter in zip(outputs, places, letters, strict=True)
        ]
        joined = r",\, ".join(left)
        result = joined if len(left) == 1 else f"({joined})"
        alone = len(self._chain.computing) == 1 and not call.node.plumbing
        if "<result>" in call.entry.latex or alone:
            self.lines.append(self._writer(call).sentence(call, result))
        else:
            self.lines.append(f"{result} = {right.latex}")
        if len(self.lines) > MOST_LINES:
            raise TooLongError

    def _right(self, call: Call) -> Piece:
        if self._chain.transparent(call):
            return self._piece(call.operands[0], call)
        return self._writer(call).piece(call)

    def _writer(self, call: Call) -> Writer:
        return self._symbols.writer(lambda operand: self._piece(operand, call))

    def _piece(self, operand: Operand, reader: Call, *, matrix: bool = False) -> Piece:
        """What stands for an operand: the term of a tensor, or the expression that computes it."""
        name = operand.name
        matrix = matrix or reader.name in MATRIX_PRODUCTS
        call = self._chain.made.get(name)
        if call is None:
            return self.terms.tensor(name, self._symbols.spans.operands(reader).get(operand))
        if self._chain.transparent(call):
            piece = self._piece(call.operands[0], call, matrix=matrix)
            if matrix and self._symbols.swaps(name):
                return Piece(rf"{piece.within(ATOM)}^{{\top}}", SYMBOL)
            return piece
        if self._goes_inside(name, call):
            piece = self._right(call)
            if len(unlit(piece.latex)) <= LONGEST:
                return piece
        self.line(name)
        return self.terms.tensor(name, self._symbols.spans.operands(reader).get(operand))

    def _goes_inside(self, name: str, call: Call) -> bool:
        return (
            self._chain.uses.get(name, 0) == 1
            and len(call.node.outputs) == 1
            and name not in self._chain.results
            and "<result>" not in call.entry.latex
            and call.node.address not in self._done
        )
