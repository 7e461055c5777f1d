"""What lies in a node that encloses others: the operations and places inside, and what is proved of them."""

from __future__ import annotations

from dataclasses import dataclass

from openmodelatlas.annotation.roles.board import Board
from openmodelatlas.annotation.roles.names import Names
from openmodelatlas.catalogue.entry import Family
from openmodelatlas.graph.document import Node


@dataclass(frozen=True)
class Content:
    """What lies in a node.

    Attributes:
        node: it.
        board: what the rules found.
        names: names of operations.
        computing: operations inside, in order, plumbing apart.
        plumbing: views and casts inside.
        places: names of the places inside.
        anchors: what is proved inside.
    """

    node: Node
    board: Board
    names: Names
    computing: tuple[str, ...]
    plumbing: tuple[str, ...]
    places: frozenset[str]
    anchors: frozenset[str]

    def has(self, *places: str) -> bool:
        """Whether one of these places lies inside."""
        return any(place in self.places for place in places)

    def kinds(self) -> list[str]:
        """What the outputs are, in order, each once."""
        found = [self.board.kind(port.tensor) for port in self.node.outputs]
        return list(dict.fromkeys(kind for kind in found if kind is not None))


Found = tuple[str | None, str, str, Family | None]
"""Title (``None`` where the label says it better), sentence, role and family."""


def contents(board: Board, names: Names) -> dict[str, Content]:
    """The content of every node that encloses others."""
    inside: dict[str, list[str]] = {}
    for address in board.view.computing:
        for enclosing in board.view.enclosing(address):
            inside.setdefault(enclosing, []).append(address)
    proofs: dict[str, set[str]] = {}
    for anchor, addresses in board.anchors.items():
        for address in addresses:
            for enclosing in (address, *board.view.enclosing(address)):
                proofs.setdefault(enclosing, set()).add(anchor)
    found = {}
    for address, node in board.view.nodes.items():
        if node.kind == "tensor" or board.view.computes(node):
            continue
        every = inside.get(address, [])
        found[address] = Content(
            node=node,
            board=board,
            names=names,
            computing=tuple(each for each in every if not board.view.nodes[each].plumbing),
            plumbing=tuple(each for each in every if board.view.nodes[each].plumbing),
            places=frozenset(place.name for each in every if (place := board.places.get(each))),
            anchors=frozenset(proofs.get(address, ())),
        )
    return found
