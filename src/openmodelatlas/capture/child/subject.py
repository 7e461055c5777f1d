"""What is captured: something that has published sizes and can be instantiated at other sizes."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import torch

from openmodelatlas.capture.child.encode import is_tensor
from openmodelatlas.capture.child.sizes import Published
from openmodelatlas.capture.recording import DEEPEST, Probe


@dataclass(frozen=True)
class Inputs:
    """What a model is called with.

    Attributes:
        arguments: by the names that ``forward`` has for them, in order.
        positional: how many of them, the first ones, are handed over by position.
        passed_on: whether ``use_cache`` and a cache may be given to a ``forward`` that has no parameter of that name
            but ``**kwargs``: it hands them on, as those of ``transformers`` do.
    """

    arguments: dict[str, Any] = field(default_factory=dict)
    positional: int = 0
    passed_on: bool = False

    def call(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The arguments by position, and those by name."""
        names = list(self.arguments)
        by_position = tuple(self.arguments[name] for name in names[: self.positional])
        return by_position, {name: self.arguments[name] for name in names[self.positional :]}

    def tensors(self) -> dict[str, torch.Tensor]:
        """Every tensor that is an argument or lies in one, by a name made of the argument's."""
        return tensors_in(self.arguments)


def tensors_in(values: Mapping[str, Any]) -> dict[str, torch.Tensor]:
    """Tensors among the values, or in sequences, mappings and dataclasses among them: ``pair_0``, ``given_mask``."""
    found: dict[str, torch.Tensor] = {}
    for name, tensor in _tensors_in(values.items(), 0):
        while name in found:
            name += "_"  # noqa: PLW2901
        found[name] = tensor
    return found


def _tensors_in(named: Iterable[tuple[str, Any]], depth: int) -> Iterator[tuple[str, torch.Tensor]]:
    for name, value in named:
        if is_tensor(value):
            yield name, value
        elif depth < DEEPEST:
            yield from _tensors_in([(f"{name}_{_word(key)}", item) for key, item in _held(value)], depth + 1)


def _held(value: Any) -> Iterable[tuple[Any, Any]]:
    if isinstance(value, Mapping):
        return value.items()
    if isinstance(value, tuple | list):
        return enumerate(value)
    return vars(value).items() if dataclasses.is_dataclass(value) and not isinstance(value, type) else ()


def _word(key: object) -> str:
    return re.sub(r"\W+", "_", str(key))


class Subject(Protocol):
    """A model's code with its configuration.

    Attributes:
        roots: folders whose files are the model's own code, by name; ``source`` is the source's root.
        notes: sentences for the reader of the atlas.
    """

    roots: dict[str, Path]
    notes: list[str]

    def published(self) -> Published:
        """The configuration as published, the class's defaults filled in."""

    def configure(self, settings: Mapping[str, int]) -> dict[str, Any]:
        """The effective configuration once ``settings`` (by dotted path) are applied, nested."""

    def instantiate(self, settings: Mapping[str, int], dtype: str, device: str) -> torch.nn.Module:
        """The model at the given sizes (none: the published ones), in evaluation mode.

        Args:
            settings: sizes by dotted path.
            dtype: default floating-point type, ``float32`` or ``bfloat16``.
            device: ``cpu`` or ``meta``.
        """

    def inputs(self, model: torch.nn.Module, probe: Probe, device: str) -> Inputs:
        """Arguments of the prefill; ``input_ids`` are ``[batch, tokens]`` int64."""
