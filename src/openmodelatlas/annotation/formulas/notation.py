"""Names, numbers and sizes in LaTeX."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from openmodelatlas.annotation.markup import without_marks
from openmodelatlas.errors import ShapeError
from openmodelatlas.graph.document import SizeName
from openmodelatlas.shapes.dimension import Constant, DataDependent, Dimension, Symbolic, Varying
from openmodelatlas.shapes.display import in_shape, latex, short
from openmodelatlas.shapes.parsing import parse

_GREEK = frozenset(
    {
        *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "kappa", "lambda", "mu", "nu", "xi"),
        *("rho", "sigma", "tau", "phi", "chi", "psi", "omega", "pi"),
    }
)
_INDEXED = re.compile(r"([A-Za-z])_?(\d+)\Z")
_WORD_INDEX = re.compile(r"([A-Za-z])_([A-Za-z][A-Za-z0-9]*)\Z")
_SPECIAL = re.compile(r"[\\{}$%#&_^~]")
_ESCAPES = {"\\": r"\backslash ", "^": r"\hat{}", "~": r"\sim "}


def escaped(text: str) -> str:
    r"""Text as it stands inside ``\mathtt{…}`` or ``\mathrm{…}``."""
    return _SPECIAL.sub(lambda match: _ESCAPES.get(match[0], f"\\{match[0]}"), text).replace(" ", r"\ ")


def variable_latex(name: str) -> str:
    r"""A name of the code: ``x`` and ``beta`` as letters, ``q1`` as ``q_1``, ``hidden_states`` in typewriter face."""
    name = name.removeprefix("self.")
    if len(name) == 1 and name.isalpha():
        return name
    if name in _GREEK:
        return f"\\{name}"
    indexed = _INDEXED.match(name)
    if indexed:
        return f"{indexed[1]}_{{{indexed[2]}}}"
    worded = _WORD_INDEX.match(name)
    if worded:
        return rf"{worded[1]}_{{\mathrm{{{escaped(worded[2])}}}}}"
    return rf"\mathtt{{{escaped(name)}}}"


def marked(symbol: str, count: int) -> str:
    """A symbol with at most two primes, or else a number."""
    if count == 0:
        return symbol
    mark = "'" * count if count < 3 else f"^{{({count})}}"
    return f"{{{symbol}}}{mark}" if "^" in symbol else f"{symbol}{mark}"


def parameter_latex(name: str, axes: int) -> str:
    r"""A parameter: ``W_{\mathrm{q\_proj}}`` for a matrix of ``q_proj``, ``w``, ``b`` for vectors."""
    parts = [part for part in name.partition(" @ ")[0].split(".") if part != "*" and not part.isdigit()]
    last, owner = parts[-1], parts[-2] if len(parts) > 1 else ""
    if last == "weight" and owner:
        return rf"{'W' if axes > 1 else 'w'}_{{\mathrm{{{escaped(owner)}}}}}"
    if last == "bias" and owner:
        return rf"b_{{\mathrm{{{escaped(owner)}}}}}"
    return variable_latex(last)


def number_latex(value: float) -> str:
    r"""A number: integers whole, others with six digits, powers of ten as such (``10^{-6}``)."""
    if isinstance(value, bool):
        return rf"\mathrm{{{str(value).lower()}}}"
    if isinstance(value, int):
        return str(value) if abs(value) < 10**9 else _scientific(float(value))
    if math.isnan(value):
        return r"\mathrm{NaN}"
    if math.isinf(value):
        return r"\infty" if value > 0 else r"-\infty"
    if value == int(value) and abs(value) < 10**7:
        return str(int(value))
    if 1e-3 <= abs(value) < 1e6:
        return f"{value:.6g}"
    return _scientific(value)


def _scientific(value: float) -> str:
    digits, _, exponent = f"{value:.5e}".partition("e")
    digits = digits.rstrip("0").rstrip(".")
    power = rf"10^{{{int(exponent)}}}"
    if digits in ("1", "-1"):
        return power if digits == "1" else f"-{power}"
    return rf"{digits} \cdot {power}"


def expression_latex(expression: str, sizes: Mapping[str, SizeName]) -> str:
    r"""A size expression in its symbols: ``h\,(d_{\mathrm{nope}} + d_{\mathrm{rope}})``."""
    try:
        return latex(parse(expression), {key: size.symbol for key, size in sizes.items()})
    except ShapeError:
        return rf"\mathtt{{{escaped(expression)}}}"


def dimension_latex(dimension: Dimension, sizes: Mapping[str, SizeName]) -> str | None:
    """An axis by its symbol; ``None`` for one that has none."""
    return expression_latex(dimension.expression, sizes) if isinstance(dimension, Symbolic) else None


def dimension_words(dimension: Dimension, sizes: Mapping[str, SizeName]) -> str:
    """An axis in words: ``7168 d``, ``B batch``, ``32``."""
    if isinstance(dimension, Constant):
        return str(dimension.value)
    if isinstance(dimension, Symbolic):
        size = sizes.get(dimension.expression)
        if size is not None:
            text = in_shape(size.symbol, dimension.value)
            return f"{text} {size.name}" if dimension.value is None else text
        try:
            symbols = short(parse(dimension.expression), {key: each.symbol for key, each in sizes.items()})
        except ShapeError:
            symbols = dimension.expression
        return in_shape(symbols, dimension.value)
    if isinstance(dimension, DataDependent):
        return dimension.name.partition(" of `")[0]
    if isinstance(dimension, Varying):
        return " or ".join(str(value) for value in sorted(set(dimension.values))[:4])
    return "?"


def unlit(latex: str) -> str:
    """A formula without the marks of its terms, braces and spaces, to compare or measure it."""
    return re.sub(r"\\(?:mathrm|mathtt|operatorname|text|left|right)(?![a-z])|[{} ]", "", without_marks(latex))
