"""Excerpts of source text: what is longer than a screen is left out in the middle."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

SCREEN = 40
"""Lines that are shown whole."""

HEAD = 15
TAIL = 21
WHOLE_IF_DIRECT = 80
"""Code that is the very node is shown whole up to this many lines."""

_AROUND = 3


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """Consecutive lines of an excerpt, 1-based and inclusive; ``omitted`` if they are left out until asked for."""

    first: int
    last: int
    omitted: bool


def divide(first: int, last: int, *, own: tuple[int, int] | None, direct: bool) -> tuple[Part, ...]:
    """What of the lines ``first`` to ``last`` is shown and what is left out.

    The first ``HEAD`` and last ``TAIL`` lines stay, and so do the ``own`` lines of the node with a few around them.
    The parts cover the range without gaps, shown and omitted ones alternating.
    """
    count = last - first + 1
    if count <= (WHOLE_IF_DIRECT if direct else SCREEN):
        return (Part(first=first, last=last, omitted=False),)
    kept = [(first, first + HEAD - 1)]
    if own is not None:
        kept.append((max(own[0] - _AROUND, first), min(own[1] + _AROUND, last)))
    kept.append((last - TAIL + 1, last))
    kept.sort()
    parts: list[Part] = []
    for begin, end in kept:
        if parts and begin <= parts[-1].last + 1:
            parts[-1] = Part(first=parts[-1].first, last=max(parts[-1].last, end), omitted=False)
            continue
        if parts:
            parts.append(Part(first=parts[-1].last + 1, last=begin - 1, omitted=True))
        parts.append(Part(first=begin, last=end, omitted=False))
    return tuple(parts)


def omission(part: Part) -> str:
    """The line that stands for an omitted part: ``… lines 1167–1197 omitted …``."""
    if part.first == part.last:
        return f"… line {part.first} omitted …"
    return f"… lines {part.first}–{part.last} omitted …"


def excerpt_text(lines: Sequence[str], parts: Sequence[Part]) -> str:
    """The excerpt as text, with a line for each omission.

    Args:
        lines: all lines of the file; line 1 is ``lines[0]``.
        parts: see :func:`divide`.
    """
    texts = [omission(part) if part.omitted else "\n".join(lines[part.first - 1 : part.last]) for part in parts]
    return "\n".join(f"\n{text}\n" if part.omitted else text for text, part in zip(texts, parts, strict=True))
