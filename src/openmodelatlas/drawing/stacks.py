"""What enters a level for one box only stands in a stack: one below the other, each with a line of its own."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from openmodelatlas.drawing.level import Level
from openmodelatlas.drawing.pieces import Piece

LANE = 10.0
"""Between the lines of a stack, in pixels."""

BESIDE = 8.0
"""From the last line to the boxes."""

APART = 6.0
"""Between the boxes."""

_MOST = 6
_FEW_ALONE = 4
"""As many boxes stand side by side if nothing else leads to where they lead."""


@dataclass(frozen=True)
class Stack:
    """Boxes one below the other, with a line from each to the lower side of the stack, at its left.

    Attributes:
        members: numbers of the boxes, from above.
        lanes: distance of each line from the left side of the stack.
        tops: distance of each box from its upper side.
        left: where the boxes begin.
        width, height: of the whole.
        wide: width of every box.
    """

    members: tuple[int, ...]
    lanes: tuple[float, ...]
    tops: tuple[float, ...]
    left: float
    width: float
    height: float
    wide: float


def find_stacks(level: Level) -> list[tuple[int, ...]]:
    """Numbers of the boxes that stand in a stack together."""
    sources: dict[int, list[int]] = defaultdict(list)
    given: dict[int, int] = defaultdict(int)
    for stream in level.streams:
        given[stream.origin] += 1
        for use in stream.uses:
            sources[use.target].append(stream.origin)
    single = {
        stream.origin: stream.uses[0].target
        for stream in level.streams
        if given[stream.origin] == 1 and len(stream.uses) == 1 and not stream.uses[0].spine
    }
    stacks: list[tuple[int, ...]] = []
    for target, origins in sources.items():
        if level.boxes[target].role != "node":
            continue
        members = [
            number for number in dict.fromkeys(origins) if number in single and level.boxes[number].role == "input"
        ]
        least = 2 if len(set(origins)) > len(members) else _FEW_ALONE
        if len(members) >= least:
            stacks += [tuple(members[start : start + _MOST]) for start in range(0, len(members), _MOST)]
    return [stack for stack in stacks if len(stack) > 1]


def stack_up(members: tuple[int, ...], pieces: Sequence[Piece]) -> Stack:
    """The stack of these boxes, with the pieces of all boxes."""
    left = LANE / 2 + LANE * (len(members) - 1) + BESIDE
    tops: list[float] = []
    y = 0.0
    for member in members:
        tops.append(y)
        y += pieces[member].height + APART
    wide = max(pieces[member].width for member in members)
    lanes = tuple(LANE / 2 + LANE * place for place in range(len(members)))
    return Stack(members, lanes, tuple(tops), left, left + wide, y - APART, wide)
