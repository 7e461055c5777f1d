"""Symbols that mean one thing on a page: what a function reads has its symbol first, what it makes gets another."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from openmodelatlas.annotation.formulas.notation import marked, variable_latex
from openmodelatlas.annotation.roles.board import Board
from openmodelatlas.annotation.roles.vocabulary import KINDS

UNTELLING = frozenset({"hidden_states", "states", "features", "output", "outputs", "result", "results", "out"})
"""Names of the code that say less than the symbol of a kind with a prime."""

_PRIMED = re.compile(r"(?P<base>.+?)(?P<primes>'{1,2}|\^\{\((?P<number>\d+)\)\})\Z", re.DOTALL)


def split(symbol: str) -> tuple[str, int]:
    r"""A symbol and how often it is primed: ``k''`` and ``k^{(2)}`` are ``k``, twice."""
    match = _PRIMED.match(symbol)
    if match is None:
        return symbol, 0
    base = match["base"]
    if base.startswith("{") and base.endswith("}"):
        base = base[1:-1]
    return base, int(match["number"]) if match["number"] else len(match["primes"])


@dataclass
class Scope:
    """The symbols on the page of one function, module, branch or loop.

    Attributes:
        owners: the tensor, behind the plumbing, that each symbol stands for.
        read: how often the symbols of what comes in are primed, by symbol without primes.
    """

    owners: dict[str, str] = field(default_factory=dict)
    read: dict[str, int] = field(default_factory=dict)

    def enter(self, symbol: str, root: str) -> None:
        """Takes up the symbol of a tensor that comes from outside."""
        self.owners.setdefault(symbol, root)
        base, count = split(symbol)
        self.read[base] = max(self.read.get(base, 0), count)

    def free(self, symbol: str, root: str) -> bool:
        """Whether a symbol stands for no other tensor."""
        return self.owners.get(symbol, root) == root


class Scopes:
    """The scopes of one atlas.

    Args:
        board: what the rules found.
        symbols: LaTeX of tensors so far, which grows while the tensors of the scopes are named.
    """

    def __init__(self, board: Board, symbols: dict[str, str]) -> None:
        self._board = board
        self._symbols = symbols
        self._scopes: dict[str, Scope] = {}
        self._reads: dict[str, dict[str, None]] = {}
        self._given: dict[str, dict[str, set[str]]] = {}
        self._variables: dict[str, str] = {}
        self._called: dict[tuple[str, str], set[str]] = {}
        view = board.view
        for address in view.computing:
            reads = self._reads.setdefault(view.nodes[address].parent or "", {})
            reads.update(dict.fromkeys(view.root(tensor) for tensor in view.inputs(address)))
            for tensor in view.outputs(address):
                fact, root = view.fact(tensor), view.root(tensor)
                if fact is not None and fact.variable:
                    if self._parent(root) == (view.nodes[address].parent or ""):
                        self._variables.setdefault(root, fact.variable.removeprefix("self."))
                    own = root if not view.nodes[address].plumbing else tensor
                    place = (view.nodes[address].parent or "", fact.variable.removeprefix("self."))
                    self._called.setdefault(place, set()).add(own if self._parent(root) != place[0] else root)
        for address, node in view.nodes.items():
            if node.kind not in ("tensor", "operation") and node.parent is not None:
                reads = self._reads.setdefault(node.parent, {})
                reads.update(dict.fromkeys(view.root(port.tensor) for port in node.inputs))
                self._handed(address)

    def _handed(self, address: str) -> None:
        """Notes which symbols belong to what a node makes itself and hands over."""
        view = self._board.view
        for port in view.nodes[address].outputs:
            root = view.root(port.tensor)
            maker = view.producer(root)
            kind = KINDS.get(self._board.kind(root) or "")
            if maker is not None and view.nodes[maker].parent == address and kind is not None and kind.symbol:
                self._given.setdefault(address, {}).setdefault(kind.symbol, set()).add(root)

    def name(self, address: str, tensor: str, symbol: str, *, fixed: bool) -> str | None:
        """The symbol of a result, which no other tensor has in any scope where it stands.

        Args:
            address: the operation that makes it.
            tensor: the result.
            symbol: what tensors of its kind are called.
            fixed: whether it is called so in any case.

        Returns:
            ``None`` for a tensor that only this function reads, that the code gives no name, and whose symbol is taken:
            it is best told by what computes it.
        """
        scopes = self._around(address, tensor)
        root = self._board.view.root(tensor)
        given = self._given.get(self._board.view.nodes[address].parent or "", {}).get(symbol)
        own = given is None or root in given
        found = symbol if fixed and own else self._free(address, tensor, symbol, scopes)
        if found is not None:
            for scope in scopes:
                scope.owners[found] = root
        return found

    def _free(self, address: str, tensor: str, symbol: str, scopes: list[Scope]) -> str | None:
        root = self._board.view.root(tensor)
        part = self._board.view.word(address) in ("getitem", "select", "narrow")
        least = 0 if part else max(scope.read.get(symbol, -1) + 1 for scope in scopes)
        given = self._given.get(self._board.view.nodes[address].parent or "", {}).get(symbol)
        if given is not None and root not in given:  # what is handed over has it
            least = max(least, 1)
        if least == 0 and all(scope.free(symbol, root) for scope in scopes):
            return symbol
        variable = self._variable(tensor)
        if variable is not None and all(scope.free(variable, root) for scope in scopes):
            return variable
        if len(scopes) == 1 and not part and root not in self._variables:
            return None
        for count in range(max(least, 1), 99):
            candidate = marked(symbol, count)
            if all(scope.free(candidate, root) for scope in scopes):
                return candidate
        return None

    def _variable(self, tensor: str) -> str | None:
        """The code's name of a tensor, where it is a word that says more than the kind."""
        root = self._board.view.root(tensor)
        name = self._variables.get(root, "")
        if name in UNTELLING or len(self._called.get((self._parent(root), name), ())) > 1:
            return None
        latex = variable_latex(name) if name.isidentifier() else ""
        if not latex.startswith(r"\mathtt"):
            return None
        kind = KINDS.get(self._board.kind(tensor) or "")
        words = name.replace("_", " ").lower()
        return None if kind is not None and words in (kind.noun, kind.stem, kind.stem + "s") else latex

    def _parent(self, root: str) -> str:
        maker = self._board.view.producer(root)
        return (self._board.view.nodes[maker].parent or "") if maker is not None else ""

    def _around(self, address: str, tensor: str) -> list[Scope]:
        """The scope of the operation, and those around it that the tensor is handed to."""
        view = self._board.view
        root, found = view.root(tensor), list[Scope]()
        current: str | None = view.nodes[address].parent or ""
        while current is not None:
            found.append(self.scope(current))
            node = view.nodes.get(current)
            if node is None or node.kind in ("layer group", "model", "phase"):
                break
            if all(view.root(port.tensor) != root for port in node.outputs):
                break
            current = node.parent
        return found

    def scope(self, address: str) -> Scope:
        """The scope of the node at ``address``, with the symbols of what it reads."""
        if address not in self._scopes:
            made = self._scopes[address] = Scope()
            for root in self._reads.get(address, ()):
                symbol = self._symbols.get(root)
                if symbol is not None and not self._board.view.is_weight(root):
                    made.enter(symbol, root)
        return self._scopes[address]
