"""Sums, means, extremes and running totals along axes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from openmodelatlas.annotation.formulas.entry import MATRIX, PREFIX, Entry, Pairs
from openmodelatlas.annotation.formulas.families.numeric import Array, as_float, axes_of, cast, is_array


def total(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Sum along axes."""
    return np.sum(input, axis=axes_of(dim), keepdims=keepdim)


def mean(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Mean along axes."""
    return np.mean(as_float(input), axis=axes_of(dim), keepdims=keepdim)


def variance(input: Any, dim: Any = None, keepdim: bool = False, unbiased: bool = True, correction: Any = None) -> Any:
    """Variance along axes, divided by the number of elements less ``correction``."""
    if isinstance(dim, bool):  # ``x.var(False)`` gives ``unbiased`` alone
        dim, unbiased = None, dim
    lost = correction if correction is not None else int(unbiased)
    return np.var(as_float(input), axis=axes_of(dim), ddof=lost, keepdims=keepdim)


def norm(input: Any, p: Any = 2, dim: Any = None, keepdim: bool = False) -> Any:
    """The p-norm along axes."""
    axis, size = axes_of(dim), np.abs(as_float(input))
    p = 2 if p in (None, "fro") else p
    if p in (np.inf, -np.inf):
        return (np.max if p > 0 else np.min)(size, axis=axis, keepdims=keepdim)
    if p == 0:
        return np.sum(size != 0, axis=axis, keepdims=keepdim).astype(np.float64)
    return np.sum(size**p, axis=axis, keepdims=keepdim) ** (1.0 / p)


def _extreme(values: Callable[..., Any], places: Callable[..., Any], pair: Callable[..., Any]) -> Callable[..., Any]:
    def run(input: Any, dim: Any = None, keepdim: bool = False, other: Any = None) -> Any:
        if is_array(dim) or other is not None:
            return pair(input, dim if other is None else other)
        if dim is None:
            return values(input)
        found = values(input, axis=dim, keepdims=keepdim)
        return found, places(input, axis=dim, keepdims=keepdim)

    return run


def same_extreme(named: Mapping[str, Any], ours: Any, captured: list[Any]) -> Pairs:
    """Values one by one; places by what lies there, since equal values may be found at any of their places."""
    if not isinstance(ours, tuple) or len(captured) < 2:
        return [(ours[0] if isinstance(ours, tuple) else ours, captured[0])]
    return [(ours[0], captured[0]), (picked(named, captured[1]), captured[0])]


def picked(named: Mapping[str, Any], places: Array) -> Array:
    """What lies at ``places`` along the axis of a reduction."""
    dim, keepdim = named.get("dim"), named.get("keepdim", False)
    if dim is None:
        return np.asarray(named["input"]).reshape(-1)[places]
    index = places if keepdim else np.expand_dims(places, dim)
    found = np.take_along_axis(named["input"], index, axis=dim)
    return found if keepdim else np.squeeze(found, axis=dim)


def same_place(named: Mapping[str, Any], ours: Any, captured: list[Any]) -> Pairs:
    """For ``argmax`` and its like: what lies at our place equals what lies at theirs."""
    return [(picked(named, np.asarray(ours)), picked(named, captured[0]))]


def _place(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda input, dim=None, keepdim=False: function(input, axis=dim, keepdims=keepdim)


def _truth(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda input, dim=None, keepdim=False: function(input, axis=axes_of(dim), keepdims=keepdim)


def logsumexp(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    """Logarithm of the sum of exponentials, the largest taken out first."""
    axis, x = axes_of(dim), as_float(input)
    top = np.max(x, axis=axis, keepdims=True)
    top = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):
        result = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True)) + top
    return result if keepdim else np.squeeze(result, axis=axis)


def _running(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(input: Any, dim: int, dtype: Any = None) -> Any:
        x = input.astype(np.int64) if np.asarray(input).dtype.kind == "b" else input
        return cast(function(x, axis=dim), dtype)

    return run


_OVER = r"_{<dim:axis>}"

ENTRIES: dict[str, Entry] = {
    "sum": Entry(rf"\sum{_OVER} <input*> || \sum <input*>", MATRIX, total, summed=("input",)),
    "mean": Entry(
        rf"\frac{{1}}{{<dim:size>}} \sum{_OVER} <input*> || \operatorname{{mean}}(<input>)",
        MATRIX,
        mean,
        summed=("input",),
    ),
    "nansum": Entry(
        rf"\sum{_OVER} <input*> || \sum <input*>",
        MATRIX,
        lambda input, dim=None, keepdim=False: np.nansum(input, axis=axes_of(dim), keepdims=keepdim),
        summed=("input",),
    ),
    "var": Entry(
        rf"\operatorname{{Var}}{_OVER}(<input>) || \operatorname{{Var}}(<input>)", PREFIX, variance, summed=("input",)
    ),
    "std": Entry(
        rf"\sqrt{{\operatorname{{Var}}{_OVER}(<input>)}} || \sqrt{{\operatorname{{Var}}(<input>)}}",
        evaluate=lambda **given: np.sqrt(variance(**given)),
        summed=("input",),
    ),
    "prod": Entry(
        rf"\prod{_OVER} <input*> || \prod <input*>",
        MATRIX,
        lambda input, dim=None, keepdim=False: np.prod(input, axis=axes_of(dim), keepdims=keepdim),
    ),
    "norm": Entry(r"\lVert <input> \rVert_{<p>} || \lVert <input> \rVert", evaluate=norm, summed=("input",)),
    "vector_norm": Entry(
        r"\lVert <x> \rVert_{<ord>} || \lVert <x> \rVert",
        evaluate=lambda x, ord=2, dim=None, keepdim=False: norm(x, ord, dim, keepdim),
        summed=("x",),
    ),
    "amax": Entry(
        rf"\max{_OVER} <input.> || \max <input.>",
        PREFIX,
        lambda input, dim=None, keepdim=False: np.max(input, axis=axes_of(dim), keepdims=keepdim),
    ),
    "amin": Entry(
        rf"\min{_OVER} <input.> || \min <input.>",
        PREFIX,
        lambda input, dim=None, keepdim=False: np.min(input, axis=axes_of(dim), keepdims=keepdim),
    ),
    "max": Entry(
        rf"\max{_OVER} <input.> || \max(<input>, <dim:tensor>) || \max(<input>, <other>) || \max <input.>",
        PREFIX,
        _extreme(np.max, np.argmax, np.maximum),
        compare=same_extreme,
    ),
    "min": Entry(
        rf"\min{_OVER} <input.> || \min(<input>, <dim:tensor>) || \min(<input>, <other>) || \min <input.>",
        PREFIX,
        _extreme(np.min, np.argmin, np.minimum),
        compare=same_extreme,
    ),
    "argmax": Entry(rf"\arg\max{_OVER} <input.> || \arg\max <input.>", PREFIX, _place(np.argmax), compare=same_place),
    "argmin": Entry(rf"\arg\min{_OVER} <input.> || \arg\min <input.>", PREFIX, _place(np.argmin), compare=same_place),
    "any": Entry(rf"\bigvee{_OVER} <input*> || \bigvee <input*>", MATRIX, _truth(np.any)),
    "all": Entry(rf"\bigwedge{_OVER} <input*> || \bigwedge <input*>", MATRIX, _truth(np.all)),
    "count_nonzero": Entry(
        rf"\sum{_OVER} [<input> \ne 0] || \sum [<input> \ne 0]",
        MATRIX,
        lambda input, dim=None: np.count_nonzero(input, axis=axes_of(dim)),
    ),
    "logsumexp": Entry(rf"\ln \sum{_OVER} e^{{<input>}}", PREFIX, logsumexp, summed=("input",)),
    "cumsum": Entry(
        r"\operatorname{cumsum}_{<dim:axis>}(<input>)",
        PREFIX,
        _running(np.cumsum),
        definition=r"{<result>}_n = \sum_{m \le n} {<input>}_m \quad\text{along } <dim:axis>",
        summed=("input",),
    ),
    "cumprod": Entry(
        r"\operatorname{cumprod}_{<dim:axis>}(<input>)",
        PREFIX,
        _running(np.cumprod),
        definition=r"{<result>}_n = \prod_{m \le n} {<input>}_m \quad\text{along } <dim:axis>",
    ),
    "logcumsumexp": Entry(
        r"\ln \operatorname{cumsum}_{<dim:axis>}(e^{<input>})",
        PREFIX,
        lambda input, dim: np.logaddexp.accumulate(input, axis=dim),
        summed=("input",),
    ),
    "bincount": Entry(
        r"\operatorname{bincount}(<input>)",
        PREFIX,
        lambda input, weights=None, minlength=0: np.bincount(input, weights, minlength),
        definition=r"{<result>}_n = \sum [<input> = n]",
    ),
    "histc": Entry(
        r"\operatorname{histogram}(<input>)",
        PREFIX,
        lambda input, bins=100, min=0, max=0: np.histogram(
            input, bins, (min, max) if min != max else (float(np.min(input)), float(np.max(input)))
        )[0].astype(np.float64),
    ),
    "trace": Entry(r"\operatorname{tr} <input.>", PREFIX, np.trace, summed=("input",)),
    "diff": Entry(
        r"\Delta_{<dim:axis>} <input.> || \Delta <input.>",
        PREFIX,
        lambda input, n=1, dim=-1: np.diff(input, n, axis=dim),
    ),
}
