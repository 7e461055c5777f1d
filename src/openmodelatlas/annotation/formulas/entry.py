"""What the operation table knows of one torch function: how its formula is written, and how it is evaluated."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

RELATION, SUM, MATRIX, PRODUCT, PREFIX, SYMBOL, ATOM = range(7)
"""How tightly a piece of LaTeX binds: ``a = b``; ``a + b``; a product of matrices or a sum over an axis, which reach as
far right as they can; an element-wise product; ``f(a)``; ``x'``, which takes no further superscript; ``x`` or whatever
has its own brackets.

A piece stands in brackets where a place asks for more than it has.
"""

MATRIX_PRODUCTS = frozenset(
    {"matmul", "rmatmul", "mm", "bmm", "mv", "addmm", "baddbmm", "addmv", "linear", "scaled_dot_product_attention"}
)
"""Functions whose operands are read as matrices: only there is a tensor told from its transpose."""

Evaluate = Callable[..., Any]
"""Takes the arguments under torch's names and gives an array, a number, or a tuple of them.

Tensors are arrays of float64, int64 or bool; types are :class:`Dtype`; the rest are plain Python values.
"""

Pairs = list[tuple[Any, Any]]
Compare = Callable[[Mapping[str, Any], Any, list[Any]], Pairs]
"""Takes the named arguments, our result and the captured ones; gives pairs that must agree (ours, captured)."""


class Dtype(str):
    """Name of a torch element type, ``float32``; told from other strings (devices, modes) by its class."""

    __slots__ = ()


class UnavailableError(Exception):
    """An evaluation is not possible; the message says why, as a clause without a full stop."""


class MissingValueError(UnavailableError):
    """A captured value that it needs is not at hand."""


@dataclass(frozen=True)
class Entry:
    r"""One function of the operation table.

    Attributes:
        latex: how it is written. ``<name>`` is an argument; ``<name+>``, ``<name*>``, ``<name!>``, ``<name.>``,
            ``<name^>`` put it in brackets unless it binds as tightly as a sum, a product of elements, ``f(a)``, a
            symbol, an atom; ``<name:axis>`` is the axis,
            ``<name:size>`` how long it is, ``<name:index>`` an index. Of templates separated by ``||`` the first whose
            arguments are all given is taken. ``<result>`` puts the result at its place, where it is not alone on the
            left of an equals sign.
        level: how tightly the whole binds.
        evaluate: the result in float64; ``None`` where ``reason`` says why there is none.
        definition: the same spelled out, where ``latex`` only gives it a name: set on the operation's own page.
        compare: what must agree, where that is not the results one by one (the order that torch leaves open).
        summed: arguments whose products or elements are added up, by name; their number widens the tolerance.
        reason: why it cannot be evaluated, as a clause without a full stop.
    """

    latex: str
    level: int = ATOM
    evaluate: Evaluate | None = None
    definition: str | None = None
    compare: Compare | None = None
    summed: tuple[str, ...] = ()
    reason: str | None = None
