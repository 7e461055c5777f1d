"""Search for sizes: every key takes a value of its domain, all constraints hold, all values differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

MAXIMUM_STEPS = 400


@dataclass(frozen=True)
class Constraint:
    """A relation between keys.

    Attributes:
        keys: the keys it speaks of.
        holds: called with the values of ``keys`` in their order.
        text: one sentence for the report: ``num_attention_heads is a multiple of num_key_value_heads``.
    """

    keys: tuple[str, ...]
    holds: Callable[..., bool]
    text: str


class _Search:
    """Depth-first search that always extends the key with the fewest candidates left.

    Candidate lists shrink as neighbours are assigned (forward checking) and are restored on the way back.
    """

    def __init__(
        self,
        domains: Mapping[str, Sequence[int]],
        constraints: Sequence[Constraint],
        shared: frozenset[str],
    ) -> None:
        self.open: dict[str, Sequence[int]] = dict(domains)
        self.shared = shared
        self.values: dict[str, int] = {}
        self.steps = 0
        self.by_key: dict[str, list[Constraint]] = {key: [] for key in domains}
        for constraint in constraints:
            for key in constraint.keys:
                self.by_key[key].append(constraint)

    def run(self) -> bool:
        if not self.open:
            return True
        self.steps += 1
        if self.steps > MAXIMUM_STEPS:
            return False
        key = min(self.open, key=lambda name: len(self.open[name]))
        candidates = self.open.pop(key)
        for value in candidates:
            self.values[key] = value
            before = self.open
            self.open = self._narrowed(key, value)
            if all(self.open.values()) and self.run():
                return True
            self.open = before
            del self.values[key]
            if self.steps > MAXIMUM_STEPS:
                break
        self.open = {**self.open, key: candidates}
        return False

    def _narrowed(self, key: str, value: int) -> dict[str, Sequence[int]]:
        """Candidates of the open keys once ``key`` has ``value``."""
        narrowed = dict(self.open)
        if key not in self.shared:
            for other, candidates in narrowed.items():
                if value in candidates and other not in self.shared:
                    narrowed[other] = [size for size in candidates if size != value]
        for constraint in self.by_key[key]:
            missing = [name for name in constraint.keys if name not in self.values]
            if not missing and not constraint.holds(*(self.values[name] for name in constraint.keys)):
                return {"": ()}
            if len(missing) == 1:
                narrowed[missing[0]] = self._allowed(constraint, missing[0], narrowed[missing[0]])
        return narrowed

    def _allowed(self, constraint: Constraint, key: str, candidates: Sequence[int]) -> list[int]:
        known = [self.values.get(name) for name in constraint.keys]
        place = constraint.keys.index(key)
        return [size for size in candidates if constraint.holds(*known[:place], size, *known[place + 1 :])]


def search(
    domains: Mapping[str, Sequence[int]],
    constraints: Sequence[Constraint],
    *,
    taken: set[int],
    shared: frozenset[str] = frozenset(),
) -> dict[str, int] | None:
    """Sizes for all keys of ``domains``, or ``None`` if there are none (or too many steps were needed).

    Args:
        domains: candidate sizes by key, the preferred ones first.
        constraints: relations that must hold; a key without a domain makes its constraint be ignored.
        taken: values no key may take (batch and token counts).
        shared: keys whose value may equal another's (the user fixed them, or only one value is possible).
    """
    known = [constraint for constraint in constraints if all(key in domains for key in constraint.keys)]
    reduced: dict[str, Sequence[int]] = {}
    for key, candidates in domains.items():
        alone = [constraint for constraint in known if constraint.keys == (key,)]
        reduced[key] = [
            size
            for size in candidates
            if (key in shared or size not in taken) and all(constraint.holds(size) for constraint in alone)
        ]
    if not all(reduced.values()):
        return None
    attempt = _Search(reduced, known, shared)
    return attempt.values if attempt.run() else None


def is_prime(value: int) -> bool:
    """Whether ``value`` is a prime number."""
    return value > 1 and all(value % divisor for divisor in range(2, int(value**0.5) + 1))
