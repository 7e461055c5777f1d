"""What the run at full size tells of loops: it has no values, and ends where the code asks for one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from openmodelatlas.graph.align import LoopSite
from openmodelatlas.graph.tree import Tree


@dataclass(frozen=True, slots=True)
class RoundsAtFullSize:
    """How often loops went round there.

    Attributes:
        rounds: the number; ``None`` if the run did not get there, or ended before it went round to the end.
        asked: whether the function with the loop, or a function that it calls, asked for a value and ended the run.
    """

    rounds: int | None
    asked: bool


class FullSizeRun:
    """The run at full size, as far as it got.

    Args:
        tree: the run.
        probe: its index among the trees.
    """

    def __init__(self, tree: Tree, probe: int) -> None:
        self._tree = tree
        self._probe = probe

    @cached_property
    def _open(self) -> list[int]:
        """Calls that had not returned when the run ended early, innermost first."""
        recording = self._tree.recording
        if recording.failure is None or not recording.calls:
            return []
        call = len(recording.calls) - 1
        if recording.operations and recording.operations[-1].order > recording.calls[call].order:
            call = recording.operations[-1].call
        found: list[int] = []
        while call >= 0:
            if found or recording.calls[call].result is None:
                found.append(call)
            call = recording.calls[call].parent
        return found

    def rounds(self, loops: Sequence[tuple[LoopSite, tuple[int, ...]]]) -> RoundsAtFullSize:
        """The rounds of loops that were folded into one, each with the calls (events) that run its function there."""
        calls = self._tree.recording.calls
        came_by = ended = asked = False
        for loop, events in loops:
            for call in (~event for event in events):
                if call in self._open:
                    inner = self._open[: self._open.index(call)]
                    ended = True
                    asked = asked or all(calls[one].kind != "module" for one in inner)
                elif loop.loop is not None and loop.loop.header in calls[call].trace:
                    came_by = True
        numbers = [number for loop, _ in loops for number in loop.counts[self._probe]]
        if ended:
            return RoundsAtFullSize(rounds=None, asked=asked)
        if numbers:
            return RoundsAtFullSize(rounds=numbers[0], asked=False)
        return RoundsAtFullSize(rounds=0 if came_by else None, asked=False)
