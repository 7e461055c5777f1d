"""What stand-ins declare about the kernels that they replace, by name. Loads no torch."""

from __future__ import annotations

from functools import lru_cache
from importlib import import_module

from openmodelatlas.capture.standins.registry import KernelSpec

_MODULES = ("causal_conv1d", "fla", "fla_linear", "flash_attn", "mamba_ssm")


@lru_cache(maxsize=1)
def specs() -> dict[str, KernelSpec]:
    """What is known of kernels, by every name under which they can be imported."""
    found: dict[str, KernelSpec] = {}
    for name in _MODULES:
        module = import_module(f"openmodelatlas.capture.standins.specs.{name}")
        for value in vars(module).values():
            if isinstance(value, KernelSpec):
                found.update(dict.fromkeys((value.name, *value.aliases), value))
    return found
