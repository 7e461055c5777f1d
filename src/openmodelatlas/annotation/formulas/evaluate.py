"""Evaluates operations in NumPy float64 on captured values."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from openmodelatlas.annotation.formulas.calls import IGNORED, Call, Operand, resolved
from openmodelatlas.annotation.formulas.entry import Dtype, MissingValueError, UnavailableError
from openmodelatlas.annotation.formulas.families.numeric import cast
from openmodelatlas.annotation.values import Arrays

Array = np.ndarray[Any, Any]


class Values:
    """Captured values as :class:`Arrays` decodes them, of which each must be at hand."""

    def __init__(self, arrays: Arrays) -> None:
        self._arrays = arrays

    def get(self, key: str | None) -> Array:
        """The value with this key.

        Raises:
            UnavailableError: it is not at hand.
        """
        return self.with_type(key)[0]

    def with_type(self, key: str | None) -> tuple[Array, str]:
        """The value with this key and its element type (``float32``); raises as :meth:`get`."""
        try:
            found = self._arrays.with_type(key) if key is not None else None
        except KeyError as error:
            raise UnavailableError(f"values of type {error.args[0]} are not read") from None
        if found is None:
            raise MissingValueError("a captured value is not at hand")
        return found


@lru_cache(maxsize=1024)
def _parameters(evaluate: Callable[..., Any]) -> frozenset[str] | None:
    """Names that an evaluation takes; ``None`` for NumPy's own functions, which go by position."""
    if not isinstance(evaluate, types.FunctionType) or evaluate.__module__.partition(".")[0] == "numpy":
        return None
    signature = inspect.signature(evaluate)
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in signature.parameters.values()):
        return frozenset({"*"})
    return frozenset(signature.parameters)


def arguments_of(call: Call, tensors: Mapping[Operand, Any]) -> dict[str, Any]:
    """The arguments of a call as its evaluation takes them; raises ``UnavailableError`` as :func:`resolved`."""
    return {name: resolved(value, tensors) for name, value in call.named.items() if name not in IGNORED}


def evaluated(call: Call, tensors: Mapping[Operand, Any]) -> Any:
    """The result of a call on these tensors: an array, a number, or a tuple of them.

    Raises:
        UnavailableError: it cannot be evaluated.
    """
    return applied(call, arguments_of(call, tensors))


def applied(call: Call, arguments: Mapping[str, Any]) -> Any:
    """The result of a call on these arguments by name; otherwise as :func:`evaluated`.

    Raises:
        UnavailableError: it cannot be evaluated.
    """
    evaluate = call.entry.evaluate
    if evaluate is None:
        raise UnavailableError(call.entry.reason or "the table has no evaluation for it")
    named = dict(arguments)
    wanted = _parameters(evaluate)
    dtype = None
    if wanted is None or not wanted & {"dtype", "*"}:
        dtype = named.pop("dtype", None)
    try:
        with np.errstate(all="ignore"):
            if wanted is None:
                result = evaluate(*named.values())
            else:
                unknown = [name for name in named if name not in wanted and "*" not in wanted]
                if unknown:
                    raise UnavailableError(f"the table does not know its argument {unknown[0]}")
                result = evaluate(**named)
    except UnavailableError:
        raise
    except Exception as error:  # whatever a wrong entry does must not stop a build
        raise UnavailableError(f"its evaluation failed: {_short(error)}") from error
    if isinstance(dtype, Dtype):
        return tuple(cast(part, dtype) for part in result) if isinstance(result, tuple) else cast(result, dtype)
    return result


def _short(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 120 else f"{text[:119]}…"


def as_list(result: Any) -> list[Any]:
    """Results one by one."""
    return list(result) if isinstance(result, tuple) else [result]


def read(values: Values, operands: Sequence[Operand]) -> dict[Operand, Array]:
    """The captured values of operands; raises ``UnavailableError`` if one is not at hand."""
    return {operand: values.get(operand.value) for operand in operands}
