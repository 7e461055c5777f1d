"""What layers hand from one to the next beside the residual stream: it is drawn as state."""

from __future__ import annotations

from openmodelatlas.drawing.flow import Flow
from openmodelatlas.drawing.level import Box, Level
from openmodelatlas.graph.document import Node

_ENDS = ("input", "output")


def mark_carried(flow: Flow, level: Level) -> None:
    """Marks the streams of ``level`` that layers hand on; the residual stream is among them until it is known."""
    if level.node.kind == "layer group":
        _within_group(flow, level)
    else:
        _around_groups(flow, level)


def _within_group(flow: Flow, level: Level) -> None:
    nodes = flow.document.nodes
    node = level.node
    group = node.parent if _is_variant(flow, node) else node.address
    names = {
        port.name
        for each in (*(nodes[child] for child in node.children), node)
        if each.kind == "layer group"
        for port in each.outputs
        if any(tensor.startswith(f"{group}/") for tensor in (port.tensor, *port.others))
    }
    for stream in level.streams:
        ends = [level.boxes[stream.origin], *(level.boxes[use.target] for use in stream.uses)]
        grouped = all(_is_group(flow, box) or box.role in _ENDS for box in ends)
        if stream.name in names and (grouped or any(box.role in _ENDS for box in ends)):
            stream.state = True


def _around_groups(flow: Flow, level: Level) -> None:
    """What a group of layers takes in and gives under one name is what its layers hand on."""
    for box in level.boxes:
        if not _is_group(flow, box):
            continue
        group = flow.document.nodes[box.address]
        names = {port.name for port in group.inputs} & {port.name for port in group.outputs}
        for stream in level.streams:
            if stream.origin == box.index and stream.name in names:
                stream.state = True
            for use in stream.uses:
                if use.target == box.index and use.name in names:
                    use.state = True


def _is_group(flow: Flow, box: Box) -> bool:
    return box.role == "node" and flow.document.nodes[box.address].kind == "layer group"


def _is_variant(flow: Flow, node: Node) -> bool:
    parent = None if node.parent is None else flow.document.nodes[node.parent]
    return parent is not None and parent.kind == "layer group"
