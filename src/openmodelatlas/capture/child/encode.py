"""Values that are no tensors, as the recording's JSON (rules in :mod:`openmodelatlas.capture.recording`)."""

from __future__ import annotations

import dataclasses
import functools
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

_CACHED = frozenset({"key_cache", "value_cache", "conv_states", "recurrent_states"})
"""Attributes that only caches have."""

_Way = Callable[[Any, list[torch.Tensor], bool, int], Any]
"""Encodes a value of certain types: value, found tensors, whether to look into caches, depth."""


@functools.cache
def dtype_name(dtype: torch.dtype) -> str:
    """``float32`` for ``torch.float32``."""
    return str(dtype).removeprefix("torch.")


def type_name(value: object) -> str:
    """Qualified name of the value's type, ``transformers.cache_utils.DynamicCache``."""
    kind = type(value)
    return f"{kind.__module__}.{kind.__qualname__}"


def _is_cache(kind: type, held: Mapping[str, Any]) -> bool:
    """Whether an object holds the tensors of a cache (key and value lists, layers that hold them), or of one layer."""
    return "Cache" in kind.__name__ or not held.keys().isdisjoint(_CACHED) or ("keys" in held and "values" in held)


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
        self._ways: dict[type, _Way] = {}

    def with_places(self, place: Callable[[torch.Tensor], int]) -> Encoder:
        """One that puts what ``place`` gives where this one puts a tensor's number."""
        return Encoder(place, {}, self.modules, self.module_names, self.module_classes)

    def encode(self, value: Any, found: list[torch.Tensor], caches: bool = False, depth: int = 0) -> Any:
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
        way = self._ways.get(kind)
        if way is None:
            way = self._way(value)
            if value.__class__ is kind:  # a proxy says that it is what it stands for
                self._ways[kind] = way
        return way(value, found, caches, depth)

    def _way(self, value: Any) -> _Way:
        """How values of the type of ``value`` are encoded."""
        if isinstance(value, torch.Tensor):
            return self._tensor
        if isinstance(value, (list, tuple)):
            return self._sequence
        if isinstance(value, slice):
            return self._slice
        if isinstance(value, torch.dtype):
            return self._dtype
        if isinstance(value, nn.Module):
            return self._module
        if isinstance(value, Mapping):
            return self._mapping
        if isinstance(value, (int, str, float)):  # IntEnum and its like
            return self._number_or_text
        return self._ellipsis if value is ... else self._other

    def _tensor(self, value: Any, found: list[torch.Tensor], caches: bool, depth: int) -> Any:
        found.append(value)
        return {"tensor": self.number(value)}

    def _slice(self, value: Any, found: list[torch.Tensor], caches: bool, depth: int) -> Any:
        encode, depth = self.encode, depth + 1
        return {
            "slice": [
                encode(value.start, found, False, depth),
                encode(value.stop, found, False, depth),
                encode(value.step, found, False, depth),
            ]
        }

    def _ellipsis(self, value: Any, found: list[torch.Tensor], caches: bool, depth: int) -> Any:
        return {"ellipsis": True}

    def _dtype(self, value: Any, found: list[torch.Tensor], caches: bool, depth: int) -> Any:
        return {"dtype": dtype_name(value)}

    def _module(self, value: Any, found: list[torch.Tensor], caches: bool, depth: int) -> Any:
        index = self.modules.get(id(value))
        return {"module": self.module_names[index]} if index is not None else {"object": type_name(value)}

    def _number_or_text(self, value: Any, found: list[torch.Tensor], caches: bool, depth: int) -> Any:
        if isinstance(value, int):
            return self.encode(int(value), found)
        if isinstance(value, str):
            return str(value)
        return float(value) if math.isfinite(value) else {"float": str(float(value))}

    def _sequence(self, value: Any, found: list[torch.Tensor], caches: bool, depth: int) -> Any:
        if depth >= DEEPEST:
            return {"object": type_name(value)}
        encode, depth = self.encode, depth + 1
        items = value
        if len(value) > LONGEST_LIST and not any(isinstance(item, torch.Tensor) for item in value):
            items = value[:LONGEST_LIST]
        encoded = [encode(item, found, caches, depth) for item in items]
        return {"list": encoded} if len(items) == len(value) else {"list": encoded, "length": len(value)}

    def _mapping(self, value: Mapping[Any, Any], found: list[torch.Tensor], caches: bool, depth: int) -> Any:
        if depth >= DEEPEST:
            return {"object": type_name(value)}
        encode, depth = self.encode, depth + 1
        items = list(value.items())
        shown = items if len(items) <= LONGEST_LIST else items[:LONGEST_LIST]
        encoded = {str(k): encode(v, found, caches, depth) for k, v in shown}
        return {"dict": encoded} if len(shown) == len(items) else {"dict": encoded, "length": len(items)}

    def _other(self, value: Any, found: list[torch.Tensor], caches: bool, depth: int) -> Any:
        if depth >= DEEPEST or isinstance(value, type):
            return {"object": type_name(value)}
        held = getattr(value, "__dict__", None)
        if held is not None:
            if _is_cache(type(value), held):
                return self._attributes(held, found, depth) if caches else {"object": type_name(value)}
            if dataclasses.is_dataclass(value) and any(isinstance(part, torch.Tensor) for part in held.values()):
                return self._attributes(held, found, depth)
        return {"object": type_name(value)}

    def _attributes(self, values: Mapping[str, Any], found: list[torch.Tensor], depth: int) -> Any:
        kept = {k: v for k, v in values.items() if not k.startswith("_")}
        return {"dict": {k: self.encode(v, found, True, depth + 1) for k, v in kept.items()}}
