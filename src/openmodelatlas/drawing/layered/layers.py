"""Rows: every link leads downwards, and links are short."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from itertools import pairwise

from openmodelatlas.drawing.layered.graph import Item, Layered, Link, Segment, Slot

_TIGHT = 10
_ROUNDS = 12


def assign(items: Sequence[Item], links: Sequence[Link]) -> None:
    """Gives every item its row; items of one row are not linked.

    Rows are by the longest path; then items move towards where more of their links lead, as long as every link leads
    downwards.
    """
    after: dict[int, list[Link]] = defaultdict(list)
    before: dict[int, list[Link]] = defaultdict(list)
    for link in links:
        after[link.source].append(link)
        before[link.target].append(link)
    order = _topological(len(items), after, before)
    for index in order:
        items[index].layer = max((items[link.source].layer + 1 for link in before[index]), default=0)
    for _ in range(_ROUNDS):
        moved = False
        for index in reversed(order):
            moved |= _move_down(items, index, before[index], after[index])
        for index in order:
            moved |= _move_up(items, index, before[index], after[index])
        if not moved:
            break
    for index in range(len(items) - 1, -1, -1):
        near = items[index].near
        if near is not None and not after[index] and not before[index]:
            items[index].layer = items[near].layer
    present = [item for item in items if not item.absent]
    used = {layer: index for index, layer in enumerate(sorted({item.layer for item in present}))}
    for item in present:
        item.layer = used[item.layer]


def _weight(links: Sequence[Link], *, down: bool) -> int:
    """Links that leave one port share their way, so several of them count once."""
    tight = sum(_TIGHT for link in links if link.tight)
    loose = {
        (link.source, link.out) if down else (link.source, link.out, link.into) for link in links if not link.tight
    }
    return tight + len(loose)


def _move_down(items: Sequence[Item], index: int, before: Sequence[Link], after: Sequence[Link]) -> bool:
    if not after or _weight(after, down=True) <= _weight(before, down=False):
        return False
    lowest = min(items[link.target].layer for link in after) - 1
    if lowest <= items[index].layer:
        return False
    items[index].layer = lowest
    return True


def _move_up(items: Sequence[Item], index: int, before: Sequence[Link], after: Sequence[Link]) -> bool:
    if not before or _weight(before, down=False) < _weight(after, down=True):
        return False
    highest = max(items[link.source].layer for link in before) + 1
    if highest >= items[index].layer:
        return False
    items[index].layer = highest
    return True


def _topological(count: int, after: dict[int, list[Link]], before: dict[int, list[Link]]) -> list[int]:
    missing = [len(before[index]) for index in range(count)]
    ready = deque(index for index in range(count) if not missing[index])
    order: list[int] = []
    while ready:
        index = ready.popleft()
        order.append(index)
        for link in after[index]:
            missing[link.target] -= 1
            if not missing[link.target]:
                ready.append(link.target)
    if len(order) != count:
        raise ValueError("the links go round in a circle")
    return order


def with_dummies(items: Sequence[Item], links: Sequence[Link]) -> Layered:
    """Links over several rows pass a dummy in each; those that leave one port share them."""
    slots = [Slot(index, index, item.width, item.spine, item.layer) for index, item in enumerate(items)]
    depth = max((item.layer for item in items if not item.absent), default=-1) + 1
    rows: list[list[int]] = [[] for _ in range(depth)]
    for slot, item in zip(slots, items, strict=True):
        if not item.absent:
            rows[slot.layer].append(slot.index)
    gaps: list[list[Segment]] = [[] for _ in range(depth)]
    nets: dict[tuple[int, int], int] = {}
    passed: dict[tuple[int, int], dict[int, int]] = defaultdict(dict)
    known: set[tuple[int, int, int, int]] = set()
    chains: list[list[int]] = [[] for _ in links]
    for number in sorted(range(len(links)), key=lambda number: not links[number].spine):
        link = links[number]
        net = nets.setdefault((link.source, link.out), len(nets))
        dummies = passed[link.source, link.out]
        chain = [link.source]
        for layer in range(items[link.source].layer + 1, items[link.target].layer):
            if layer not in dummies:
                dummies[layer] = len(slots)
                slots.append(Slot(len(slots), None, 0.0, link.spine, layer))
                rows[layer].append(dummies[layer])
            chain.append(dummies[layer])
        chain.append(link.target)
        chains[number] = chain
        for place, (upper, lower) in enumerate(pairwise(chain)):
            out = link.out if place == 0 else 0
            into = link.into if place == len(chain) - 2 else 0
            if (upper, out, lower, into) not in known:
                known.add((upper, out, lower, into))
                gaps[slots[upper].layer].append(Segment(upper, lower, out, into, link.spine, net))
    return Layered(list(items), slots, rows, gaps, chains, list(links))
