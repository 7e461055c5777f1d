"""The conditions of a node, wherever the document keeps them."""

from __future__ import annotations

from collections.abc import Mapping

from openmodelatlas.graph.document import Branch, Node


def branches_of(node: Node, nodes: Mapping[str, Node]) -> tuple[Branch, ...]:
    """The node's own branches; for a branch node without any, that of the code around it with the same lines."""
    if node.branches or node.kind != "branch" or node.symbol is None:
        return node.branches
    lines = node.symbol.lines
    around = node.parent
    while around is not None:
        for branch in nodes[around].branches:
            place = branch.lines
            if (place.file, place.first, place.last) == (lines.file, lines.first, lines.last):
                return (branch,)
        around = nodes[around].parent
    return ()


def outcome_for(branch: Branch, node: Node) -> str | None:
    """Which way all of ``node`` takes the branch: ``true``, ``false``, ``both``; ``None`` if its layers differ."""
    own = set(counted(branch, node))
    return next((outcome for outcome, numbers in branch.taken.items() if own and own <= set(numbers)), None)


def counted(branch: Branch, node: Node) -> tuple[int, ...]:
    """The layers or rounds, whichever the branch counts, that ``node`` stands for."""
    return node.rounds if branch.by == "round" else node.members
