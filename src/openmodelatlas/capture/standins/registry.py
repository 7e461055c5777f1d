"""What a stand-in declares about itself, and how its call becomes one event.

A *kernel* is a function of a GPU package that model code calls. Its stand-in is decorated with :func:`kernel` and a
:class:`KernelSpec`, which says in words and as a formula what it computes. While a recorder listens
(:data:`current_hook`), each call goes through it once; whatever the stand-in does inside is not model code and is
not recorded, kernels called by kernels included. This module imports no torch, so pages can read specs.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Symbol:
    """One letter of a kernel's formula.

    Attributes:
        latex: how the formula writes it, such as ``S_t``.
        argument: the parameter it stands for; ``output`` or ``final_state`` for a result; empty for an
            intermediate value.
        meaning: a few words.
        shape: named dimensions, ``[B, T, H, K]``; empty for a number.
    """

    latex: str
    argument: str
    meaning: str
    shape: str = ""


@dataclasses.dataclass(frozen=True)
class KernelSpec:
    """What one kernel computes.

    Attributes:
        name: the public dotted name by which model code imports it, such as ``fla.ops.kda.chunk_kda``.
        summary: one sentence.
        formula: LaTeX of what it computes.
        symbols: every letter of the formula that is not explained by the formula itself.
        source: package, version, file and function from which signature and semantics were read.
        reference: paper or report that defines the computation; empty for plain helpers.
        aliases: further dotted names by which the same function can be imported.
        mutates: parameters whose tensors are written in place, if they are given.
    """

    name: str
    summary: str
    formula: str
    symbols: tuple[Symbol, ...]
    source: str
    reference: str = ""
    aliases: tuple[str, ...] = ()
    mutates: tuple[str, ...] = ()


Hook = Callable[[KernelSpec, Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]

current_hook: Hook | None = None
"""Called in place of every kernel with its spec, the plain function, and the arguments; it runs the function and
returns the result. ``None``: kernels just run."""

specs: dict[str, KernelSpec] = {}
"""Specs of the kernels whose implementation has been imported, by name."""

exports: dict[str, Any] = {}
"""Everything importable from a stand-in package: public dotted name to object."""

_running = False


def public(*names: str) -> Callable[[T], T]:
    """Makes a class or helper function importable under dotted ``names``, without making it a kernel."""

    def declare(thing: T) -> T:
        for name in names:
            if name in exports:
                raise ValueError(f"two stand-ins claim the name {name}")
            exports[name] = thing
        return thing

    return declare


def kernel(spec: KernelSpec, *, importable: bool = True) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declares that a function stands in for the kernel ``spec`` describes.

    Args:
        spec: what it computes.
        importable: ``False`` for the computation of a module class, which is imported as the class.
    """

    def declare(function: Callable[P, R]) -> Callable[P, R]:
        if spec.name in specs:
            raise ValueError(f"two stand-ins claim the kernel {spec.name}")

        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            global _running  # noqa: PLW0603 - one interpreter-wide fact: are we inside a kernel
            if current_hook is None or _running:
                return function(*args, **kwargs)
            _running = True
            try:
                result: R = current_hook(spec, function, args, kwargs)
            finally:
                _running = False
            return result

        call.__dict__["__kernel__"] = spec
        specs[spec.name] = spec
        if importable:
            public(spec.name, *spec.aliases)(call)
        return call

    return declare
