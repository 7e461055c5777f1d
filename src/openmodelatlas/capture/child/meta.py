"""What value-dependent functions give on the meta device, where there are no values: nothing is selected."""

from __future__ import annotations

from typing import Any

import torch


def meta_result(short: str, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Result of a value-dependent function on a meta tensor, ``None`` for every other call.

    ``nonzero``, ``argwhere``, ``where(condition)``, ``masked_select`` and indexing with a mask give results of the
    right rank with zero rows. Whatever asks for a value itself (``item``, ``tolist``, ``numpy``, ``bool``) is left to
    torch, which raises.

    Args:
        short: last part of the function's name, ``nonzero``.
        name: the whole name, ``torch.nonzero``.
        args, kwargs: of the call.
    """
    subject = args[0] if args else kwargs.get("input", kwargs.get("condition"))
    if not isinstance(subject, torch.Tensor) or not subject.is_meta:
        return None
    if short in ("nonzero", "argwhere"):
        return _nothing(subject, as_tuple=bool(kwargs.get("as_tuple", False)))
    if short == "where" and len(args) + len(kwargs) == 1:
        return _nothing(subject, as_tuple=True)
    if short == "masked_select":
        return subject.new_empty((0,))
    if short == "__getitem__" and any(_is_mask(part) for part in _parts(args[1])):
        return subject[_without_masks(args[1])]
    return None


def _nothing(subject: torch.Tensor, *, as_tuple: bool) -> Any:
    if as_tuple:
        return tuple(torch.empty((0,), dtype=torch.int64, device="meta") for _ in range(max(subject.dim(), 1)))
    return torch.empty((0, subject.dim()), dtype=torch.int64, device="meta")


def _parts(index: Any) -> tuple[Any, ...]:
    return index if isinstance(index, tuple) else (index,)


def _is_mask(part: Any) -> bool:
    return isinstance(part, torch.Tensor) and part.dtype is torch.bool and part.dim() > 0


def _without_masks(index: Any) -> tuple[Any, ...]:
    """The same index with every mask replaced by as many empty index tensors as it has axes."""
    result: list[Any] = []
    for part in _parts(index):
        if _is_mask(part):
            result.extend(torch.empty((0,), dtype=torch.int64, device="meta") for _ in range(part.dim()))
        else:
            result.append(part)
    return tuple(result)
