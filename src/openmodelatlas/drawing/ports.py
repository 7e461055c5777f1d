"""Where lines meet boxes, and where the plumbing of a tensor's readers parts."""

from __future__ import annotations

from openmodelatlas.drawing.boxes import CIRCLE, STUB
from openmodelatlas.drawing.level import Box
from openmodelatlas.drawing.pieces import Piece

PORT_GAP = 16.0
"""Between two ports of a box, at least."""


def is_minor(box: Box) -> bool:
    """Whether lines to and from a box may bend for the sake of others: what enters and leaves beside the spine."""
    return box.role in ("input", "output") and not box.spine


def circle_ports(box: Box, piece: Piece, ins: list[bool], outs: list[bool]) -> tuple[list[float], list[float]]:
    """The stream comes from above, updates at the right."""
    update = piece.axis + CIRCLE / 2 + STUB - 1
    inputs = [piece.axis, *[update + 8 * each for each in range(len(ins) - 1)]]
    return inputs, [piece.axis] * max(1, len(outs))


def box_ports(box: Box, piece: Piece, ins: list[bool], outs: list[bool]) -> tuple[list[float], list[float]]:
    """Ports along the sides; a single line that matters is in the middle, with the others at its right."""
    inner = [len(each) - 1 if main_line(each) is not None else (len(each) - 1) / 2 for each in (ins, outs)]
    piece.width = max(piece.width, (max(inner) + 1) * 2 * PORT_GAP)
    if box.spine and len(ins) + len(outs) > 2:  # the spine is the leftmost of both
        most = max(len(ins), len(outs))
        inputs, outputs = _spread(piece.width, len(ins)), _spread(piece.width, len(outs))
        if ins:
            inputs[0] = piece.width / (most + 1)
        if outs:
            outputs[0] = piece.width / (most + 1)
        return inputs, outputs
    return _ports(piece.width, ins), _ports(piece.width, outs)


def main_line(minor: list[bool]) -> int | None:
    """The one line of several that matters, ``None`` if there is not exactly one."""
    return minor.index(False) if minor.count(False) == 1 and len(minor) > 1 else None


def _ports(width: float, minor: list[bool]) -> list[float]:
    main = main_line(minor)
    if main is None:
        return _spread(width, len(minor))
    places = [round(width / 2 + each, 2) for each in _spread(width / 2, len(minor) - 1)]
    places.insert(main, width / 2)
    return places


def _spread(width: float, count: int) -> list[float]:
    return [round(width * (place + 1) / (count + 1), 2) for place in range(count)]


def stretches(ways: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """Where plumbing ends or parts: prefixes after which a way ends or two ways differ; short ones first."""
    found: set[tuple[str, ...]] = {way for way in ways if way}
    for first in ways:
        for second in ways:
            shared = 0
            while shared < min(len(first), len(second)) and first[shared] == second[shared]:
                shared += 1
            if shared:
                found.add(first[:shared])
    return sorted(found, key=lambda each: (len(each), each))
