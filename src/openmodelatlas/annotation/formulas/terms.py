"""The terms of the formulas on one page: symbol, meaning, and what lights with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from openmodelatlas.annotation.formulas.entry import ATOM, SYMBOL
from openmodelatlas.annotation.formulas.notation import unlit, variable_latex
from openmodelatlas.annotation.formulas.pairs import indexed
from openmodelatlas.annotation.formulas.symbols import MOST_PLUMBING, Symbols
from openmodelatlas.annotation.formulas.writing import Piece, symbol
from openmodelatlas.annotation.knowledge import Term
from openmodelatlas.annotation.markup import without_marks
from openmodelatlas.graph.document import Lines
from openmodelatlas.graph.naming import slug, unique

_LETTERS = ("x", "u", "v", "w", "z", "a", "b", "c")


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
        self._bare: dict[str, str] = {}
        self._results: set[str] = set()

    def symbols(self) -> dict[str, str]:
        """How each tensor is set, those left out that stand as the expressions that compute them."""
        return {name: self._bare[name] for name in self._terms if self._pieces[name].level >= SYMBOL}

    def finished(self, latex: str) -> tuple[Term, ...]:
        """The terms that ``latex`` speaks of, results first."""
        terms = {name: term for name, term in self._terms.items() if f"light={term.id}}}" in latex}
        first = [term for name, term in terms.items() if name in self._results]
        return (*first, *(term for name, term in terms.items() if name not in self._results))

    def tensor(
        self, name: str, lines: Lines | None = None, *, via: Sequence[str] = (), result: str = "", index: str = ""
    ) -> Piece:
        """The lit piece of a tensor or parameter, entered as a term when it first occurs.

        Args:
            name: address or true name.
            lines: its characters here.
            via: further nodes that light with it, such as the plumbing it passes.
            result: letter for it if it stands on the left and has no name; empty for operands.
            index: of its elements here, ``i``; two tensors of one symbol are told apart by it.
        """
        if result:
            self._results.add(name)
        if name not in self._terms:
            self._enter(name, via, result, lines, index)
        term = self._terms[name]
        if lines is not None and lines not in term.lines:
            self._terms[name] = msgspec.structs.replace(term, lines=(*term.lines, lines))
        return self._pieces[name]

    def _enter(self, name: str, via: Sequence[str], result: str, lines: Lines | None, index: str) -> None:
        piece = self._plain(name, result, lines, index)
        shown = self._spelled(name, piece) if piece.level < SYMBOL or not self._has_name(name) else None
        if shown is not None and unlit(shown.latex) != unlit(piece.latex):  # a tensor in it has another symbol here
            piece = Piece(without_marks(shown.latex), shown.level)
        identifier = unique(self._slug(name, bool(result)), self._taken)
        self._terms[name] = Term(
            id=identifier,
            latex=indexed(piece, index).latex,
            meaning=self._meaning(name, lines),
            addresses=self._addresses(name, via),
        )
        self._bare[name] = piece.latex
        whole = indexed(Piece(shown.latex, piece.level) if shown is not None else piece, index)
        self._pieces[name] = Piece(rf"{{\htmlData{{light={identifier}}}{{{whole.latex}}}}}", whole.level)

    def _has_name(self, name: str) -> bool:
        return self._symbols.named(name, self._page, matrix=self._matrix) is not None

    def _spelled(self, name: str, piece: Piece) -> Piece | None:
        """The expression that stands for a tensor, with the tensors in it lit and entered as terms of their own."""
        plain = self._symbols.expression(name, self._page)
        if plain is None or plain.latex != piece.latex:
            return None
        return self._symbols.expression(name, self._page, lit=self.tensor)

    def _plain(self, name: str, result: str, lines: Lines | None, index: str) -> Piece:
        used = {term.latex for term in self._terms.values()}
        for piece in self._candidates(name, result, lines):
            if indexed(piece, index).latex not in used:
                return piece
        letter = self._symbols.letter(name)
        if letter is not None and letter not in used:
            return symbol(letter)
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
        node = symbols.document.nodes.get(name)
        own = node.tensor.variable if node is not None and node.tensor is not None else None
        if local is not None and local != (own or "").removeprefix("self."):
            yield symbol(variable_latex(local))
        if named is not None:
            yield named
        if own and not symbols.clashes(name, symbols.variable(name, own)):
            yield symbol(symbols.variable(name, own))
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
        axes = self._symbols.shape_words(name)
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
            what = f"{_owned(name, self._symbols.drafts.tensor_symbols.get(name, ''))}`{name.partition(' @ ')[0]}`"
        return f"{what} [{axes}]" if axes else what

    def _addresses(self, name: str, via: Sequence[str]) -> tuple[str, ...]:
        found: dict[str, None] = {name: None}
        current: str | None = name
        for _ in range(MOST_PLUMBING):
            made = self._symbols.producer(current) if current is not None else None
            if made is None:
                break
            found[made.address] = None
            current = self._symbols.source(current) if current is not None else None
            if current is None:
                break
            found[current] = None
        return tuple({**found, **dict.fromkeys(via)})


def _owned(name: str, latex: str) -> str:
    """What a parameter is, in a word before its true name; empty where only the name tells."""
    last = name.partition(" @ ")[0].rpartition(".")[2]
    if latex.startswith(r"\gamma"):
        return "gain "
    if last == "bias" or latex == "b":
        return "bias "
    return "weights " if last == "weight" else ""


def _within_sentence(title: str) -> str:
    """A title as it stands within a sentence: ``query latent``, but ``RMSNorm`` and ``MLA cache``."""
    first = title.partition(" ")[0]
    return title if any(letter.isupper() for letter in first[1:]) else title[:1].lower() + title[1:]
