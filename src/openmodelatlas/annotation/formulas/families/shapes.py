"""Shapes and types: nothing is computed."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from openmodelatlas.annotation.formulas.entry import ATOM, PREFIX, Dtype, Entry, UnavailableError
from openmodelatlas.annotation.formulas.families.numeric import Array, cast, dtype_among, flat, is_array, need, pieces


def view(input: Any, shape: Any) -> Array:
    """The same elements in row-major order under another shape."""
    need(not isinstance(shape, Dtype), "it reads the bytes as another type")
    return np.reshape(input, flat(shape))


def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Array:
    """Axes joined into one."""
    rank = max(input.ndim, 1)
    first, last = start_dim % rank, end_dim % rank
    shape = input.shape or (1,)
    return np.reshape(input, (*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :]))


def unflatten(input: Any, dim: int, sizes: Any) -> Array:
    """One axis split into several."""
    dim %= input.ndim
    return np.reshape(input, (*input.shape[:dim], *flat(sizes), *input.shape[dim + 1 :]))


def expand(input: Any, sizes: Any) -> Array:
    """Repeated along axes of size 1; -1 keeps a size."""
    wanted = flat(sizes)
    new = len(wanted) - input.ndim
    shape = tuple(input.shape[i - new] if size == -1 else size for i, size in enumerate(wanted))
    return np.broadcast_to(input, shape)


def squeeze(input: Any, dim: Any = None) -> Any:
    """Without axes of size 1; those that are named but longer stay."""
    if dim is None:
        return np.squeeze(input)
    named = {axis % max(input.ndim, 1) for axis in flat(dim)}
    return np.squeeze(input, axis=tuple(axis for axis in named if input.ndim and input.shape[axis] == 1))


def unsqueeze(input: Any, dim: int) -> Array:
    """A new axis of size 1."""
    return np.expand_dims(input, dim % (np.ndim(input) + 1))


def repeat(input: Any, repeats: Any) -> Array:
    """Repeated along all axes."""
    times = flat(repeats)
    return np.tile(np.reshape(input, (1,) * (len(times) - input.ndim) + input.shape), times)


def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Array, ...]:
    """Cut into parts of one size (the last may be shorter) or of given sizes."""
    length = tensor.shape[dim]
    if isinstance(split_size_or_sections, list | tuple):
        return pieces(tensor, flat(split_size_or_sections), dim)
    size = int(split_size_or_sections)
    return pieces(tensor, [min(size, length - start) for start in range(0, length, size)] or [0], dim)


def chunk(input: Any, chunks: int, dim: int = 0) -> tuple[Array, ...]:
    """Cut into at most ``chunks`` parts, all as long as the first but the last."""
    return split(input, max(-(-input.shape[dim] // chunks), 1), dim)


def tensor_split(input: Any, indices_or_sections: Any, dim: int = 0) -> tuple[Array, ...]:
    """Cut into nearly equal parts, or before the given places."""
    cuts = indices_or_sections if isinstance(indices_or_sections, int) else list(flat(indices_or_sections))
    return tuple(np.array_split(input, cuts, axis=dim))


def unbind(input: Any, dim: int = 0) -> tuple[Array, ...]:
    """The slices along one axis."""
    return tuple(np.moveaxis(input, dim, 0))


def unfold(input: Any, dimension: int, size: int, step: int) -> Array:
    """Overlapping windows along one axis, put last."""
    windows = np.lib.stride_tricks.sliding_window_view(input, size, axis=dimension)
    return np.asarray(windows[(slice(None),) * (dimension % input.ndim) + (slice(None, None, step),)])


_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}


def pad(input: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    """Elements added at the edges, or taken away where a number is negative; pairs begin with the last axis."""
    sizes = flat(pad)
    pairs = [(0, 0)] * (input.ndim - len(sizes) // 2)
    pairs += [(sizes[i], sizes[i + 1]) for i in range(len(sizes) - 2, -1, -2)]
    cut = tuple(slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(pairs, input.shape, strict=True))
    grown = [(max(a, 0), max(b, 0)) for a, b in pairs]
    if mode == "constant":
        return np.pad(input[cut], grown, constant_values=0 if value is None else value)
    need(mode in _MODES, f"the table does not know the mode {mode}")
    return np.pad(input[cut], grown, mode=_MODES[mode])  # type: ignore[call-overload]


def to(input: Any, *given: Any, **named: Any) -> Any:
    """Converted to the type that is given, if one is."""
    return cast(input, dtype_among([*given, *named.values()]))


def _to(input: Any, dtype: Any = None, **others: Any) -> Any:
    return to(input, dtype, *others.values())


def _type_as(input: Any, other: Any) -> Any:
    return to(input, other)


def _cat(tensors: Any, dim: int = 0) -> Array:
    joined = [x for x in tensors if not (x.ndim == 1 and x.size == 0)] or list(tensors)[:1]
    return np.concatenate(joined, axis=dim)


def _list(tensors: Any) -> list[Any]:
    return list(tensors) if isinstance(tensors, list | tuple) else [tensors]


def _complex(input: Any) -> Array:
    return np.asarray(input[..., 0] + 1j * input[..., 1])


def _pairs(input: Any) -> Array:
    return np.stack([np.real(input), np.imag(input)], axis=-1)


def _as_strided(input: Any, size: Any, stride: Any, storage_offset: int = 0) -> Any:
    raise UnavailableError("it reads memory by strides, which are not recorded")


def _permute(input: Any, dims: Any) -> Array:
    return np.transpose(input, [axis % input.ndim for axis in flat(dims)])


def _named(name: str, arguments: str = "<input>") -> str:
    return rf"\operatorname{{{name}}}({arguments})"


def _cast(dtype: str) -> Entry:
    return Entry(rf"\operatorname{{{dtype}}}(<input>)", PREFIX, lambda input: cast(input, dtype))


_SAME = Entry(r"<input>", ATOM, lambda input: input)

ENTRIES: dict[str, Entry] = {
    "view": Entry(_named("reshape", r"<input>;\ <shape:list>"), PREFIX, view),
    "reshape": Entry(_named("reshape", r"<input>;\ <shape:list>"), PREFIX, view),
    "reshape_as": Entry(
        _named("reshape", r"<input>;\ \operatorname{shape}(<other>)"),
        PREFIX,
        lambda input, other: np.reshape(input, other.shape),
    ),
    "flatten": Entry(_named("flatten"), PREFIX, flatten),
    "ravel": Entry(_named("flatten"), PREFIX, lambda input: np.reshape(input, -1)),
    "unflatten": Entry(_named("reshape", r"<input>;\ \ldots, <sizes:list>"), PREFIX, unflatten),
    "transpose": Entry(
        r"<input^>^{\top<dim0:swap>} || \operatorname{transpose}_{<dim0:axis>,\, <dim1:axis>}(<input>)",
        PREFIX,
        lambda input, dim0, dim1: np.swapaxes(input, dim0, dim1),
    ),
    "transpose_matrix": Entry(
        r"<input^>^{\top}", PREFIX, lambda input: np.swapaxes(input, -1, -2) if input.ndim > 1 else input
    ),
    "conjugate_transpose": Entry(r"<input^>^{*}", PREFIX, lambda input: np.conj(np.swapaxes(input, -1, -2))),
    "permute": Entry(_named("permute", r"<input>;\ <dims:list>"), PREFIX, _permute),
    "movedim": Entry(
        _named("movedim", r"<input>;\ <source:list> \to <destination:list>"),
        PREFIX,
        lambda input, source, destination: np.moveaxis(input, flat(source), flat(destination)),
    ),
    "squeeze": Entry(
        r"\operatorname{squeeze}(<input>;\ <dim>) || \operatorname{squeeze}(<input>)",
        PREFIX,
        squeeze,
    ),
    "unsqueeze": Entry(_named("unsqueeze", r"<input>;\ <dim>"), PREFIX, unsqueeze),
    "expand": Entry(_named("expand", r"<input>;\ <sizes:list>"), PREFIX, expand),
    "expand_as": Entry(
        _named("expand", r"<input>;\ \operatorname{shape}(<other>)"),
        PREFIX,
        lambda input, other: np.broadcast_to(input, other.shape),
    ),
    "broadcast_to": Entry(_named("expand", r"<input>;\ <size:list>"), PREFIX, lambda input, size: expand(input, size)),
    "broadcast_tensors": Entry(
        _named("broadcast", "<tensors:list>"), PREFIX, lambda tensors: tuple(np.broadcast_arrays(*_list(tensors)))
    ),
    "repeat": Entry(_named("repeat", r"<input>;\ <repeats:list>"), PREFIX, repeat),
    "tile": Entry(_named("repeat", r"<input>;\ <dims:list>"), PREFIX, lambda input, dims: np.tile(input, flat(dims))),
    "repeat_interleave": Entry(
        _named(r"repeat\_each", r"<input>;\ <repeats>"),
        PREFIX,
        lambda input, repeats, dim=None, output_size=None: np.repeat(input, repeats, axis=dim),
    ),
    "flip": Entry(_named("flip", r"<input>;\ <dims:list>"), PREFIX, lambda input, dims: np.flip(input, flat(dims))),
    "fliplr": Entry(_named("flip"), PREFIX, np.fliplr),
    "roll": Entry(
        _named("roll", r"<input>;\ <shifts:list>"),
        PREFIX,
        lambda input, shifts, dims=None: np.roll(
            input, shifts, axis=None if dims is None else flat(dims) if isinstance(dims, list | tuple) else dims
        ),
    ),
    "rot90": Entry(
        _named("rot90"),
        PREFIX,
        lambda input, k=1, dims=(0, 1): np.rot90(input, k, tuple(flat(dims))),  # type: ignore[arg-type]
    ),
    "cat": Entry(r"[<tensors:parts>]_{<dim:axis>} || [<tensors:parts>]", ATOM, _cat),
    "stack": Entry(
        _named("stack", "<tensors:parts>"), PREFIX, lambda tensors, dim=0: np.stack(_list(tensors), axis=dim)
    ),
    "hstack": Entry(r"[<tensors:parts>]", ATOM, lambda tensors: np.hstack(tensors)),
    "vstack": Entry(r"[<tensors:parts>]", ATOM, lambda tensors: np.vstack(tensors)),
    "split": Entry(
        r"\operatorname{split}_{<dim:axis>}(<tensor>;\ <split_size_or_sections:list>) || "
        r"\operatorname{split}(<tensor>;\ <split_size_or_sections:list>)",
        PREFIX,
        split,
    ),
    "split_with_sizes": Entry(
        r"\operatorname{split}_{<dim:axis>}(<tensor>;\ <split_sizes:list>)",
        PREFIX,
        lambda tensor, split_sizes, dim=0: split(tensor, list(flat(split_sizes)), dim),
    ),
    "chunk": Entry(
        r"\operatorname{split}_{<dim:axis>}(<input>;\ <chunks> \text{ parts}) || "
        r"\operatorname{split}(<input>;\ <chunks> \text{ parts})",
        PREFIX,
        chunk,
    ),
    "tensor_split": Entry(_named("split", r"<input>;\ <indices_or_sections:list>"), PREFIX, tensor_split),
    "unbind": Entry(r"\operatorname{slices}_{<dim:axis>}(<input>) || \operatorname{slices}(<input>)", PREFIX, unbind),
    "unfold": Entry(_named("windows", r"<input>;\ <size>, <step>"), PREFIX, unfold),
    "pad": Entry(
        _named("pad", r"<input>;\ <pad:list>;\ <value>") + " || " + _named("pad", r"<input>;\ <pad:list>"), PREFIX, pad
    ),
    "diagonal": Entry(
        r"\operatorname{diag}(<input>)",
        PREFIX,
        lambda input, offset=0, dim1=0, dim2=1: np.diagonal(input, offset, dim1, dim2),
    ),
    "diag": Entry(r"\operatorname{diag}(<input>)", PREFIX, lambda input, diagonal=0: np.diag(input, diagonal)),
    "diag_embed": Entry(
        r"\operatorname{diag}(<input>)",
        PREFIX,
        lambda input: input[..., None] * np.eye(input.shape[-1], dtype=input.dtype),
    ),
    "as_strided": Entry(_named(r"as\_strided"), PREFIX, _as_strided),
    "contiguous": _SAME,
    "clone": _SAME,
    "detach": _SAME,
    "resolve_conj": _SAME,
    "cpu": _SAME,
    "cuda": _SAME,
    "numpy": _SAME,
    "requires_grad": _SAME,
    "data": _SAME,
    "to": Entry(r"\operatorname{<dtype:type>}(<input>) || <input>", PREFIX, _to),
    "type_as": Entry(r"\operatorname{as}_{<other>}(<input>)", PREFIX, _type_as),
    "float": _cast("float32"),
    "double": _cast("float64"),
    "half": _cast("float16"),
    "bfloat16": _cast("bfloat16"),
    "int": _cast("int32"),
    "long": _cast("int64"),
    "short": _cast("int16"),
    "byte": _cast("uint8"),
    "bool": _cast("bool"),
    "view_as_complex": Entry(r"{<input>}_{\ldots 1} + i\, {<input>}_{\ldots 2}", PREFIX, _complex),
    "view_as_real": Entry(r"(\operatorname{Re} <input>, \operatorname{Im} <input>)", ATOM, _pairs),
    "meshgrid": Entry(
        _named("grid", "<tensors:list>"),
        PREFIX,
        lambda tensors, indexing="ij": tuple(np.meshgrid(*_list(tensors), indexing=indexing)),
    ),
    "atleast_1d": Entry(r"<input>", ATOM, np.atleast_1d),
    "atleast_2d": Entry(r"<input>", ATOM, np.atleast_2d),
    "truth": Entry(r"[<input> \ne 0]", ATOM, lambda input: bool(np.asarray(input).reshape(-1)[0])),
    "item": Entry(r"<input>", ATOM, lambda input: np.asarray(input).reshape(-1)[0]),
    "tolist": Entry(r"<input>", ATOM, lambda input: input if is_array(input) else np.asarray(input)),
}
