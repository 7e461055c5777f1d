"""Branches of a page: statements of which layers run different parts."""

from __future__ import annotations

from collections.abc import Mapping

from openmodelatlas.graph.document import Branch, Lines, Node
from openmodelatlas.site.fields import PageBranch
from openmodelatlas.site.neighbours import Neighbours


class BranchWriter:
    """Writes the branches of nodes of one document.

    Args:
        nodes: all nodes by address, in order of execution.
        neighbours: names nodes as seen from others.
    """

    def __init__(self, nodes: Mapping[str, Node], neighbours: Neighbours) -> None:
        self._nodes = nodes
        self._neighbours = neighbours
        self._conditions: dict[tuple[str, str, int, int], list[Node]] = {}

    def branch(self, branch: Branch, node: Node) -> PageBranch:
        """A branch on the page of ``node``; where that is one itself, with the same statement in other layers."""
        lines = branch.lines
        return PageBranch(
            test=branch.test,
            file=lines.file,
            lines=(lines.first, lines.last),
            taken=branch.taken,
            by=branch.by,
            elsewhere=tuple(
                self._neighbours.maker(node, other.address)
                for other in self.alike(node.phase, lines)
                if node.kind == "branch" and other.address != node.address
            ),
        )

    def alike(self, phase: str, lines: Lines) -> list[Node]:
        """The branch nodes that are the statement in ``lines``, in all layers."""
        if not self._conditions:
            for node in self._nodes.values():
                if node.kind == "branch" and node.symbol is not None:
                    own = node.symbol.lines
                    self._conditions.setdefault((node.phase, own.file, own.first, own.last), []).append(node)
        return self._conditions.get((phase, lines.file, lines.first, lines.last), [])
