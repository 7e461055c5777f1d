"""Whether what a bundle's files name is there: what reads them later follows every name without looking."""

from __future__ import annotations

import re
from pathlib import Path

from openmodelatlas.annotation.knowledge import Knowledge
from openmodelatlas.bundle.home import build_again, is_identifier
from openmodelatlas.drawing.drawing import Drawing, Drawings
from openmodelatlas.errors import BundleError
from openmodelatlas.graph.document import Document

_MECHANISM = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_FARTHEST = 1e7
"""No diagram reaches so far, in pixels."""


def check_tree(document: Document, where: str) -> None:
    """Names of the model and the probes; nodes form one tree below the model, and each is filed under its address.

    Raises:
        BundleError: they do not.
    """
    nodes = document.nodes
    if not is_identifier(document.model):
        raise _corrupt("atlas", f"{document.model!r} is no identifier of a model", where)
    for probe in document.provenance.probes:
        if not isinstance(probe.get("sizes", {}), dict) or not isinstance(probe.get("name"), str):
            raise _corrupt("atlas", "a probe has no name or no sizes", where)
    if "" not in nodes or nodes[""].parent is not None:
        raise _corrupt("atlas", "it has no node for the model", where)
    waiting, reached = [""], 0
    while waiting:
        address = waiting.pop()
        node = nodes[address]
        reached += 1
        if node.address != address:
            raise _corrupt("atlas", f"the node at {address!r} says that its address is {node.address!r}", where)
        for child in node.children:
            if child not in nodes or nodes[child].parent != address or reached > len(nodes):
                raise _corrupt("atlas", f"{child!r} is not inside {address!r}", where)
        waiting.extend(node.children)
    if reached != len(nodes) or len({child for node in nodes.values() for child in node.children}) != reached - 1:
        raise _corrupt("atlas", "its nodes are no tree", where)


def check_knowledge(knowledge: Knowledge, document: Document, where: str) -> None:
    """Mechanisms have identifiers, and context is of nodes that are there.

    Raises:
        BundleError: one has none, or is not.
    """
    for address, known in knowledge.nodes.items():
        named = [known.mechanism] if known.mechanism is not None else []
        for name in (*named, *known.mechanisms, *(each.mechanism for each in known.differences)):
            if not _MECHANISM.fullmatch(name):
                raise _corrupt("knowledge of the atlas", f"{name!r} at {address!r} names no mechanism", where)
        for claim in known.claims:
            if claim.of is not None and claim.of not in document.nodes:
                raise _corrupt("knowledge of the atlas", f"a claim at {address!r} is of {claim.of!r}", where)


def check_drawings(drawings: Drawings, where: str) -> None:
    """Lines lead from box to box, and everything lies where a screen could show it.

    Raises:
        BundleError: one does not.
    """
    for address, level in drawings.levels.items():
        fault = _fault(level)
        if fault is not None:
            raise _corrupt("file of drawings", f"in the level {address!r}, {fault}", where)


def _fault(level: Drawing) -> str | None:
    ids = {node.id for node in level.nodes}
    if len(ids) != len(level.nodes):
        return "two boxes have one name"
    numbers = [level.width, level.height]
    for node in level.nodes:
        numbers += [node.x, node.y, node.width, node.height]
    for edge in level.edges:
        if edge.source not in ids or edge.target not in ids:
            return f"a line leads from {edge.source!r} to {edge.target!r}"
        if len(edge.points) < 2 or not all(0 <= knot < len(level.knots) for knot in edge.knots):
            return f"the line of {edge.tensor!r} has no course"
        numbers += [number for point in edge.points for number in point]
    if not all(abs(number) <= _FARTHEST for number in numbers):
        return "something lies too far out"
    return None


def _corrupt(what: str, how: str, where: str) -> BundleError:
    return BundleError(f"The {what} is corrupt: {how[:300]}.", where=where, advice=build_again(Path(where)))
