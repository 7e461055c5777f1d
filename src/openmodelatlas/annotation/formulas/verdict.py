"""Compares an evaluation with what was captured, and says how far they may lie apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np

from openmodelatlas.annotation.formulas.entry import MissingValueError, UnavailableError
from openmodelatlas.annotation.knowledge import FormulaCheck

TOLERANCE = 1e-6
"""Largest relative error of float32 code."""

_EPSILON = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}
"""Distance from 1 to the next number of each element type."""
_SMALLEST = 2.0**-126
"""The smallest normal float32: below it digits are lost, or the number becomes 0."""


@dataclass(frozen=True)
class Difference:
    """How far ours lies from the captured.

    Attributes:
        error: largest absolute difference divided by the largest absolute captured value; infinite where shapes,
            integers, infinities or missing numbers disagree.
        what: what disagrees, where that is no number; else empty.
    """

    error: float
    what: str = ""


def difference(ours: Any, captured: Any) -> Difference:
    """How far one result lies from the captured one."""
    one, other = np.asarray(ours), np.asarray(captured)
    if one.shape != other.shape:
        return Difference(np.inf, f"shape {list(one.shape)} for {list(other.shape)}")
    if one.size == 0:
        return Difference(0.0)
    if other.dtype.kind in "iub":
        equal = bool(np.array_equal(one, other))
        return Difference(0.0 if equal else np.inf, "" if equal else "integers or truth values differ")
    return _floating(np.asarray(one, dtype=np.float64 if one.dtype.kind != "c" else one.dtype), other)


def _floating(one: Any, other: Any) -> Difference:
    finite = np.isfinite(other)
    if not finite.all():
        rest = ~finite
        if not np.array_equal(_told(one[rest]), _told(other[rest]), equal_nan=True):
            return Difference(np.inf, "infinities or missing numbers differ")
        one, other = one[finite], other[finite]
        if other.size == 0:
            return Difference(0.0)
    apart = float(np.max(np.abs(one - other)))
    if apart == 0.0:
        return Difference(0.0)
    if not np.isfinite(apart):
        return Difference(np.inf, "infinities or missing numbers differ")
    scale = float(np.max(np.abs(other)))
    if apart <= _SMALLEST and scale <= _SMALLEST:  # float32 has no such small numbers
        return Difference(0.0)
    return Difference(apart / scale if scale > 0 else np.inf)


def _told(values: Any) -> Any:
    """Which infinity, or that it is no number; finite numbers stay and so differ from all of them."""
    return values


def tolerance(dtype: str, summed: int = 0, condition: float = 1.0) -> float:
    """How far an evaluation may lie from a result of this element type.

    A single operation rounds once: within half the distance to the next number, of which 8 leave room for library
    functions; for float32 that is below :data:`TOLERANCE`, which is asked of it. A sum of ``n`` rounded terms errs by
    about ``sqrt(n)`` roundings of the sum of their absolute values (Higham, Accuracy and Stability of Numerical
    Algorithms, 2002, section 2.8), which is ``condition`` times the result.
    """
    epsilon = _EPSILON.get(dtype, _EPSILON["float32"])
    floor = TOLERANCE if dtype in ("float32", "float64") else epsilon
    if summed < 2:
        return floor
    return max(floor, epsilon * sqrt(summed) * max(condition, 1.0))


def unavailable(error: UnavailableError) -> FormulaCheck:
    """The check where an evaluation is not possible."""
    missing = isinstance(error, MissingValueError)
    return FormulaCheck(verdict="not checked", error=None, detail=str(error), missing=missing)


def verdict(pairs: Sequence[tuple[Any, Any]], dtype: str, allowed: float, compared: str) -> FormulaCheck:
    """The check over pairs of ours and captured."""
    found = [difference(ours, captured) for ours, captured in pairs]
    worst = max(found, key=lambda each: each.error, default=Difference(0.0))
    error = worst.error if np.isfinite(worst.error) else None
    if worst.error <= allowed:
        return FormulaCheck(verdict="checked", error=error, detail=compared)
    what = worst.what or f"more than the {allowed:.0e} that {dtype} allows"
    return FormulaCheck(verdict="differs", error=error, detail=f"{compared}: {what}")
