"""What the knowledge of an atlas covers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from openmodelatlas.annotation.knowledge import NodeKnowledge
from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.graph.document import Lines, Node


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """How many nodes of a kind have something, out of how many."""

    what: str
    have: int
    total: int


class Coverage(msgspec.Struct, frozen=True, kw_only=True):
    """What the knowledge of an atlas covers.

    Attributes:
        model: identifier.
        shares: one per question.
        worst_error: largest relative error of an operation's own formula, among those that hold.
        worst_chain: the same of all formulas: of mechanisms and of what is composed of many operations, too.
        differing: addresses of formulas that do not hold.
        unmatched: operations and nodes that nothing matched, with the reason.
        claims_without_lines: number of claims whose lines no cited file has.
    """

    model: str
    shares: tuple[Share, ...]
    worst_error: float | None
    worst_chain: float | None
    differing: tuple[str, ...]
    unmatched: tuple[str, ...]
    claims_without_lines: int


def coverage(atlas: Atlas) -> Coverage:
    """Counts what the knowledge of ``atlas`` covers."""
    nodes = list(atlas.document.nodes.values())
    knowledge = atlas.knowledge
    known = {node.address: knowledge.nodes.get(node.address, NodeKnowledge()) for node in nodes}
    operations = [node for node in nodes if node.kind in ("operation", "kernel") and not node.plumbing]
    cited = [node for node in nodes if node.kind not in ("tensor", "phase")]
    checks = [formula.check for each in known.values() for formula in each.formulas]
    errors = [check.error for check in checks if check.error is not None and check.verdict == "checked"]
    own = [min(found, default=0.0) for found in (_errors(known[node.address]) for node in operations)]
    return Coverage(
        model=atlas.document.model,
        shares=(
            _share("nodes named by role or mechanism", nodes, lambda each: bool(each.role or each.mechanism), known),
            _share("nodes described", nodes, lambda each: bool(each.sentence), known),
            _share("operations with a formula", operations, lambda each: bool(each.formulas), known),
            _share(
                "operations whose formula was evaluated",
                operations,
                lambda each: any(formula.check.error is not None for formula in each.formulas),
                known,
            ),
            _share(
                "operations whose formula holds",
                operations,
                lambda each: any(formula.check.verdict == "checked" for formula in each.formulas),
                known,
            ),
            _share("operations with direct evidence", operations, lambda each: bool(each.claims), known),
            _share("nodes with direct evidence", cited, lambda each: bool(each.claims), known),
            _share("nodes with an explanation", nodes, lambda each: bool(each.explanation), known),
        ),
        worst_error=max(own, default=None),
        worst_chain=max(errors, default=None),
        differing=tuple(
            node.address
            for node in nodes
            if any(formula.check.verdict == "differs" for formula in known[node.address].formulas)
        ),
        unmatched=tuple(f"{each.address}: {each.what}: {each.reason}" for each in knowledge.unmatched),
        claims_without_lines=sum(not _cites(atlas, claim.lines) for each in known.values() for claim in each.claims),
    )


def _cites(atlas: Atlas, lines: Lines) -> bool:
    """Whether lines are those of a cited file."""
    return lines.file in atlas.document.files and 1 <= lines.first <= lines.last <= len(atlas.lines_of(lines.file))


def _errors(known: NodeKnowledge) -> list[float]:
    """Errors of the formulas of one node that hold; an operation's own is the smallest of them or the only one."""
    checks = [formula.check for formula in known.formulas]
    return [check.error for check in checks if check.error is not None and check.verdict == "checked"]


def _share(
    what: str,
    nodes: Sequence[Node],
    has: Callable[[NodeKnowledge], bool],
    known: dict[str, NodeKnowledge],
) -> Share:
    have = sum(has(known[node.address]) for node in nodes)
    return Share(what=what, have=have, total=len(nodes))
