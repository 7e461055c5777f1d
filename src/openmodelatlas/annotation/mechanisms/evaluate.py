"""Evaluates a mechanism's reference in float64 on the captured values of a place, and compares."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from openmodelatlas.annotation.mechanisms.fit import Fit
from openmodelatlas.annotation.mechanisms.flow import Flow, Operand
from openmodelatlas.annotation.values import Arrays
from openmodelatlas.catalogue.entry import Mechanism

USUAL_TOLERANCE = 1e-6
"""Of float32 code against float64: sixteen times the rounding of one operation, 6e-8."""


class NotThis(Exception):  # noqa: N818  it is an answer, not a fault
    """The reference says that these values are no case of its mechanism."""


class Missing(Exception):  # noqa: N818  it is an answer, not a fault
    """A value that evaluation needs is not at hand."""


@dataclass(frozen=True)
class Outcome:
    """What the evaluation of one fit gave.

    Attributes:
        error: largest absolute difference divided by the largest absolute captured value, of all outputs; ``None``
            where a value is missing.
        worst: the output that differs most.
        detail: a sentence about it.
    """

    error: float | None
    worst: str | None
    detail: str


def tolerance(mechanism: Mechanism) -> float:
    """The relative error up to which a mechanism holds."""
    return mechanism.front.tolerance.relative if mechanism.front.tolerance is not None else USUAL_TOLERANCE


def evaluate(flow: Flow, arrays: Arrays, mechanism: Mechanism, reference: Callable[..., Any], fit: Fit) -> Outcome:
    """Runs the reference on what ``fit`` binds and compares its outputs with the captured ones.

    Raises:
        NotThis: the reference returned ``NotImplemented``, cannot take these values, or gives other sizes.
    """
    try:
        arguments = arguments_of(flow, arrays, mechanism, fit)
        expected = {
            name: _array(flow, arrays, mechanism, name, fit.bound[name])
            for name in mechanism.outputs
            if name in fit.bound
        }
    except Missing as missing:
        return Outcome(error=None, worst=None, detail=f"{missing}.")
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # the mean of nothing, where a fit is none
            given = reference(**arguments)
    except (ValueError, IndexError, TypeError, ZeroDivisionError, np.linalg.LinAlgError) as error:
        raise NotThis from error
    if given is NotImplemented:
        raise NotThis
    return compare(mechanism, given, expected)


def arguments_of(flow: Flow, arrays: Arrays, mechanism: Mechanism, fit: Fit) -> dict[str, Any]:
    """What the reference takes, by symbol.

    Raises:
        Missing: a value is not at hand.
    """
    return {
        name: _argument(flow, arrays, mechanism, name, fit.bound[name])
        for name in mechanism.arguments
        if name in fit.bound
    }


def compare(mechanism: Mechanism, given: Any, expected: Mapping[str, NDArray[Any]]) -> Outcome:
    """The outputs of a reference beside the captured ones."""
    results = given if isinstance(given, tuple) else (given,)
    if len(results) != len(mechanism.outputs):
        raise NotThis
    errors: dict[str, float] = {}
    for name, result in zip(mechanism.outputs, results, strict=True):
        if name in expected:
            if not _fits(np.asarray(result), expected[name]):
                raise NotThis
            errors[name] = relative_error(np.asarray(result), expected[name])
    if not errors:
        raise NotThis
    worst = max(errors, key=lambda name: errors[name])
    compared = ", ".join(f"{name} {list(expected[name].shape)}" for name in errors)
    return Outcome(error=errors[worst], worst=worst, detail=f"compared: {compared}")


def relative_error(given: NDArray[Any], expected: NDArray[Any]) -> float:
    """Largest absolute difference divided by the largest absolute expected value; infinite for other sizes.

    What is given may have axes of size one where the code repeats it. Infinities and missing numbers must
    stand in the same places; integers and booleans must be equal.
    """
    if not _fits(given, expected):
        return np.inf
    given = given.reshape(expected.shape) if given.size == expected.size else np.broadcast_to(given, expected.shape)
    if expected.dtype.kind != "f":
        return 0.0 if bool(np.all(given == expected)) else np.inf
    given = given.astype(np.float64)
    if given.size == 0:
        return 0.0
    finite = np.isfinite(expected)
    if not bool(np.all(finite == np.isfinite(given))):
        return np.inf
    if not np.array_equal(given[~finite], expected[~finite], equal_nan=True):
        return np.inf
    if not finite.any():
        return 0.0
    scale = float(np.max(np.abs(expected[finite])))
    difference = float(np.max(np.abs(given[finite] - expected[finite])))
    return difference / scale if scale else difference


def _fits(given: NDArray[Any], expected: NDArray[Any]) -> bool:
    """Whether a result can be compared at all."""
    return given.size == expected.size or (
        given.ndim == expected.ndim and all(n in (1, m) for n, m in zip(given.shape, expected.shape, strict=True))
    )


def _argument(flow: Flow, arrays: Arrays, mechanism: Mechanism, name: str, operand: Operand) -> Any:
    if operand.tensor is None:
        return number(operand.number)
    found = _array(flow, arrays, mechanism, name, operand)
    return found.item() if mechanism.front.symbols[name].binds == "number" and found.size == 1 else found


def _array(flow: Flow, arrays: Arrays, mechanism: Mechanism, name: str, operand: Operand) -> NDArray[Any]:
    key = operand.value
    tensor = operand.seen
    if mechanism.front.symbols[name].at_source:
        key, tensor = flow.key(operand.tensor or ""), operand.tensor
        if operand.tensor == operand.seen:
            key = operand.value
    found = arrays.exact(key) if key is not None else None
    if found is None:
        fact = flow.fact(tensor or "")
        why = fact.value_note if fact is not None and fact.value_note else "it was not recorded"
        raise Missing(f"`{tensor}`: {why}")
    return found


def number(encoded: Any) -> Any:
    """An encoded argument as Python has it; sizes of the published configuration as numbers."""
    if isinstance(encoded, dict) and len(encoded) == 1:
        (kind, inner), *_ = encoded.items()
        if kind == "float":
            return float(inner)
        if kind == "list":
            return [number(item) for item in inner]
        if kind in ("tuple", "probe"):
            return number(inner)
    if isinstance(encoded, dict) and "size" in encoded:
        return encoded.get("value")
    return encoded
