"""Draw sizes for all probes: B, T and one size for every free key, so that no two names can be confused."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from openmodelatlas.capture.child import kinds
from openmodelatlas.capture.child.kinds import Kind, kind_of
from openmodelatlas.capture.child.search import Constraint, is_prime, search
from openmodelatlas.errors import ConfigurationError

BATCHES = (2, 4, 3, 5)  # not evenly spaced: any size that is so would read as a multiple of B plus a number
TOKENS = (11, 17, 13, 16, 14, 18, 19, 15)
ROUNDS = 24
TRIES = 24
TRIES_BEFORE_WIDENING = 4
CONSTANT = 100
TOKEN_KINDS = (kinds.WINDOW, kinds.KERNEL, kinds.SPARSE_CHOICE)


@dataclass(frozen=True)
class Drawn:
    """One probe's B (batch), T (tokens of the prefill) and sizes by dotted path."""

    batch: int
    tokens: int
    sizes: dict[str, int]


@dataclass(frozen=True)
class Task:
    """What to draw.

    Attributes:
        free: keys to choose.
        pinned: keys that keep a value (1, mostly) and that constraints speak of.
        constraints: relations to obey.
        overrides: sizes the user fixed: one value, or one per probe (the last repeats).
        solving: number of solving probes; one held-out probe is drawn besides.
        highest: largest size of keys that a relation takes beyond the range of their kind.
        seed: makes the choice reproducible.
        longest: the longest length that the code writes down as a number, 0 if it has none.
    """

    free: Sequence[str]
    pinned: Mapping[str, int]
    constraints: Sequence[Constraint]
    overrides: Mapping[str, int | list[int]]
    solving: int
    highest: Mapping[str, int]
    seed: str
    longest: int = 0
    grouped: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "grouped", any(kind_of(path) is kinds.EXPERT_GROUPS for path in self.free))


def draw(task: Task) -> list[Drawn]:
    """Sizes of the solving probes and of the held-out probe, with as few coincidences as :data:`ROUNDS` can find.

    Raises:
        ConfigurationError: no sizes obey all relations.
    """
    best: list[Drawn] = []
    best_count: int | None = None
    for number in range(ROUNDS):
        try:
            drawn = _draw_round(task, number)
        except ConfigurationError:
            if not best:
                raise
            continue  # this round ran into a corner, an earlier one did not
        count = coincidences(drawn[: task.solving], task.overrides)
        if best_count is None or count < best_count:
            best, best_count = drawn, count
        if not best_count:
            break
    return best


def _draw_round(task: Task, number: int) -> list[Drawn]:
    drawn: list[Drawn] = []
    before: dict[str, set[int]] = {path: set() for path in task.free}
    for index in range(task.solving + 1):
        tries = (_draw_one(task, index, before, number, trial) for trial in range(TRIES))
        found = next((probe for probe in tries if probe is not None), None)
        if found is None:
            names = "; ".join(constraint.text for constraint in task.constraints) or "none"
            raise ConfigurationError(
                f"No probe sizes fit the relations between the configuration's keys ({names}).",
                where=", ".join(task.overrides) or None,
                advice="Remove an override." if task.overrides else "Fix sizes by hand with an override.",
            )
        drawn.append(found)
        for path, size in found.sizes.items():
            before[path].add(size)
    return drawn


def _draw_one(task: Task, index: int, before: Mapping[str, set[int]], number: int, trial: int) -> Drawn | None:
    generator = random.Random(f"{task.seed}/{number}/{index}/{trial}")  # noqa: S311 - reproducible, no secret
    fixed = {path: _override(task.overrides[path], index) for path in task.free if path in task.overrides}
    batch = next(size for size in (*BATCHES[index % len(BATCHES) :], *BATCHES, 6, 7) if size not in fixed.values())
    chunk = _chunk(task, fixed, before, batch, generator)
    if chunk is not None:
        fixed |= {path: chunk for path in task.free if kind_of(path) is kinds.CHUNK and path not in fixed}
    tokens = _tokens(task, fixed, chunk, index, trial)
    domains = {path: [size] for path, size in (*fixed.items(), *task.pinned.items())}
    for path in task.free:
        if path not in fixed:
            kind = kind_of(path) or kinds.OTHER
            kind = kinds.GROUPED_EXPERTS if kind is kinds.EXPERTS and task.grouped else kind
            highest = task.highest.get(path, 0)
            if kind is kinds.POSITIONS:
                highest = max(highest, tokens + kind.high - kind.low)
            domains[path] = [
                size
                for size in _domain(kind, highest, before[path], trial // TRIES_BEFORE_WIDENING, generator)
                if not (kind in TOKEN_KINDS and size >= tokens - 2) and not (kind is kinds.POSITIONS and size <= tokens)
            ]
    taken = {batch, tokens, tokens + 1, batch * tokens, batch * (tokens + 1), *fixed.values()}
    sizes = search(domains, task.constraints, taken=taken, shared=frozenset({*fixed, *task.pinned}))
    return None if sizes is None else Drawn(batch, tokens, {path: sizes[path] for path in task.free})


def _chunk(
    task: Task, fixed: Mapping[str, int], before: Mapping[str, set[int]], batch: int, generator: random.Random
) -> int | None:
    """One chunk size for all keys that are one, the user's if there is one; ``None`` without such a key."""
    paths = [path for path in task.free if kind_of(path) is kinds.CHUNK]
    given = [fixed[path] for path in paths if path in fixed]
    if given or not paths:
        return max(given, default=None)
    used = {batch, *fixed.values()}.union(*(before[path] for path in paths))
    sizes = range(kinds.CHUNK.low, kinds.CHUNK.high + 1)
    return generator.choice([size for size in sizes if size not in used] or list(sizes))


def _tokens(task: Task, fixed: Mapping[str, int], chunk: int | None, index: int, trial: int) -> int:
    """T: more than every window, kernel, sparse choice and written length, and one more than a number of chunks.

    Two written lengths and some tokens in the third probe, one in the others: else the number of chunks could be taken
    for a constant. The held-out probe has a whole number of chunks: else ``ceil(T, chunk)`` could be taken for one more
    than the whole chunks, or for a quotient by another size.
    """
    limits = [size + 3 for path, size in fixed.items() if kind_of(path) in TOKEN_KINDS]
    if task.longest and index == task.solving and chunk is None:
        return 2 * task.longest
    if task.longest:
        lengths = 2 if index == min(2, task.solving - 1) else 1
        limits.append(task.longest * lengths + 1 + (index + trial) % task.longest)
    least = max([TOKENS[(index + trial) % len(TOKENS)], *limits])
    if chunk is None:
        whole = task.longest and least % task.longest == 0
        return least if least not in fixed.values() and not whole else least + 1
    seam = 0 if index == task.solving else 1
    return chunk * max(2, -(-(max([11, *limits]) - seam) // chunk)) + seam


def _override(value: int | list[int], index: int) -> int:
    return value if isinstance(value, int) else value[min(index, len(value) - 1)]


def _domain(kind: Kind, highest: int, before: set[int], widening: int, generator: random.Random) -> list[int]:
    """Sizes of a kind, shuffled: those no earlier probe has first, then (in wide ranges) primes first.

    Args:
        kind: the kind, with its range.
        highest: a larger end of the range, if not 0.
        before: sizes that earlier probes have; only without widening are they left out altogether.
        widening: how often the search has failed: each time the range grows by two.
        generator: decides the order.
    """
    values = list(range(kind.low, max(kind.high, highest) + 1 + 2 * widening, 2 if kind.even else 1))
    generator.shuffle(values)
    wide = kind.high - kind.low >= 12
    values.sort(key=lambda value: (value in before, wide and not is_prime(value)))
    fresh = [value for value in values if value not in before]
    if fresh and (not widening or len(before) == 1):
        return fresh  # a size that never changes would be taken for a number
    return values


def coincidences(drawn: Sequence[Drawn], overrides: Mapping[str, int | list[int]]) -> int:
    """How often a name could be taken for another name, or for a sum or product of two, over the solving probes.

    A name with one size in all probes (which could be taken for a number) counts :data:`CONSTANT`, unless the user
    fixed it so; and so does a whole quotient of two names (experts in a group) that is the same in all probes.
    """
    vectors = {name: tuple(probe.sizes[name] for probe in drawn) for name in drawn[0].sizes}
    vectors["B"] = tuple(probe.batch for probe in drawn)
    vectors["T"] = tuple(probe.tokens for probe in drawn)
    owners = set(vectors.values())
    count = len(vectors) - len(owners)
    if len(drawn) > 1:
        count += CONSTANT * sum(len(set(vector)) == 1 for name, vector in vectors.items() if name not in overrides)
        count += CONSTANT * sum(len(quotients) == 1 for quotients in _quotients(vectors) if quotients != {1})
    for first, second in itertools.combinations_with_replacement(vectors.values(), 2):
        count += tuple(map(int.__add__, first, second)) in owners
        count += tuple(map(int.__mul__, first, second)) in owners
    return count


def _quotients(vectors: Mapping[str, tuple[int, ...]]) -> Iterator[set[int]]:
    """For each pair of names whose sizes divide in every probe: the quotients."""
    for one, other in itertools.permutations(vectors.values(), 2):
        if all(many % few == 0 for many, few in zip(one, other, strict=True)):
            yield {many // few for many, few in zip(one, other, strict=True)}
