"""What torch functions whose result depends on values do on the meta device, where there are no values."""

from __future__ import annotations

from typing import Any

import torch

from openmodelatlas.errors import CaptureError

_ROWS_OF_INDICES = frozenset({"nonzero", "argwhere"})
_READERS = frozenset({"item", "tolist", "numpy", "__array__", "__bool__", "__int__", "__float__", "__index__", "equal"})
_UNKNOWN_SIZE = frozenset({"unique", "unique_consecutive", "bincount", "repeat_interleave"})
_DEPENDENT = _ROWS_OF_INDICES | _READERS | _UNKNOWN_SIZE | {"where", "masked_select", "__getitem__"}


class ValueNeededError(CaptureError):
    """The code needs a value, and the run at true size has none."""


def valueless_result(short: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a value-dependent function on meta tensors, ``None`` if the function can run as it is.

    Index functions find nothing: zero rows of the right rank, int64; nothing has no different values, and is an empty
    list. What needs a number raises.

    Args:
        short: last part of the function's name, such as ``nonzero``.
        name: the whole name, for the message.
        args, kwargs: what the function is called with.

    Raises:
        ValueNeededError: for a function that reads an element or whose result has a size nobody can know.
    """
    if short not in _DEPENDENT:
        return None
    first = args[0] if args else kwargs.get("input", kwargs.get("condition"))
    if not isinstance(first, torch.Tensor) or not first.is_meta:
        return None
    if short in _ROWS_OF_INDICES:
        as_tuple = bool(kwargs.get("as_tuple", False))
        return _indices(first) if as_tuple else first.new_empty((0, first.dim()), dtype=torch.int64)
    if short == "where" and len(args) + len(kwargs) == 1:
        return _indices(first)
    if short == "masked_select":
        return first.new_empty((0,))
    if short == "__getitem__":
        return _masked(first, args[1])
    if short == "unique" and not any(kwargs.get(name) for name in ("return_inverse", "return_counts", "dim")):
        return first.new_empty((0,))
    if short == "tolist" and first.shape == (0,):
        return []
    if short in _READERS or (short in _UNKNOWN_SIZE and not _size_is_known(short, args, kwargs)):
        raise ValueNeededError(
            f"{name} needs values, and the run at the published sizes has none (meta device).",
            advice="Shapes at the published sizes come from the solved expressions instead.",
        )
    return None


def _size_is_known(short: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    if short != "repeat_interleave":
        return False
    repeats = args[1] if len(args) > 1 else kwargs.get("repeats")
    return isinstance(repeats, int) or kwargs.get("output_size") is not None


def _indices(tensor: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return tuple(tensor.new_empty((0,), dtype=torch.int64) for _ in range(max(tensor.dim(), 1)))


def _is_mask(part: Any) -> bool:
    return isinstance(part, torch.Tensor) and part.dtype == torch.bool and part.dim() > 0


def _masked(tensor: torch.Tensor, index: Any) -> torch.Tensor | None:
    """``tensor[index]`` where boolean masks in ``index`` select nothing, ``None`` if there is no mask."""
    parts = index if isinstance(index, tuple) else (index,)
    if not any(_is_mask(part) for part in parts):
        return None
    replaced: list[Any] = []
    for part in parts:
        if _is_mask(part):
            replaced.extend(_indices(part))
        else:
            replaced.append(part)
    return tensor[tuple(replaced)]
