"""Parts of tensors: taking them, writing them, ordering them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from openmodelatlas.annotation.formulas.entry import ATOM, PREFIX, Entry, Pairs
from openmodelatlas.annotation.formulas.families.numeric import Array, need


def index_of(index: Any) -> Any:
    """An index as NumPy takes it: lists of tensors, slices and numbers become tuples."""
    if isinstance(index, list):
        plain = all(isinstance(item, int | bool) for item in index)
        return np.asarray(index) if plain and index else tuple(index_of(item) for item in index)
    return index


def getitem(input: Any, index: Any) -> Array:
    """A part of a tensor; ``index`` is what stands in the brackets, as a list where commas separate it."""
    return np.asarray(input[_tuple(index)])


def setitem(input: Any, index: Any, value: Any) -> Array:
    """The tensor with a part overwritten."""
    result = np.array(input)
    result[_tuple(index)] = value
    return result


def _tuple(index: Any) -> Any:
    return tuple(index_of(item) for item in index) if isinstance(index, list) else index


def along(input: Any, dim: int, index: Any) -> tuple[Any, ...]:
    """Coordinates of the places that ``index`` names along ``dim``."""
    grid = list(np.ix_(*(range(size) for size in index.shape))) if index.ndim else []
    if grid:
        grid[dim % max(index.ndim, 1)] = index
    return tuple(grid)


def gather(input: Any, dim: int, index: Any) -> Array:
    """At every place of ``index``, the value that it names along ``dim``."""
    return np.asarray(input[along(input, dim, index)])


def scatter(input: Any, dim: int, index: Any, src: Any = None, value: Any = None, reduce: Any = None) -> Array:
    """Values put (or added, or multiplied) at the places that ``index`` names along ``dim``."""
    given = src if src is not None else value
    need(given is not None, "what it writes was not recorded")
    result = np.array(input)
    if isinstance(given, np.ndarray) and given.ndim:
        given = given[tuple(slice(size) for size in index.shape)]
    places = along(input, dim, index)
    operation = {
        None: None,
        "add": np.add,
        "sum": np.add,
        "multiply": np.multiply,
        "prod": np.multiply,
        "amax": np.maximum,
        "amin": np.minimum,
    }
    need(reduce in operation, f"the table does not know the reduction {reduce}")
    if reduce is None:
        result[places] = given
    else:
        operation[reduce].at(result, places, given)  # type: ignore[union-attr]
    return result


def scatter_add(input: Any, dim: int, index: Any, src: Any) -> Array:
    """Values added at the places that ``index`` names along ``dim``."""
    return scatter(input, dim, index, src, reduce="add")


def _slices(input: Any, dim: int, index: Any) -> Any:
    return (slice(None),) * (dim % input.ndim) + (index,)


def index_add(input: Any, dim: int, index: Any, source: Any, alpha: Any = 1) -> Array:
    """Slices added at the places that ``index`` names along ``dim``."""
    result = np.array(input)
    np.add.at(result, _slices(input, dim, index), source if alpha == 1 else alpha * source)
    return result


def index_put(input: Any, indices: Any, values: Any, accumulate: bool = False) -> Array:
    """Values put or added at the places that ``indices`` name."""
    result = np.array(input)
    places: Any = tuple(slice(None) if index is None else index for index in indices)
    if accumulate:
        np.add.at(result, places, values)
    else:
        result[places] = values
    return result


def _written(input: Any, dim: int, index: Any, value: Any) -> Array:
    result = np.array(input)
    result[_slices(input, dim, index)] = value
    return result


def where(condition: Any, input: Any = None, other: Any = None) -> Any:
    """A choice between two inputs, or the places of what is true, one list an axis."""
    return np.nonzero(condition) if input is None else np.where(condition, input, other)


def nonzero(input: Any, as_tuple: bool = False) -> Any:
    """The places of all elements that are not 0, one row each."""
    places = np.nonzero(input)
    return places if as_tuple else np.stack(places, axis=-1)


def _masked_select(input: Any, mask: Any) -> Array:
    shape = np.broadcast_shapes(np.shape(input), np.shape(mask))
    return np.asarray(np.broadcast_to(input, shape)[np.broadcast_to(mask, shape)])


def masked_scatter(input: Any, mask: Any, source: Any) -> Array:
    """Values put, in order, wherever a mask is true."""
    result = np.array(input)
    chosen = np.broadcast_to(mask, result.shape)
    result[chosen] = np.reshape(source, -1)[: int(np.sum(chosen))]
    return result


# Order ----------------------------------------------------------------------------------------------------------------


def topk(input: Any, k: int, dim: int = -1, largest: bool = True, sorted: bool = True) -> tuple[Array, Array]:
    """The ``k`` largest (or smallest) values along an axis, best first, and their places."""
    values, places = sort(input, dim, descending=largest)
    first = (slice(None),) * (dim % max(input.ndim, 1)) + (slice(k),)
    return values[first], places[first]


def sort(input: Any, dim: int = -1, descending: bool = False, stable: bool = True) -> tuple[Array, Array]:
    """The values along an axis in order, and where each came from; equal ones stay in their order."""
    keys = -input if descending and input.dtype.kind != "b" else ~input if descending else input
    places = np.argsort(keys, axis=dim, kind="stable")
    return np.take_along_axis(input, places, axis=dim), places


def same_order(named: Mapping[str, Any], ours: Any, captured: list[Array]) -> Pairs:
    """Values one by one (in any order where torch leaves it open); places by what lies there, each named once.

    Torch does not say in which order equal values come, nor any order for ``sorted=False``.
    """
    dim = named.get("dim", -1)
    pairs: Pairs = []
    values = captured[0]
    if named.get("sorted", True):
        pairs.append((ours[0], values))
    else:
        pairs.append((np.sort(ours[0], axis=dim), np.sort(values, axis=dim)))
    if len(captured) > 1:
        places = captured[1]
        pairs.append((np.take_along_axis(named["input"], places, axis=dim), values))
        pairs.append((_repeated(places, dim), 0))
    return pairs


def _repeated(places: Array, dim: int) -> int:
    """How many places are named more than once along an axis."""
    return int(np.sum(np.diff(np.sort(places, axis=dim), axis=dim) == 0))


def _same_argsort(named: Mapping[str, Any], ours: Any, captured: list[Array]) -> Pairs:
    dim, places = named.get("dim", -1), captured[0]
    ordered = np.take_along_axis(named["input"], np.asarray(ours), axis=dim)
    return [(ordered, np.take_along_axis(named["input"], places, axis=dim)), (_repeated(places, dim), 0)]


def _kthvalue(input: Any, k: int, dim: int = -1, keepdim: bool = False) -> tuple[Array, Array]:
    values, places = sort(input, dim)
    pick = [np.take(part, [k - 1], axis=dim) for part in (values, places)]
    return (pick[0], pick[1]) if keepdim else (np.squeeze(pick[0], axis=dim), np.squeeze(pick[1], axis=dim))


def _median(input: Any, dim: Any = None, keepdim: bool = False) -> Any:
    if dim is None:
        return np.sort(input, axis=None)[(input.size - 1) // 2]
    return _kthvalue(input, (input.shape[dim] - 1) // 2 + 1, dim, keepdim)


def _first(named: Mapping[str, Any], ours: Any, captured: list[Array]) -> Pairs:
    return [(ours[0] if isinstance(ours, tuple) else ours, captured[0])]


def unique(
    input: Any, sorted: bool = True, return_inverse: bool = False, return_counts: bool = False, dim: Any = None
) -> Any:
    """The different values in ascending order, with where each element went and how often each occurs if asked for."""
    find: Any = np.unique
    found = find(input, return_inverse=return_inverse, return_counts=return_counts, axis=dim)
    if not return_inverse and not return_counts:
        return found
    parts = list(found)
    if return_inverse and dim is None:
        parts[1] = np.reshape(parts[1], np.shape(input))
    return tuple(parts)


def embedding(
    input: Any,
    weight: Any,
    padding_idx: Any = None,
    max_norm: Any = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Array:
    """One row of the weight matrix for every index."""
    need(max_norm is None, "it rescales the rows that it reads")
    return np.asarray(weight[input])


def one_hot(tensor: Any, num_classes: int = -1) -> Array:
    """A row of zeros with a single 1 for every number."""
    size = num_classes if num_classes >= 0 else int(np.max(tensor)) + 1
    return np.asarray(np.asarray(tensor)[..., None] == np.arange(size), dtype=np.int64)


def _triangle(function: Any) -> Any:
    return lambda input, diagonal=0: function(input, diagonal)


def _narrow(input: Any, dim: int, start: int, length: int) -> Array:
    return np.asarray(input[_slices(input, dim, slice(start, start + length))])


ENTRIES: dict[str, Entry] = {
    "getitem": Entry(r"<input.>[<index:index>]", ATOM, getitem),
    "setitem": Entry(r"<result>[<index:index>] = <value>", ATOM, setitem),
    "select": Entry(
        r"<input.>[<dim:axis> = <index>] || <input.>[<index>]",
        ATOM,
        lambda input, dim, index: np.take(input, index, axis=dim),
    ),
    "narrow": Entry(r"<input.>[<dim:axis> \ge <start>,\ <length>]", ATOM, _narrow),
    "take": Entry(r"<input.>[<index>]", ATOM, lambda input, index: np.take(input, index)),
    "gather": Entry(
        r"\operatorname{gather}_{<dim:axis>}(<input>, <index>)",
        PREFIX,
        gather,
        definition=r"<result>[\ldots, i] = <input.>[\ldots, <index>[\ldots, i]] \quad\text{along } <dim:axis>",
    ),
    "take_along_dim": Entry(
        r"\operatorname{gather}_{<dim:axis>}(<input>, <indices>)",
        PREFIX,
        lambda input, indices, dim=None: np.take_along_axis(input, indices, axis=dim),
    ),
    "index_select": Entry(
        r"<input.>[<dim:axis> = <index>]", ATOM, lambda input, dim, index: np.take(input, index, axis=dim)
    ),
    "index_add": Entry(
        r"\operatorname{index\_add}_{<dim:axis>}(<input>, <index>, <source>)",
        PREFIX,
        index_add,
        definition=r"<result>[i] = <input>[i] + \sum_{j:\ <index>[j] = i} <source>[j] \quad\text{along } <dim:axis>",
        summed=("source",),
    ),
    "index_copy": Entry(
        r"<result>[<dim:axis> = <index>] = <source>",
        ATOM,
        lambda input, dim, index, source: _written(input, dim, index, source),
    ),
    "index_fill": Entry(
        r"<result>[<dim:axis> = <index>] = <value>",
        ATOM,
        lambda input, dim, index, value: _written(input, dim, index, value),
    ),
    "index_put": Entry(r"<result>[<indices:list>] = <values>", ATOM, index_put),
    "scatter": Entry(
        r"\operatorname{scatter}_{<dim:axis>}(<input>, <index>, <src>) || "
        r"\operatorname{scatter}_{<dim:axis>}(<input>, <index>, <value>)",
        PREFIX,
        scatter,
        definition=r"<result>[\ldots, <index>] = <src> \quad\text{along } <dim:axis>,\quad\text{else } <input> || "
        r"<result>[\ldots, <index>] = <value> \quad\text{along } <dim:axis>,\quad\text{else } <input>",
    ),
    "scatter_add": Entry(
        r"\operatorname{scatter\_add}_{<dim:axis>}(<input>, <index>, <src>)", PREFIX, scatter_add, summed=("src",)
    ),
    "scatter_reduce": Entry(
        r"\operatorname{scatter\_reduce}_{<dim:axis>}(<input>, <index>, <src>)",
        PREFIX,
        lambda input, dim, index, src, reduce, include_self=True: scatter(input, dim, index, src, reduce=reduce),
        summed=("src",),
    ),
    "where": Entry(
        r"\begin{cases} <input> & \text{where } <condition> \\ <other> & \text{elsewhere} \end{cases} || "
        r"\{\,i : {<condition>}_i\,\}",
        ATOM,
        where,
    ),
    "nonzero": Entry(r"\{\,i : {<input>}_i \ne 0\,\}", ATOM, nonzero),
    "argwhere": Entry(r"\{\,i : {<input>}_i \ne 0\,\}", ATOM, nonzero),
    "masked_fill": Entry(
        r"\begin{cases} <value> & \text{where } <mask> \\ <input> & \text{elsewhere} \end{cases}",
        ATOM,
        lambda input, mask, value: np.where(mask, value, input),
    ),
    "masked_select": Entry(r"<input.>[<mask>]", ATOM, _masked_select),
    "masked_scatter": Entry(
        r"\begin{cases} <source> & \text{where } <mask> \\ <input> & \text{elsewhere} \end{cases}", ATOM, masked_scatter
    ),
    "topk": Entry(
        r"\operatorname{top}_{<k>}(<input>) || \operatorname{top}(<input>)", PREFIX, topk, compare=same_order
    ),
    "sort": Entry(
        r"\operatorname{sort}_{<dim:axis>}(<input>) || \operatorname{sort}(<input>)", PREFIX, sort, compare=same_order
    ),
    "argsort": Entry(
        r"\operatorname{argsort}_{<dim:axis>}(<input>) || \operatorname{argsort}(<input>)",
        PREFIX,
        lambda input, dim=-1, descending=False, stable=True: sort(input, dim, descending)[1],
        compare=_same_argsort,
    ),
    "kthvalue": Entry(r"\operatorname{sort}(<input>)[<k>]", PREFIX, _kthvalue, compare=_first),
    "median": Entry(r"\operatorname{median}(<input>)", PREFIX, _median, compare=_first),
    "searchsorted": Entry(
        r"\#\{\,i : {<sorted_sequence>}_i \lt <input>\,\}",
        ATOM,
        lambda sorted_sequence, input, right=False, side=None, out_int32=False: np.searchsorted(
            sorted_sequence, input, "right" if right or side == "right" else "left"
        ),
    ),
    "bucketize": Entry(
        r"\#\{\,i : {<boundaries>}_i \lt <input>\,\}",
        ATOM,
        lambda input, boundaries, right=False, out_int32=False: np.searchsorted(
            boundaries, input, "right" if right else "left"
        ),
    ),
    "unique": Entry(r"\operatorname{unique}(<input>)", PREFIX, unique),
    "unique_consecutive": Entry(
        r"\operatorname{unique\_consecutive}(<input>)",
        PREFIX,
        lambda input: input[np.concatenate([[True], input[1:] != input[:-1]])] if input.size else input,
    ),
    "embedding": Entry(r"<weight.>[<input>]", ATOM, embedding),
    "one_hot": Entry(
        r"\operatorname{one\_hot}(<tensor>)",
        PREFIX,
        one_hot,
        definition=r"[<tensor> = j]_{j \lt <num_classes>} || [<tensor> = j]_j",
    ),
    "tril": Entry(
        r"\operatorname{tril}_{<diagonal>}(<input>) || \operatorname{tril}(<input>)",
        PREFIX,
        _triangle(np.tril),
        definition=r"\begin{cases} {<input>}_{ij} & j \le i<diagonal:offset> \\ 0 & \text{else} \end{cases} || "
        r"\begin{cases} {<input>}_{ij} & j \le i \\ 0 & \text{else} \end{cases}",
    ),
    "triu": Entry(
        r"\operatorname{triu}_{<diagonal>}(<input>) || \operatorname{triu}(<input>)",
        PREFIX,
        _triangle(np.triu),
        definition=r"\begin{cases} {<input>}_{ij} & j \ge i<diagonal:offset> \\ 0 & \text{else} \end{cases} || "
        r"\begin{cases} {<input>}_{ij} & j \ge i \\ 0 & \text{else} \end{cases}",
    ),
    "copy": Entry(r"<src>", ATOM, lambda input, src: np.array(np.broadcast_to(src, input.shape))),
}
