"""Comparisons and logic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from openmodelatlas.annotation.formulas.entry import PREFIX, PRODUCT, RELATION, Entry


def _relation(sign: str, function: Callable[[Any, Any], Any]) -> Entry:
    return Entry(rf"[<input+> {sign} <other+>]", evaluate=lambda input, other: function(input, other))


def _not(input: Any) -> Any:
    return ~input if np.asarray(input).dtype.kind in "iu" else ~np.asarray(input, dtype=bool)


ENTRIES: dict[str, Entry] = {
    "eq": _relation("=", np.equal),
    "ne": _relation(r"\ne", np.not_equal),
    "gt": _relation(r"\gt", np.greater),
    "ge": _relation(r"\ge", np.greater_equal),
    "lt": _relation(r"\lt", np.less),
    "le": _relation(r"\le", np.less_equal),
    "isclose": Entry(
        r"[<input+> \approx <other+>]",
        evaluate=lambda input, other, rtol=1e-5, atol=1e-8, equal_nan=False: np.isclose(
            input, other, rtol=rtol, atol=atol, equal_nan=equal_nan
        ),
    ),
    "allclose": Entry(
        r"\bigwedge\, [<input+> \approx <other+>]",
        RELATION,
        lambda input, other, rtol=1e-5, atol=1e-8, equal_nan=False: np.allclose(
            input, other, rtol=rtol, atol=atol, equal_nan=equal_nan
        ),
    ),
    "equal": Entry(r"\bigwedge\, [<input+> = <other+>]", RELATION, lambda input, other: np.array_equal(input, other)),
    "isnan": Entry(r"[<input> \text{ is no number}]", evaluate=np.isnan),
    "isinf": Entry(r"[|<input>| = \infty]", evaluate=np.isinf),
    "isfinite": Entry(r"[|<input>| \lt \infty]", evaluate=np.isfinite),
    "isin": Entry(
        r"[<elements+> \in <test_elements>]", evaluate=lambda elements, test_elements: np.isin(elements, test_elements)
    ),
    "logical_not": Entry(r"\lnot <input.>", PREFIX, lambda input: ~np.asarray(input, dtype=bool)),
    "bitwise_not": Entry(r"\lnot <input.>", PREFIX, _not),
    "logical_and": Entry(r"<input*> \land <other*>", PRODUCT, lambda input, other: np.logical_and(input, other)),
    "logical_or": Entry(r"<input*> \lor <other*>", PRODUCT, lambda input, other: np.logical_or(input, other)),
    "logical_xor": Entry(r"<input*> \oplus <other*>", PRODUCT, lambda input, other: np.logical_xor(input, other)),
    "bitwise_and": Entry(r"<input*> \land <other*>", PRODUCT, lambda input, other: np.bitwise_and(input, other)),
    "bitwise_or": Entry(r"<input*> \lor <other*>", PRODUCT, lambda input, other: np.bitwise_or(input, other)),
    "bitwise_xor": Entry(r"<input*> \oplus <other*>", PRODUCT, lambda input, other: np.bitwise_xor(input, other)),
    "bitwise_left_shift": Entry(
        r"<input*> \cdot 2^{<other>}", PRODUCT, lambda input, other: np.left_shift(input, other)
    ),
    "bitwise_right_shift": Entry(
        r"\left\lfloor <input*> \cdot 2^{-<other*>} \right\rfloor",
        evaluate=lambda input, other: np.right_shift(input, other),
    ),
}
