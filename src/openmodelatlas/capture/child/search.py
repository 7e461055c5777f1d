"""Search for sizes: every key takes a value of its domain, all constraints hold, all values differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
    def __init__(
        self,
        domains: Mapping[str, list[int]],
        constraints: list[Constraint],
        shared: frozenset[str],
        taken: set[int],
    ) -> None:
        self.domains = domains
        self.shared = shared
        self.taken = taken
        self.values: dict[str, int] = {}
        self.steps = 0
        self.by_key: dict[str, list[Constraint]] = {key: [] for key in domains}
        for constraint in constraints:
            for key in constraint.keys:
                if key in self.by_key:
                    self.by_key[key].append(constraint)

    def candidates(self, key: str) -> list[int]:
        used = self.taken if key not in self.shared else set()
        assigned = {value for name, value in self.values.items() if name not in self.shared}
        result = []
        decidable = [
            constraint
            for constraint in self.by_key[key]
            if all(other == key or other in self.values for other in constraint.keys)
        ]
        for value in self.domains[key]:
            if key not in self.shared and (value in used or value in assigned):
                continue
            if all(
                constraint.holds(*(value if other == key else self.values[other] for other in constraint.keys))
                for constraint in decidable
            ):
                result.append(value)
        return result

    def run(self) -> bool:
        if len(self.values) == len(self.domains):
            return True
        self.steps += 1
        if self.steps > MAXIMUM_STEPS:
            return False
        open_keys = [key for key in self.domains if key not in self.values]
        options = {key: self.candidates(key) for key in open_keys}
        key = min(open_keys, key=lambda name: len(options[name]))
        for value in options[key]:
            self.values[key] = value
            if self.run():
                return True
            del self.values[key]
            if self.steps > MAXIMUM_STEPS:
                return False
        return False


def search(
    domains: Mapping[str, list[int]],
    constraints: list[Constraint],
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
    attempt = _Search(domains, known, shared, taken)
    return dict(attempt.values) if attempt.run() else None


def is_prime(value: int) -> bool:
    """Whether ``value`` is a prime number."""
    return value > 1 and all(value % divisor for divisor in range(2, int(value**0.5) + 1))
