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
    """Which way all layers of ``node`` take the branch: ``true``, ``false``, ``both``; ``None`` if they differ."""
    if not node.members:
        return None
    members = set(node.members)
    return next((outcome for outcome, layers in branch.taken.items() if members <= set(layers)), None)
