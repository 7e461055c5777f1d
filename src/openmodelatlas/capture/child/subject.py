"""What is captured: something that has published sizes and can be instantiated at other sizes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import torch

from openmodelatlas.capture.child.sizes import Published
from openmodelatlas.capture.recording import Probe


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

    def inputs(self, model: torch.nn.Module, probe: Probe, device: str) -> dict[str, torch.Tensor]:
        """Arguments of the prefill by name; ``input_ids`` are ``[batch, tokens]`` int64."""
