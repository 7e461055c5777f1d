"""The residual stream on a level: the boxes that carry it on, from where it comes in to where it leaves."""

from __future__ import annotations

from openmodelatlas.drawing.carried import mark_carried
from openmodelatlas.drawing.flow import Flow
from openmodelatlas.drawing.level import Level, Stream, Use, boxes_and_streams
from openmodelatlas.graph.document import Node


def read_level(flow: Flow, node: Node) -> Level:
    """The level inside ``node``."""
    level = boxes_and_streams(flow, node)
    mark_carried(flow, level)
    _mark_spine(flow, level)
    return level


def _mark_spine(flow: Flow, level: Level) -> None:
    """Finds the residual stream on this level: the longest chain of boxes that carry it on."""
    carried = {box.index: carries(flow, box.address) for box in level.boxes if box.role in ("node", "addition")}
    incoming: dict[int, tuple[Stream, Use]] = {}
    for stream in level.streams:
        for use in stream.uses:
            carry = carried.get(use.target)
            if carry is not None and stream.tensor in carry[0] and use.target not in incoming:
                incoming[use.target] = (stream, use)
    best: list[tuple[Stream, Use]] = []
    for start in [index for index, carry in carried.items() if carry is not None and index in incoming]:
        chain: list[tuple[Stream, Use]] = []
        current = start
        while current in incoming:
            stream, use = incoming[current]
            chain.append((stream, use))
            current = stream.origin
        chain += _before(level, current, chain)
        if len(chain) > len(best):
            best = chain
    if not best:
        return
    best[:0] = _onwards(level, best[0][1].target, carried)
    for stream, use in best:
        use.spine = True
        stream.state = False
        level.boxes[use.target].spine = True
        level.boxes[stream.origin].spine = True


def _before(level: Level, first: int, chain: list[tuple[Stream, Use]]) -> list[tuple[Stream, Use]]:
    """How the stream comes into the level, if its first box takes in something of the name under which it gives it."""
    given = chain[-1][0].name
    for stream in level.streams:
        if level.boxes[stream.origin].role == "input" and stream.name == given:
            for use in stream.uses:
                if use.target == first:
                    return [(stream, use)]
    return []


def _onwards(
    level: Level, last: int, carried: dict[int, tuple[frozenset[str], frozenset[str]] | None]
) -> list[tuple[Stream, Use]]:
    """Where the stream goes from the last box that carries it: out of the level, or to the one box that reads it."""
    carry = carried[last]
    for stream in level.streams:
        if stream.origin == last and carry is not None and stream.tensor in carry[1]:
            leaving = [use for use in stream.uses if level.boxes[use.target].role == "output"]
            if leaving or len(stream.uses) == 1:
                return [(stream, (leaving or stream.uses)[0])]
    return []


def carries(flow: Flow, address: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """The tensors by which the residual stream may enter and leave a node, ``None`` if it does not run through it."""
    found = flow.additions.get(address)
    if found is not None:
        return frozenset({found.skip}), frozenset({found.result})
    node = flow.document.nodes[address]
    if node.kind not in ("layer group", "branch"):
        return None
    inner = [each for child in node.children if (each := carries(flow, child)) is not None]
    if not inner:
        return None
    skips = frozenset().union(*(each[0] for each in inner))
    results = frozenset().union(*(each[1] for each in inner))
    entering = {name for port in node.inputs for name in (port.tensor, *port.others) if port.tensor in skips}
    entering |= {port.tensor for port in node.inputs if skips & {port.tensor, *port.others}}
    leaving = {port.tensor for port in node.outputs if results & {port.tensor, *port.others}}
    if node.kind == "layer group" and not entering:  # the first layer may begin a new sum: then the names tell
        names = {port.name for port in node.outputs if port.tensor in leaving}
        entering = {port.tensor for port in node.inputs if port.name in names}
    if not entering or not leaving:
        return None
    return frozenset(entering), frozenset(leaving)
