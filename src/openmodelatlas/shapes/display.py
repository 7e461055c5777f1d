"""Expressions as pages show them: short symbols, LaTeX, and values in words."""

from __future__ import annotations

import re
from collections.abc import Mapping

from openmodelatlas.shapes.expression import Expression, Extreme, Integer, Name, Product, Sum
from openmodelatlas.shapes.names import symbol_for


def short(node: Expression, symbols: Mapping[str, str] | None = None) -> str:
    """The expression in symbols, ``h·(d_nope + d_rope)``.

    Args:
        node: what to write.
        symbols: key to symbol; a key that is absent gets the standard symbol of :func:`names.symbol_for`.
    """
    if isinstance(node, Integer):
        return str(node.value)
    if isinstance(node, Name):
        return _symbol(node.key, symbols)
    if isinstance(node, Sum):
        return _signed([short(term, symbols) for term in node.terms], minus="−")
    if isinstance(node, Product):
        text = "·".join(_bracketed(factor, short(factor, symbols)) for factor in node.factors)
        return {1: text, -1: f"−{text}"}.get(node.coefficient, f"{node.coefficient}·{text}")
    if isinstance(node, Extreme):
        return f"{node.which}({', '.join(short(option, symbols) for option in node.options)})"
    left, right = ("⌊", "⌋") if node.rounding == "down" else ("⌈", "⌉")
    numerator = _bracketed(node.numerator, short(node.numerator, symbols), products=False)
    return f"{left}{numerator} / {_bracketed(node.denominator, short(node.denominator, symbols))}{right}"


def latex(node: Expression, symbols: Mapping[str, str] | None = None) -> str:
    r"""The expression in LaTeX, ``h\,(d_{\mathrm{nope}} + d_{\mathrm{rope}})``; arguments as for :func:`short`."""
    if isinstance(node, Integer):
        return str(node.value)
    if isinstance(node, Name):
        return symbol_latex(_symbol(node.key, symbols))
    if isinstance(node, Sum):
        return _signed([latex(term, symbols) for term in node.terms], minus="-")
    if isinstance(node, Product):
        text = r"\,".join(_bracketed(factor, latex(factor, symbols)) for factor in node.factors)
        return {1: text, -1: f"-{text}"}.get(node.coefficient, rf"{node.coefficient}\,{text}")
    if isinstance(node, Extreme):
        return rf"\{node.which}({', '.join(latex(option, symbols) for option in node.options)})"
    side = "floor" if node.rounding == "down" else "ceil"
    fraction = rf"\frac{{{latex(node.numerator, symbols)}}}{{{latex(node.denominator, symbols)}}}"
    return rf"\left\l{side} {fraction} \right\r{side}"


def in_shape(symbol: str, value: int | None) -> str:
    """An axis as shapes list it: ``7168 d``, ``3 (K − 1)``, which is 3 and not 3·K − 1, ``128 d_h.linear``.

    Args:
        symbol: of a size, or an expression of several; a comma in it would end the axis.
        value: in elements; ``None`` where the run decides it.
    """
    text = symbol.replace(",", ".")
    if value is None:
        return text
    return f"{value} {text}" if re.fullmatch(r"[^\W\d][\w.]*", text) else f"{value} ({text})"


def symbol_latex(symbol: str) -> str:
    r"""A symbol in LaTeX: ``r_kv`` as ``r_{\mathrm{kv}}``; one of more than one letter is set upright."""
    base, _, subscript = symbol.partition("_")
    if len(base) > 1 or not base:
        return rf"\mathrm{{{_escaped(symbol)}}}"
    return rf"{base}_{{\mathrm{{{_escaped(subscript)}}}}}" if subscript else base


def _symbol(key: str, symbols: Mapping[str, str] | None) -> str:
    if symbols is not None and key in symbols:
        return symbols[key]
    return symbol_for(key)[0]


def _signed(terms: list[str], minus: str) -> str:
    text = terms[0]
    for term in terms[1:]:
        text += f" {minus} {term[1:]}" if term.startswith(("-", "−")) else f" + {term}"
    return text


def _bracketed(node: Expression, text: str, *, products: bool = True) -> str:
    return f"({text})" if isinstance(node, Sum) or (products and isinstance(node, Product)) else text


def _escaped(text: str) -> str:
    return text.replace("_", r"\_").replace("Δ", r"\Delta")
