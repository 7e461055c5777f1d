"""The symbols of tensors: from their roles, their names in the code, what computes them, or a letter."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count

from openmodelatlas.annotation.formulas.calls import Call, Operand, call_of
from openmodelatlas.annotation.formulas.entry import ATOM, MATRIX_PRODUCTS, SYMBOL
from openmodelatlas.annotation.formulas.notation import dimension_words, marked, parameter_latex, variable_latex
from openmodelatlas.annotation.formulas.pairs import indexed, indices
from openmodelatlas.annotation.formulas.scaling import Scaling
from openmodelatlas.annotation.formulas.spans import Spans
from openmodelatlas.annotation.formulas.writing import Piece, Writer, symbol
from openmodelatlas.annotation.material import Drafts
from openmodelatlas.graph.document import Document, Node
from openmodelatlas.shapes.dimension import Dimension

LONGEST_TERM = 56
"""Characters of LaTeX up to which an expression stands as a term of its own; a letter stands for longer ones."""

MOST_PLUMBING = 20
_DEEPEST = 3
_NONE = Piece("\1")


class Symbols:
    """The symbol of every tensor: from its role, its name in the code, what it is computed by, or none.

    Args:
        document: facts.
        drafts: knowledge so far; gives the symbols of roles.
        spans: finds code.
    """

    def __init__(self, document: Document, drafts: Drafts, spans: Spans) -> None:
        self.document = document
        self.drafts = drafts
        self.spans = spans
        self._calls: dict[str, Call | None] = {}
        self._roots: dict[str, str] = {}
        self._sources: dict[str, str | None] = {}
        self._words: dict[tuple[Dimension, ...], str] = {}
        self._scaling = Scaling(document)
        self._letters: dict[str, dict[str, str]] = {}
        self._layers: dict[str, dict[str, str]] = {}
        self._assigned: dict[str, dict[str, list[str]]] = {}
        self._roles: dict[str, dict[str, set[str]]] = {}

    def call(self, address: str) -> Call | None:
        """The call of the operation at ``address``."""
        if address not in self._calls:
            self._calls[address] = call_of(self.document.nodes[address], self.document)
        return self._calls[address]

    def producer(self, tensor: str) -> Node | None:
        """The node that computes a tensor."""
        node = self.document.nodes.get(tensor)
        if node is None or node.tensor is None or node.tensor.producer is None:
            return None
        return self.document.nodes.get(node.tensor.producer)

    def source(self, tensor: str) -> str | None:
        """What plumbing made a tensor from; ``None`` if no plumbing did."""
        if tensor not in self._sources:
            made = self.producer(tensor)
            call = self.call(made.address) if made is not None and made.plumbing else None
            self._sources[tensor] = call.operands[0].name if call is not None and call.operands else None
        return self._sources[tensor]

    def root(self, tensor: str) -> str:
        """A tensor before the plumbing that it passed."""
        if tensor not in self._roots:
            current = tensor
            for _ in range(MOST_PLUMBING):
                source = self.source(current)
                if source is None:
                    break
                current = source
            self._roots[tensor] = current
        return self._roots[tensor]

    def role(self, tensor: str, page: Mapping[str, str]) -> str | None:
        """The symbol that a page, or else the tensor's role, gives it; plumbing keeps that of its source."""
        if tensor in page:
            return page[tensor]
        found = self.drafts.tensor_symbols.get(tensor)
        if found is not None:
            root = self.root(tensor)
            if root in page and self.drafts.tensor_symbols.get(root) == found:
                return page[root]
        return found

    def page(self, address: str) -> dict[str, str]:
        """What the page of a node calls tensors: its own symbols, and those that its layer gives to what it reads."""
        return {**self._layer(address), **self.drafts.nodes[address].symbols}

    def _layer(self, address: str) -> dict[str, str]:
        current: str | None = address
        while current is not None:
            node = self.document.nodes[current]
            if node.kind == "layer group":
                if current not in self._layers:
                    given = self.drafts.nodes[current].symbols
                    tensors = [port.tensor for port in node.inputs]
                    self._layers[current] = {tensor: given[tensor] for tensor in tensors if tensor in given}
                return self._layers[current]
            current = node.parent
        return {}

    def named(self, tensor: str, page: Mapping[str, str], *, matrix: bool = False, depth: int = 0) -> Piece | None:
        """The symbol of a tensor or parameter that has one, or that plumbing made from one that has.

        Args:
            tensor: address or true name.
            page: symbols that the page gives to tensors.
            matrix: whether a transpose is told from what it was made from.
            depth: how much plumbing was looked through.
        """
        source = self.source(tensor) if depth < MOST_PLUMBING else None
        if matrix and source is not None and self.swaps(tensor):
            turned = self.named(source, page, matrix=True, depth=depth + 1)
            if turned is not None:
                return Piece(rf"{turned.within(ATOM)}^{{\top}}", SYMBOL)
        role = self.role(tensor, page)
        if role is not None and (source is None or self.role(source, page) != role):
            return symbol(role)
        if role is None:
            called = self._called(tensor)
            if called is not None:
                return called
            source = source or (self._written(tensor) if depth < MOST_PLUMBING else None)
        return self.named(source, page, matrix=matrix, depth=depth + 1) if source is not None else None

    def _called(self, tensor: str) -> Piece | None:
        """A tensor by its name in the code, a parameter or input by its own."""
        node = self.document.nodes.get(tensor)
        if node is not None and node.tensor is not None:
            return symbol(self.variable(tensor, node.tensor.variable)) if node.tensor.variable else None
        parameter = self.document.parameters.get(tensor)
        if parameter is not None:
            return symbol(parameter_latex(tensor, len(parameter.shape)))
        return symbol(variable_latex(tensor.rpartition("/")[2])) if tensor in self.document.inputs else None

    def variable(self, tensor: str, name: str) -> str:
        """The code's name of a tensor, primed where the function gave it to other tensors before."""
        made = self.producer(tensor)
        scope = (made.parent or "") if made is not None else ""
        if scope not in self._assigned:
            self._assigned[scope] = self._assignments(scope)
        roots = self._assigned[scope].get(name, [])
        meant = self._meant(tensor)
        return marked(variable_latex(name), roots.index(meant) if meant in roots else 0)

    def clashes(self, tensor: str, latex: str) -> bool:
        """Whether the code's name of what plumbing made is the symbol of another tensor on the page."""
        made = self.producer(tensor)
        if made is None or not made.plumbing:
            return False
        scope = made.parent or ""
        if scope not in self._roles:
            owners: dict[str, set[str]] = {}
            for address in self.document.nodes[scope].children if scope in self.document.nodes else ():
                node = self.document.nodes.get(address)
                for port in (*node.inputs, *node.outputs) if node is not None else ():
                    given = self.role(port.tensor, {})
                    if given is not None:
                        owners.setdefault(given, set()).add(self.root(port.tensor))
            self._roles[scope] = owners
        return bool(self._roles[scope].get(latex, set()) - {self.root(tensor)})

    def _meant(self, tensor: str) -> str:
        """What a name of the code stands for: plumbing makes no other tensor, unless a role names its source."""
        root = self.root(tensor)
        return tensor if root != tensor and self.role(root, {}) is not None else root

    def _assignments(self, scope: str) -> dict[str, list[str]]:
        """What each name of the code stands for in a function, in order, those aside that a role names."""
        around = self.document.nodes.get(scope)
        found: dict[str, list[str]] = {}
        for address in around.children if around is not None else ():
            node = self.document.nodes.get(address)
            for port in node.outputs if node is not None else ():
                fact = self.document.nodes[port.tensor].tensor if port.tensor in self.document.nodes else None
                if fact is None or not fact.variable:
                    continue
                meant = self._meant(port.tensor)
                roots = found.setdefault(fact.variable, [])
                if meant not in roots and (meant != self.root(meant) or self.role(meant, {}) is None):
                    roots.append(meant)
        return found

    def letter(self, tensor: str) -> str | None:
        """The letter of a result without a name: one for each on every page on which it stands."""
        scope = self._outermost(tensor)
        if scope is None:
            return None
        if scope not in self._letters:
            self._letters[scope] = {}  # what leads back here while letters are given has none yet
            self._letters[scope] = self._unnamed(scope)
        return self._letters[scope].get(tensor)

    def _outermost(self, tensor: str) -> str | None:
        """The node on whose page a result is handed no further; ``None`` for what no node makes."""
        made = self.producer(tensor)
        if made is None:
            return None
        scope = made.parent or ""
        while any(port.tensor == tensor for port in self.document.nodes[scope].outputs):
            around = self.document.nodes[scope]
            if around.kind in ("layer group", "model", "phase") or around.parent is None:
                break
            scope = around.parent
        return scope

    def _unnamed(self, scope: str) -> dict[str, str]:
        """Letters of the results in a scope that have neither a symbol nor a name in the code."""
        around = self.document.nodes.get(scope)
        children = around.children if around is not None else ()
        results: list[str] = []
        taken: set[str] = set()
        for address in children:
            for port in self.document.nodes[address].outputs if address in self.document.nodes else ():
                piece = self.named(port.tensor, {})
                if piece is not None:
                    taken.add(piece.latex)
                if piece is None or self.source(port.tensor) is not None:
                    results.append(port.tensor)
        letter = next((each for each in ("y", "u", "z", "v") if each not in taken), "y")
        handed = [tensor for tensor in results if self._outermost(tensor) != scope]
        given = {self.letter(tensor) for tensor in handed}
        own = [tensor for tensor in dict.fromkeys(results) if tensor not in handed]
        if len(own) == 1 and letter not in given:
            return {own[0]: letter}
        names = (f"{letter}_{{{number}}}" for number in count(1))
        free = (name for name in names if name not in given)
        return dict(zip(own, free, strict=False))

    def _written(self, tensor: str) -> str | None:
        """What a write in place made a tensor from; ``None`` if none did."""
        made = self.producer(tensor)
        call = self.call(made.address) if made is not None else None
        if call is None or not (call.in_place or call.name == "setitem") or not call.operands:
            return None
        return call.operands[0].name if call.node.outputs and call.node.outputs[0].tensor == tensor else None

    def swaps(self, tensor: str) -> bool:
        """Whether plumbing exchanged the two last axes."""
        made = self.producer(tensor)
        call = self.call(made.address) if made is not None else None
        if call is None or call.name not in ("transpose", "transpose_matrix"):
            return False
        if call.name == "transpose_matrix":
            return True
        rank = len(self.shape(call.operands[0]))
        axes = [call.named.get(name) for name in ("dim0", "dim1")]
        return rank > 1 and {axis % rank for axis in axes if isinstance(axis, int)} == {rank - 1, rank - 2}

    def shape(self, operand: Operand) -> Sequence[Dimension]:
        """The axes of an operand."""
        return self.axes(operand.name)

    def axes(self, tensor: str) -> tuple[Dimension, ...]:
        """The axes of a tensor or parameter."""
        node = self.document.nodes.get(tensor)
        if node is not None and node.tensor is not None:
            return node.tensor.shape
        parameter = self.document.parameters.get(tensor)
        if parameter is not None:
            return parameter.shape
        given = self.document.inputs.get(tensor)
        return given.shape if given is not None else ()

    def shape_words(self, tensor: str) -> str:
        """The axes of a tensor or parameter in words: ``B batch, T positions, 7168 d``."""
        axes = self.axes(tensor)
        if axes not in self._words:
            self._words[axes] = ", ".join(dimension_words(axis, self.document.sizes) for axis in axes)
        return self._words[axes]

    def writer(self, piece: Callable[[Operand], Piece]) -> Writer:
        """A writer of calls whose operands ``piece`` gives."""
        return Writer(self.document.sizes, piece, self.shape, self.spans.text, self._scaling)

    def expression(
        self, tensor: str, page: Mapping[str, str], depth: int = 0, lit: Callable[[str], Piece] | None = None
    ) -> Piece | None:
        """A tensor without a name as the expression that computes it; ``None`` if that is long.

        Args:
            tensor: its address.
            page: symbols that the page gives to tensors.
            depth: how many expressions it stands in.
            lit: gives the pieces of tensors with a name; ``None`` takes their symbols as they are.
        """
        made = self.producer(tensor)
        call = self.call(made.address) if made is not None else None
        if call is None or call.node.kind != "operation" or len(call.node.outputs) != 1 or depth > _DEEPEST:
            return None
        if call.in_place or "<result>" in call.entry.latex:
            return None

        spread = indices(call, self.axes)

        def inner(operand: Operand) -> Piece:
            piece = self.named(operand.name, page, matrix=call is not None and call.name in MATRIX_PRODUCTS)
            if piece is None:
                piece = self.expression(operand.name, page, depth + 1, lit)
            elif lit is not None and piece.level >= SYMBOL and not self.swaps(operand.name):
                piece = lit(operand.name)
            return indexed(piece, spread.get(operand, "")) if piece is not None else _NONE

        plumbing = call.node.plumbing and call.operands
        piece = inner(call.operands[0]) if plumbing else self.writer(inner).piece(call)
        short = lit is not None or len(piece.latex) <= LONGEST_TERM
        return piece if _NONE.latex not in piece.latex and short else None
