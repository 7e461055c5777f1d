"""The terms of the formulas on one page: symbol, meaning, and what lights with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from openmodelatlas.annotation.formulas.calls import Call, Operand, call_of
from openmodelatlas.annotation.formulas.entry import ATOM, MATRIX_PRODUCTS, SYMBOL
from openmodelatlas.annotation.formulas.notation import dimension_words, parameter_latex, variable_latex
from openmodelatlas.annotation.formulas.spans import Spans
from openmodelatlas.annotation.formulas.writing import Piece, Writer, symbol
from openmodelatlas.annotation.knowledge import Term
from openmodelatlas.annotation.material import Drafts
from openmodelatlas.graph.document import Document, Lines, Node
from openmodelatlas.graph.naming import slug, unique
from openmodelatlas.shapes.dimension import Dimension

LONGEST_TERM = 56
"""Characters of LaTeX up to which an expression stands as a term of its own; a letter stands for longer ones."""

_LETTERS = ("x", "u", "v", "w", "z", "a", "b", "c")
_DEEPEST = 3
_MOST_PLUMBING = 20
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
        self._renamed = self._told_apart()

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
        made = self.producer(tensor)
        if made is None or not made.plumbing:
            return None
        call = self.call(made.address)
        return call.operands[0].name if call is not None and call.operands else None

    def root(self, tensor: str) -> str:
        """A tensor before the plumbing that it passed."""
        for _ in range(_MOST_PLUMBING):
            source = self.source(tensor)
            if source is None:
                break
            tensor = source
        return tensor

    def role(self, tensor: str, page: Mapping[str, str]) -> str | None:
        """The symbol that a page, or else the tensor's role, gives it; the code's name where roles confuse two."""
        if tensor in page:
            return page[tensor]
        if tensor in self._renamed:
            return self._renamed[tensor]
        return self.drafts.tensor_symbols.get(tensor)

    def named(self, tensor: str, page: Mapping[str, str], *, matrix: bool = False, depth: int = 0) -> Piece | None:
        """The symbol of a tensor or parameter that has one, or that plumbing made from one that has.

        Args:
            tensor: address or true name.
            page: symbols that the page gives to tensors.
            matrix: whether a transpose is told from what it was made from.
            depth: how much plumbing was looked through.
        """
        source = self.source(tensor) if depth < _MOST_PLUMBING else None
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
            source = source or (self._written(tensor) if depth < _MOST_PLUMBING else None)
        return self.named(source, page, matrix=matrix, depth=depth + 1) if source is not None else None

    def _called(self, tensor: str) -> Piece | None:
        """A tensor by its name in the code, a parameter or input by its own."""
        node = self.document.nodes.get(tensor)
        if node is not None and node.tensor is not None:
            return symbol(variable_latex(node.tensor.variable)) if node.tensor.variable else None
        parameter = self.document.parameters.get(tensor)
        if parameter is not None:
            return symbol(parameter_latex(tensor, len(parameter.shape)))
        return symbol(variable_latex(tensor.rpartition("/")[2])) if tensor in self.document.inputs else None

    def _told_apart(self) -> dict[str, str | None]:
        """Tensors that share a symbol with another one of the same layer, and what tells them from it.

        The first keeps the symbol. Others that the code calls differently go by their names in the code; those without
        a name, of several of one function, by the expressions that compute them (``None``).
        """
        owners: dict[tuple[str, str], str] = {}
        inner: dict[tuple[str | None, str], set[str]] = {}
        renamed: dict[str, str | None] = {}
        for address, node in self.document.nodes.items():
            given = self.drafts.tensor_symbols.get(address)
            if given is None or node.tensor is None:
                continue
            layer = "/".join(address.split("/")[: 3 if address.startswith("decode/") else 2])
            owner = owners.setdefault((layer, given), address)
            first = self.document.nodes[owner].tensor
            name, other = node.tensor.variable, first.variable if first is not None else None
            if name and other and name != other and name.isidentifier() and self.root(address) != self.root(owner):
                renamed[address] = variable_latex(name)
            made = self.producer(address)
            if name is None and made is not None and node.parent == made.address and not made.plumbing:
                inner.setdefault((made.parent, given), set()).add(address)
        for several in inner.values():
            if len(several) > 1:
                renamed.update(dict.fromkeys(several))
        return renamed

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

    def axes(self, tensor: str) -> Sequence[Dimension]:
        """The axes of a tensor or parameter."""
        node = self.document.nodes.get(tensor)
        if node is not None and node.tensor is not None:
            return node.tensor.shape
        parameter = self.document.parameters.get(tensor)
        if parameter is not None:
            return parameter.shape
        given = self.document.inputs.get(tensor)
        return given.shape if given is not None else ()

    def expression(self, tensor: str, page: Mapping[str, str], depth: int = 0) -> Piece | None:
        """A tensor without a name as the expression that computes it; ``None`` if that is long."""
        made = self.producer(tensor)
        call = self.call(made.address) if made is not None else None
        if call is None or call.node.kind != "operation" or len(call.node.outputs) != 1 or depth > _DEEPEST:
            return None
        if call.in_place or "<result>" in call.entry.latex:
            return None

        def inner(operand: Operand) -> Piece:
            piece = self.named(operand.name, page, matrix=call is not None and call.name in MATRIX_PRODUCTS)
            if piece is None:
                piece = self.expression(operand.name, page, depth + 1)
            return piece if piece is not None else _NONE

        if call.node.plumbing and call.operands:
            piece = inner(call.operands[0])
        else:
            piece = Writer(self.document.sizes, inner, self.shape, self.spans.text).piece(call)
        return piece if _NONE.latex not in piece.latex and len(piece.latex) <= LONGEST_TERM else None


class Terms:
    """The terms of one formula, in order of appearance.

    Args:
        symbols: symbols of tensors.
        page: symbols that the page gives to tensors.
        taken: ids that the page already uses.
        matrix: whether transposes are told apart.
    """

    def __init__(self, symbols: Symbols, page: Mapping[str, str], taken: set[str], *, matrix: bool = False) -> None:
        self._symbols = symbols
        self._page = page
        self._matrix = matrix
        self._taken = taken
        self._terms: dict[str, Term] = {}
        self._pieces: dict[str, Piece] = {}
        self._results: set[str] = set()

    def symbols(self) -> dict[str, str]:
        """How each tensor is set, those left out that stand as the expressions that compute them."""
        return {name: term.latex for name, term in self._terms.items() if self._pieces[name].level >= SYMBOL}

    def finished(self, latex: str) -> tuple[Term, ...]:
        """The terms that ``latex`` speaks of, results first."""
        terms = {name: term for name, term in self._terms.items() if f"light={term.id}}}" in latex}
        first = [term for name, term in terms.items() if name in self._results]
        return (*first, *(term for name, term in terms.items() if name not in self._results))

    def tensor(self, name: str, lines: Lines | None = None, *, via: Sequence[str] = (), result: str = "") -> Piece:
        """The lit piece of a tensor or parameter, entered as a term when it first occurs.

        Args:
            name: address or true name.
            lines: its characters here.
            via: further nodes that light with it, such as the plumbing it passes.
            result: letter for it if it stands on the left and has no name; empty for operands.
        """
        if result:
            self._results.add(name)
        if name not in self._terms:
            self._enter(name, via, result, lines)
        term = self._terms[name]
        if lines is not None and lines not in term.lines:
            self._terms[name] = msgspec.structs.replace(term, lines=(*term.lines, lines))
        return self._pieces[name]

    def _enter(self, name: str, via: Sequence[str], result: str, lines: Lines | None) -> None:
        piece = self._plain(name, result, lines)
        identifier = unique(self._slug(name, bool(result)), self._taken)
        self._terms[name] = Term(
            id=identifier,
            latex=piece.latex,
            meaning=self._meaning(name, lines),
            addresses=self._addresses(name, via),
        )
        self._pieces[name] = Piece(rf"{{\htmlData{{light={identifier}}}{{{piece.latex}}}}}", piece.level)

    def _plain(self, name: str, result: str, lines: Lines | None) -> Piece:
        used = {term.latex for term in self._terms.values()}
        for piece in self._candidates(name, result, lines):
            if piece.latex not in used:
                return piece
        known = next(self._candidates(name, result, lines), None)
        if known is None:
            letters = (result, *_LETTERS) if result else _LETTERS
            return Piece(next((letter for letter in letters if letter not in used), "t"), ATOM)
        latex = known.latex
        while latex in used:  # another tensor under the same name: what it was before, or becomes
            closed = "^" in latex or ("'" in latex and not latex.endswith("'"))
            latex = f"{{{latex}}}'" if closed else f"{latex}'"
        return symbol(latex)

    def _candidates(self, name: str, result: str, lines: Lines | None) -> Iterator[Piece]:
        """What a tensor may be called here, best first: by role, by this code, by its own name, spelled out."""
        symbols = self._symbols
        local = self._local(name, lines)
        named = symbols.named(name, self._page, matrix=self._matrix and not result)
        if named is not None and symbols.role(symbols.root(name), self._page) is not None:
            yield named
        if local is not None:
            yield symbol(variable_latex(local))
        if named is not None:
            yield named
        node = symbols.document.nodes.get(name)
        if node is not None and node.tensor is not None and node.tensor.variable:
            yield symbol(variable_latex(node.tensor.variable))
        elif not result:
            spelled = symbols.expression(name, self._page)
            if spelled is not None:
                yield spelled

    def _local(self, name: str, lines: Lines | None) -> str | None:
        """What the code calls the tensor at this place, if it does by a plain name."""
        if lines is None or name in self._symbols.document.parameters:
            return None
        text = self._symbols.spans.segment(lines).removeprefix("self.")
        return text if text.isidentifier() else None

    def _slug(self, name: str, result: bool = False) -> str:
        draft = self._symbols.drafts.nodes.get(name)
        node = self._symbols.document.nodes.get(name)
        if draft is not None and (draft.title or draft.role):
            return slug(draft.title or draft.role or "")
        if node is not None and node.tensor is not None:
            source = self._symbols.source(name)
            if node.tensor.variable:
                return slug(node.tensor.variable)
            if source is not None and not result:
                return self._slug(source)
            made = self._symbols.producer(name)
            return slug(made.address.rpartition("/")[2]) if made is not None else "operand"
        parts = [part for part in name.partition(" @ ")[0].split(".") if part != "*" and not part.isdigit()]
        return slug(" ".join(parts[-2:]))

    def _meaning(self, name: str, lines: Lines | None) -> str:
        document = self._symbols.document
        draft = self._symbols.drafts.nodes.get(name)
        node = document.nodes.get(name)
        axes = ", ".join(dimension_words(each, document.sizes) for each in self._symbols.axes(name))
        if draft is not None and (draft.title or draft.role):
            what = _within_sentence(draft.title or draft.role or "")
        elif node is not None and node.tensor is not None:
            made = self._symbols.producer(name)
            called = self._local(name, lines) or node.tensor.variable
            if called:
                what = f"`{called}`"
            else:
                what = f"result of `{made.symbol.text}`" if made is not None and made.symbol is not None else "tensor"
        else:
            what = f"`{name.partition(' @ ')[0]}`"
        return f"{what} [{axes}]" if axes else what

    def _addresses(self, name: str, via: Sequence[str]) -> tuple[str, ...]:
        found: dict[str, None] = {name: None}
        current: str | None = name
        for _ in range(_MOST_PLUMBING):
            made = self._symbols.producer(current) if current is not None else None
            if made is None:
                break
            found[made.address] = None
            current = self._symbols.source(current) if current is not None else None
            if current is None:
                break
            found[current] = None
        return tuple({**found, **dict.fromkeys(via)})


def _within_sentence(title: str) -> str:
    """A title as it stands within a sentence: ``query latent``, but ``RMSNorm`` and ``MLA cache``."""
    first = title.partition(" ")[0]
    return title if any(letter.isupper() for letter in first[1:]) else title[:1].lower() + title[1:]
