"""Element-wise arithmetic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from openmodelatlas.annotation.formulas.entry import ATOM, PREFIX, PRODUCT, SUM, Entry
from openmodelatlas.annotation.formulas.families.numeric import as_float

_erf = np.frompyfunc(math.erf, 1, 1)
_lgamma = np.frompyfunc(math.lgamma, 1, 1)


def erf(x: Any) -> Any:
    """The error function of every element."""
    return as_float(_erf(as_float(x)))


def power(base: Any, exponent: Any) -> Any:
    """Powers; of floating-point numbers unless base and exponent are integers and no exponent is negative."""
    whole = all(np.asarray(part).dtype.kind in "iub" for part in (base, exponent))
    if whole and np.all(np.asarray(exponent) >= 0):
        return np.power(base, exponent)
    return np.power(as_float(base), exponent)


def divide(input: Any, other: Any, rounding_mode: str | None = None) -> Any:
    """Division, rounded as torch's ``rounding_mode`` says."""
    if rounding_mode == "floor":
        return np.floor_divide(input, other)
    quotient = np.true_divide(input, other)
    if rounding_mode != "trunc":
        return quotient
    whole = np.asarray(input).dtype.kind in "iu" and np.asarray(other).dtype.kind in "iu"
    return np.trunc(quotient).astype(np.int64) if whole else np.trunc(quotient)


def clamp(input: Any, min: Any = None, max: Any = None) -> Any:
    """Within bounds; a missing bound bounds nothing."""
    result = input if min is None else np.maximum(input, min)
    return result if max is None else np.minimum(result, max)


def nan_to_num(input: Any, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None) -> Any:
    """Numbers in place of what is none; infinities become the largest float32."""
    largest = float(np.finfo(np.float32).max)
    high, low = largest if posinf is None else posinf, -largest if neginf is None else neginf
    return np.nan_to_num(as_float(input), nan=nan, posinf=high, neginf=low)


def _unary(latex: str, function: Any, level: int = PREFIX) -> Entry:
    return Entry(latex, level, lambda input: function(as_float(input)))


ENTRIES: dict[str, Entry] = {
    "add": Entry(
        r"<input+> + <alpha*> \cdot <other*> || <input+> + <other+>",
        SUM,
        lambda input, other, alpha=1: input + (other if alpha == 1 else alpha * other),
    ),
    "subtract": Entry(
        r"<input+> - <alpha*> \cdot <other*> || <input+> - <other*>",
        SUM,
        lambda input, other, alpha=1: input - (other if alpha == 1 else alpha * other),
    ),
    "rsub": Entry(r"<other+> - <input*>", SUM, lambda input, other, alpha=1: other - alpha * input),
    "multiply": Entry(
        r"<other*:scalar> \cdot <input*> || <input*> \odot <other*>", PRODUCT, lambda input, other: input * other
    ),
    "divide": Entry(r"\frac{<input>}{<other>}", PREFIX, divide),
    "rtruediv": Entry(r"\frac{<other>}{<input>}", PREFIX, lambda input, other: np.true_divide(other, input)),
    "rdiv": Entry(r"\frac{<other>}{<input>}", PREFIX, lambda input, other: np.true_divide(other, input)),
    "floor_divide": Entry(
        r"\left\lfloor \frac{<input>}{<other>} \right\rfloor", ATOM, lambda input, other: np.floor_divide(input, other)
    ),
    "rfloordiv": Entry(
        r"\left\lfloor \frac{<other>}{<input>} \right\rfloor", ATOM, lambda input, other: np.floor_divide(other, input)
    ),
    "remainder": Entry(r"<input*> \bmod <other*>", PRODUCT, lambda input, other: np.mod(input, other)),
    "rmod": Entry(r"<other*> \bmod <input*>", PRODUCT, lambda input, other: np.mod(other, input)),
    "fmod": Entry(r"\operatorname{fmod}(<input>, <other>)", PREFIX, lambda input, other: np.fmod(input, other)),
    "pow": Entry(r"<input^>^{<exponent>}", PREFIX, lambda input, exponent: power(input, exponent)),
    "rpow": Entry(r"<base^>^{<input>}", PREFIX, lambda input, base: power(base, input)),
    "float_power": Entry(r"<input^>^{<exponent>}", PREFIX, lambda input, exponent: np.power(as_float(input), exponent)),
    "neg": Entry(r"-<input*>", PRODUCT, lambda input: -input),
    "positive": Entry(r"<input>", ATOM, lambda input: input),
    "abs": Entry(r"\left|<input>\right|", ATOM, np.abs),
    "sign": Entry(r"\operatorname{sign}(<input>)", PREFIX, lambda input: np.sign(input)),
    "exp": _unary(r"e^{<input>}", np.exp),
    "exp2": _unary(r"2^{<input>}", np.exp2),
    "expm1": _unary(r"e^{<input>} - 1", np.expm1, SUM),
    "log": _unary(r"\ln <input.>", np.log),
    "log1p": _unary(r"\ln(1 + <input+>)", np.log1p),
    "log2": _unary(r"\log_2 <input.>", np.log2),
    "log10": _unary(r"\log_{10} <input.>", np.log10),
    "sqrt": _unary(r"\sqrt{<input>}", np.sqrt, ATOM),
    "rsqrt": _unary(r"\frac{1}{\sqrt{<input>}}", lambda x: 1.0 / np.sqrt(x)),
    "square": Entry(r"<input^>^2", PREFIX, lambda input: input * input),
    "reciprocal": _unary(r"\frac{1}{<input>}", lambda x: 1.0 / x),
    "sin": _unary(r"\sin <input.>", np.sin),
    "cos": _unary(r"\cos <input.>", np.cos),
    "tan": _unary(r"\tan <input.>", np.tan),
    "asin": _unary(r"\arcsin <input.>", np.arcsin),
    "acos": _unary(r"\arccos <input.>", np.arccos),
    "atan": _unary(r"\arctan <input.>", np.arctan),
    "atan2": Entry(r"\operatorname{atan2}(<input>, <other>)", PREFIX, lambda input, other: np.arctan2(input, other)),
    "sinh": _unary(r"\sinh <input.>", np.sinh),
    "cosh": _unary(r"\cosh <input.>", np.cosh),
    "erf": _unary(r"\operatorname{erf}(<input>)", erf),
    "erfc": _unary(r"1 - \operatorname{erf}(<input>)", lambda x: 1.0 - erf(x), SUM),
    "lgamma": _unary(r"\ln\Gamma(<input>)", lambda x: as_float(_lgamma(x))),
    "floor": Entry(r"\left\lfloor <input> \right\rfloor", ATOM, np.floor),
    "ceil": Entry(r"\left\lceil <input> \right\rceil", ATOM, np.ceil),
    "round": Entry(
        r"\operatorname{round}(<input>)", PREFIX, lambda input, decimals=0: np.round(as_float(input), decimals)
    ),
    "trunc": Entry(r"\operatorname{trunc}(<input>)", PREFIX, np.trunc),
    "frac": Entry(r"<input+> - \operatorname{trunc}(<input>)", SUM, lambda input: input - np.trunc(input)),
    "clamp": Entry(r"\min(\max(<input>, <min>), <max>) || \max(<input>, <min>) || \min(<input>, <max>)", PREFIX, clamp),
    "clamp_minimum": Entry(r"\max(<input>, <min>)", PREFIX, clamp),
    "clamp_maximum": Entry(r"\min(<input>, <max>)", PREFIX, clamp),
    "maximum": Entry(r"\max(<input>, <other>)", PREFIX, lambda input, other: np.maximum(input, other)),
    "minimum": Entry(r"\min(<input>, <other>)", PREFIX, lambda input, other: np.minimum(input, other)),
    "lerp": Entry(
        r"<input+> + <weight*> \odot (<end+> - <input*>)",
        SUM,
        lambda input, end, weight: input + weight * (end - input),
    ),
    "addcmul": Entry(
        r"<input+> + <value*> \cdot <tensor1*> \odot <tensor2*> || <input+> + <tensor1*> \odot <tensor2*>",
        SUM,
        lambda input, tensor1, tensor2, value=1: input + value * tensor1 * tensor2,
    ),
    "addcdiv": Entry(
        r"<input+> + <value*> \cdot \frac{<tensor1>}{<tensor2>} || <input+> + \frac{<tensor1>}{<tensor2>}",
        SUM,
        lambda input, tensor1, tensor2, value=1: input + value * np.true_divide(tensor1, tensor2),
    ),
    "nan_to_num": Entry(r"\operatorname{nan\_to\_num}(<input>)", PREFIX, nan_to_num),
    "logaddexp": Entry(r"\ln(e^{<input>} + e^{<other>})", PREFIX, lambda input, other: np.logaddexp(input, other)),
    "polar": Entry(
        r"<abs*> \odot e^{i <angle*>}", PRODUCT, lambda abs, angle: abs * (np.cos(angle) + 1j * np.sin(angle))
    ),
    "angle": Entry(r"\arg <input.>", PREFIX, np.angle),
    "conj": Entry(r"\overline{<input>}", ATOM, np.conj),
    "real": Entry(r"\operatorname{Re}(<input>)", PREFIX, np.real),
    "imag": Entry(r"\operatorname{Im}(<input>)", PREFIX, np.imag),
}
