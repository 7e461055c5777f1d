"""Values that are no tensors, as the recording's JSON (rules in :mod:`openmodelatlas.capture.recording`)."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn

LONGEST_LIST = 64
"""Items of a list without tensors that are written down; longer ones become ``{"list": […], "length": n}``."""

DEEPEST = 6
"""Levels of containers that are followed."""

LARGEST_INTEGER = 2**63

TENSORS = frozenset({torch.Tensor, nn.Parameter})
"""Types of nearly every tensor."""

_PLAIN = frozenset({bool, str, type(None)})


def dtype_name(dtype: torch.dtype) -> str:
    """``float32`` for ``torch.float32``."""
    return str(dtype).removeprefix("torch.")


def type_name(value: object) -> str:
    """Qualified name of the value's type, ``transformers.cache_utils.DynamicCache``."""
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def is_cache(value: object) -> bool:
    """Whether ``value`` holds the tensors of a cache: key and value lists, or layers that hold them."""
    return hasattr(value, "__dict__") and (
        "Cache" in type(value).__name__
        or any(name in value.__dict__ for name in ("key_cache", "value_cache", "conv_states", "recurrent_states"))
    )


class Encoder:
    """Encodes values, numbering the tensors in them.

    Attributes:
        number: gives the current number of a tensor, entering it if it was never seen.
        references: the encoded form of every tensor seen so far by ``id``.
        modules: index of every module of the model by ``id``.
        module_names, module_classes: their names and class names by index.
    """

    def __init__(
        self,
        number: Callable[[torch.Tensor], int],
        references: dict[int, dict[str, int]],
        modules: dict[int, int],
        module_names: list[str],
        module_classes: list[str],
    ) -> None:
        self.number = number
        self.references = references
        self.modules = modules
        self.module_names = module_names
        self.module_classes = module_classes

    def encode(self, value: Any, found: list[torch.Tensor], *, caches: bool = False, depth: int = 0) -> Any:
        """``value`` as JSON; its tensors are appended to ``found`` in order. ``caches``: look into cache objects."""
        kind = type(value)
        if kind in TENSORS:
            found.append(value)
            reference = self.references.get(id(value))
            return {"tensor": self.number(value)} if reference is None else reference
        if kind in _PLAIN:
            return value
        if kind is int:
            return value if -LARGEST_INTEGER <= value < LARGEST_INTEGER else {"object": "builtins.int"}
        if isinstance(value, torch.Tensor):
            found.append(value)
            return {"tensor": self.number(value)}
        if kind is float:
            return value if math.isfinite(value) else {"float": str(value)}
        return self._container(value, found, caches, depth)

    def _container(self, value: Any, found: list[torch.Tensor], caches: bool, depth: int) -> Any:
        if isinstance(value, list | tuple):
            return self._sequence(value, found, caches, depth)
        if isinstance(value, slice):
            parts = (value.start, value.stop, value.step)
            return {"slice": [self.encode(part, found, depth=depth + 1) for part in parts]}
        if value is ...:
            return {"ellipsis": True}
        if isinstance(value, torch.dtype):
            return {"dtype": dtype_name(value)}
        if isinstance(value, nn.Module):
            index = self.modules.get(id(value))
            return {"module": self.module_names[index]} if index is not None else {"object": type_name(value)}
        if isinstance(value, Mapping):
            return self._mapping(value, found, caches, depth)
        return self._other(value, found, caches, depth)

    def _sequence(self, value: Any, found: list[torch.Tensor], caches: bool, depth: int) -> Any:
        if depth >= DEEPEST:
            return {"object": type_name(value)}
        items = value
        if len(value) > LONGEST_LIST and not any(isinstance(item, torch.Tensor) for item in value):
            items = value[:LONGEST_LIST]
        encoded = [self.encode(item, found, caches=caches, depth=depth + 1) for item in items]
        return {"list": encoded} if len(items) == len(value) else {"list": encoded, "length": len(value)}

    def _mapping(self, value: Mapping[Any, Any], found: list[torch.Tensor], caches: bool, depth: int) -> Any:
        if depth >= DEEPEST:
            return {"object": type_name(value)}
        items = list(value.items())
        shown = items if len(items) <= LONGEST_LIST else items[:LONGEST_LIST]
        encoded = {str(k): self.encode(v, found, caches=caches, depth=depth + 1) for k, v in shown}
        return {"dict": encoded} if len(shown) == len(items) else {"dict": encoded, "length": len(items)}

    def _other(self, value: Any, found: list[torch.Tensor], caches: bool, depth: int) -> Any:
        kind = type(value)
        if isinstance(value, int) and not isinstance(value, bool):  # IntEnum and its like
            return self.encode(int(value), found)
        if isinstance(value, str):
            return str(value)
        if isinstance(value, float):
            return self.encode(float(value), found)
        if depth >= DEEPEST or isinstance(value, type):
            return {"object": type_name(value)}
        if is_cache(value) or _is_cache_layer(value):
            if not caches:
                return {"object": type_name(value)}
            return self._attributes(vars(value), found, depth)
        if dataclasses.is_dataclass(kind):
            held = getattr(value, "__dict__", {})
            if any(isinstance(part, torch.Tensor) for part in held.values()):
                return self._attributes(held, found, depth)
        return {"object": type_name(value)}

    def _attributes(self, values: Mapping[str, Any], found: list[torch.Tensor], depth: int) -> Any:
        kept = {k: v for k, v in values.items() if not k.startswith("_")}
        return {"dict": {k: self.encode(v, found, caches=True, depth=depth + 1) for k, v in kept.items()}}


def _is_cache_layer(value: object) -> bool:
    """Whether ``value`` is one layer's part of a cache: it holds ``keys`` and ``values`` or states."""
    held = getattr(value, "__dict__", {})
    return ("keys" in held and "values" in held) or "conv_states" in held or "recurrent_states" in held
