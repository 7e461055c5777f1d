"""Values that are no tensors, as the recording's JSON (rules in :mod:`openmodelatlas.capture.recording`)."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Mapping
from types import EllipsisType
from typing import Any

import torch
from torch import nn

from openmodelatlas.capture.child.output import distinct
from openmodelatlas.capture.recording import DEEPEST

LONGEST_LIST = 64
"""Items of a list without tensors that are written down; longer ones become ``{"list": […], "length": n}``."""

LARGEST_INTEGER = 2**63

TENSORS = frozenset({torch.Tensor, nn.Parameter})
"""Types of nearly every tensor."""

_PLAIN = frozenset({bool, str, type(None)})

_CACHED = frozenset({"key_cache", "value_cache", "conv_states", "recurrent_states"})
"""Attributes that only caches have."""

_ANYTHING = (Exception, SystemExit)
"""What code of the model may raise where it is only looked at: its run could do without this."""

_Way = Callable[[Any, list[torch.Tensor], bool, int], Any]
"""Encodes a value of certain types: value, found tensors, whether to look into caches, depth."""


@functools.cache
def dtype_name(dtype: torch.dtype) -> str:
    """``float32`` for ``torch.float32``."""
    return str(dtype).removeprefix("torch.")


def type_name(value: object) -> str:
    """Qualified name of the value's type, ``transformers.cache_utils.DynamicCache``."""
    kind = type(value)
    try:
        return f"{kind.__module__}.{kind.__qualname__}"
    except _ANYTHING:
        return "a type without a name"


def is_tensor(value: object) -> bool:
    """Whether the value is one by its type; what it says of itself (a proxy's ``__class__``) does not count."""
    return issubclass(type(value), torch.Tensor)


def _holds_tensor(values: Iterable[object]) -> bool:
    kinds = {id(kind): kind for kind in map(type, values)}  # not every class can be hashed
    return any(issubclass(kind, torch.Tensor) for kind in kinds.values())


def _is_cache(kind: type, held: Mapping[str, Any]) -> bool:
    """Whether an object holds the tensors of a cache (key and value lists, layers that hold them), or of one layer."""
    return "Cache" in kind.__name__ or not held.keys().isdisjoint(_CACHED) or ("keys" in held and "values" in held)


def _held(value: list[Any] | tuple[Any, ...]) -> list[Any]:
    """What a sequence holds, whatever its own way to go through it."""
    items: Iterable[Any] = list.__iter__(value) if isinstance(value, list) else tuple.__iter__(value)
    return list(items)


def _own_attributes(value: object) -> dict[Any, Any] | None:
    try:
        held = object.__getattribute__(value, "__dict__")
    except _ANYTHING:
        return None
    return held if type(held) is dict else None


def _searched(value: object, caches: bool) -> dict[Any, Any] | None:
    """Attributes of a cache, if ``caches``, or of a dataclass that holds tensors; ``None`` for all others."""
    kind = type(value)
    held = None if issubclass(kind, type) else _own_attributes(value)
    if held is None:
        return None
    try:
        if _is_cache(kind, held):
            return held if caches else None
        return held if dataclasses.is_dataclass(kind) and _holds_tensor(held.values()) else None
    except _ANYTHING:
        return None


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
        if kind is int:
            return value if -LARGEST_INTEGER <= value < LARGEST_INTEGER else {"object": "builtins.int"}
        try:
            if kind in _PLAIN:
                return value
            way = None if kind in TENSORS else self._ways.get(kind) or self._new_way(kind)
        except _ANYTHING:  # classes of classes say whether and how a type is hashed, and what is a subclass of it
            way = self._object
        if way is not None:
            return way(value, found, caches, depth)
        found.append(value)
        reference = self.references.get(id(value))
        return {"tensor": self.number(value)} if reference is None else reference

    def _new_way(self, kind: type) -> _Way:
        way = self._ways[kind] = self._way(kind)
        return way

    def _way(self, kind: type) -> _Way:
        """How values of a type are encoded."""
        ways: list[tuple[type | tuple[type, ...], _Way]] = [
            (torch.Tensor, self._tensor),
            ((list, tuple), self._sequence),
            (slice, self._slice),
            (torch.dtype, self._dtype),
            (nn.Module, self._module),
            (Mapping, self._mapping),
            ((int, str, float), self._number_or_text),
            (EllipsisType, self._ellipsis),
        ]
        return next((way for base, way in ways if issubclass(kind, base)), self._other)

    def _tensor(self, value: Any, found: list[torch.Tensor], caches: bool, depth: int) -> Any:
        found.append(value)
        return {"tensor": self.number(value)}

    def _slice(self, value: Any, found: list[torch.Tensor], caches: bool, depth: int) -> Any:
        if depth >= DEEPEST:
            return {"object": type_name(value)}
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
        # A subclass may say anything of itself: torch reads the number or text that it is.
        if isinstance(value, int):
            return self.encode(int.__int__(value), found)
        if isinstance(value, str):
            return str.__str__(value)
        number = float.__float__(value)
        return number if math.isfinite(number) else {"float": str(number)}

    def _sequence(self, value: Any, found: list[torch.Tensor], caches: bool, depth: int) -> Any:
        if depth >= DEEPEST:
            return {"object": type_name(value)}
        encode, depth = self.encode, depth + 1
        items = value if type(value) in (list, tuple) else _held(value)
        whole = len(items)
        if whole > LONGEST_LIST and not _holds_tensor(items):
            items = items[:LONGEST_LIST]
        encoded = [encode(item, found, caches, depth) for item in items]
        return {"list": encoded} if len(items) == whole else {"list": encoded, "length": whole}

    def _mapping(self, value: Mapping[Any, Any], found: list[torch.Tensor], caches: bool, depth: int) -> Any:
        if depth >= DEEPEST:
            return {"object": type_name(value)}
        encode, depth = self.encode, depth + 1
        try:
            items = list(value.items())
            written = items if _holds_tensor(item for _, item in items) else items[:LONGEST_LIST]
            shown = [(str.__str__(str(key)), item) for key, item in written]
        except _ANYTHING:
            return {"object": type_name(value)}
        encoded: dict[str, Any] = {}
        for key, item in shown:
            encoded[distinct(key, encoded)] = encode(item, found, caches, depth)
        return {"dict": encoded} if len(shown) == len(items) else {"dict": encoded, "length": len(items)}

    def _object(self, value: Any, found: list[torch.Tensor], caches: bool, depth: int) -> Any:
        return {"object": type_name(value)}

    def _other(self, value: Any, found: list[torch.Tensor], caches: bool, depth: int) -> Any:
        held = _searched(value, caches) if depth < DEEPEST else None
        return {"object": type_name(value)} if held is None else self._attributes(held, found, depth)

    def _attributes(self, values: Mapping[str, Any], found: list[torch.Tensor], depth: int) -> Any:
        kept = {k: v for k, v in values.items() if isinstance(k, str) and not k.startswith("_")}
        return {"dict": {k: self.encode(v, found, True, depth + 1) for k, v in kept.items()}}
