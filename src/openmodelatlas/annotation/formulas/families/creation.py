"""Tensors made from numbers, and those made at random."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from openmodelatlas.annotation.formulas.entry import ATOM, PREFIX, Entry
from openmodelatlas.annotation.formulas.families.numeric import Array, cast, flat, need


def arange(start: Any, end: Any = None, step: Any = 1, dtype: Any = None) -> Array:
    """Numbers from ``start`` (0 if only an end is given) up to below ``end``."""
    first, last = (0, start) if end is None else (start, end)
    return np.asarray(cast(np.arange(first, last, step), dtype))


def linspace(start: Any, end: Any, steps: int, dtype: Any = None) -> Array:
    """``steps`` numbers from ``start`` to ``end``."""
    return np.asarray(cast(np.linspace(start, end, steps), dtype))


def _filled(value: float) -> Callable[..., Any]:
    return lambda size=(), dtype=None: cast(np.full(flat(size), value), dtype)


def _like(value: float) -> Callable[..., Any]:
    return lambda input, dtype=None: cast(np.full_like(input, value), dtype)


def _new(value: float) -> Callable[..., Any]:
    return lambda input, size=(), dtype=None: cast(np.full(flat(size), value, dtype=input.dtype), dtype)


def tensor(data: Any, dtype: Any = None) -> Array:
    """A tensor from numbers."""
    return np.asarray(cast(np.asarray(data) if np.size(data) else np.zeros(np.shape(data)), dtype))


def dropout(input: Any, p: float = 0.5, training: bool = True) -> Any:
    """What an evaluation leaves of dropout: nothing, unless it is on."""
    need(not training or p == 0.0, "it drops elements at random")
    return input


def _random(what: str, arguments: str = "") -> Entry:
    return Entry(rf"\operatorname{{{what}}}({arguments})", PREFIX, reason="it draws random numbers")


def _constant(value: str) -> str:
    return rf"\mathbf{{{value}}}_{{<size:times>}} || {value}"


_UNSET = r"\text{unset}"

ENTRIES: dict[str, Entry] = {
    "arange": Entry(
        r"\left(<start>, <start+> + <step>, \ldots\right)_{\lt <end>} || \left(<start>, \ldots, <end:less>\right) || "
        r"\left(0, \ldots, <start:less>\right)",
        ATOM,
        arange,
    ),
    "linspace": Entry(r"\left(<start>, \ldots, <end>\right)_{<steps>}", ATOM, linspace),
    "logspace": Entry(
        r"10^{(<start>, \ldots, <end>)}",
        PREFIX,
        lambda start, end, steps, base=10.0: np.power(base, np.linspace(start, end, steps)),
    ),
    "zeros": Entry(_constant("0"), ATOM, _filled(0.0)),
    "ones": Entry(_constant("1"), ATOM, _filled(1.0)),
    "empty": Entry(_UNSET, ATOM, _filled(0.0)),
    "full": Entry(
        r"<fill_value>", ATOM, lambda size, fill_value, dtype=None: cast(np.full(flat(size), fill_value), dtype)
    ),
    "zeros_like": Entry(r"\mathbf{0}", ATOM, _like(0)),
    "ones_like": Entry(r"\mathbf{1}", ATOM, _like(1)),
    "empty_like": Entry(_UNSET, ATOM, _like(0)),
    "full_like": Entry(
        r"<fill_value>",
        ATOM,
        lambda input, fill_value, dtype=None: cast(np.full_like(input, fill_value), dtype),
    ),
    "new_zeros": Entry(_constant("0"), ATOM, _new(0)),
    "new_ones": Entry(_constant("1"), ATOM, _new(1)),
    "new_empty": Entry(_UNSET, ATOM, _new(0)),
    "new_full": Entry(
        r"<fill_value>",
        ATOM,
        lambda input, size, fill_value, dtype=None: cast(np.full(flat(size), fill_value, dtype=input.dtype), dtype),
    ),
    "new_tensor": Entry(r"<data>", ATOM, lambda input, data, dtype=None: tensor(data, dtype)),
    "eye": Entry(r"I_{<n>}", ATOM, lambda n, m=None, dtype=None: cast(np.eye(n, m), dtype)),
    "tensor": Entry(r"<data>", ATOM, tensor),
    "scalar_tensor": Entry(r"<s>", ATOM, lambda s, dtype=None: tensor(s, dtype)),
    "as_tensor": Entry(r"<data>", ATOM, tensor),
    "from_numpy": Entry(r"<array>", ATOM, lambda array: array),
    "fill": Entry(r"<value>", ATOM, lambda input, value: np.full_like(input, value)),
    "zero": Entry(r"\mathbf{0}", ATOM, lambda input: np.zeros_like(input)),
    "complex": Entry(r"<real+> + i\, <imag*>", PREFIX, lambda real, imag: real + 1j * imag),
    "tril_indices": Entry(
        r"\{(i, j) : j \le i\}",
        ATOM,
        lambda row, col, offset=0: np.stack(np.tril_indices(row, offset, col)),
    ),
    "triu_indices": Entry(
        r"\{(i, j) : j \ge i\}",
        ATOM,
        lambda row, col, offset=0: np.stack(np.triu_indices(row, offset, col)),
    ),
    "hann_window": Entry(r"\operatorname{hann}", ATOM, lambda window_length: np.hanning(window_length + 1)[:-1]),
    "dropout": Entry(r"<input>", ATOM, dropout),
    "dropout1d": Entry(r"<input>", ATOM, dropout),
    "dropout2d": Entry(r"<input>", ATOM, dropout),
    "alpha_dropout": Entry(r"<input>", ATOM, dropout),
    "rand": _random("uniform"),
    "rand_like": _random("uniform"),
    "randn": _random("normal"),
    "randn_like": _random("normal"),
    "normal": _random("normal"),
    "uniform": _random("uniform"),
    "exponential": _random("exponential"),
    "randint": _random("uniform"),
    "randint_like": _random("uniform"),
    "randperm": _random("permutation", "<n>"),
    "bernoulli": _random("Bernoulli", "<input>"),
    "multinomial": _random("multinomial", "<input>"),
    "gumbel_softmax": _random("gumbel\\_softmax", "<logits>"),
}
