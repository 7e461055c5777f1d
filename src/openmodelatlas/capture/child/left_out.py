"""Leaves torch's compiler, exporter, symbolic sizes and kernels in Python out until somebody really asks for them.

Nothing is compiled in a capture (:mod:`openmodelatlas.capture.process` switches it off, for the author's code is to run
as it is written), but ``transformers/masking_utils.py`` (5.24.0) imports one class of ``torch._dynamo``, and with it
200 modules: a quarter of a second (measured); torch itself imports ``torch.export``, and on the meta device its
symbolic sizes with sympy. With :func:`leave_out` such a module is there without its contents; they are imported when
somebody asks for a name that is not there, for more than is known without them, or for a module that needs them.

Kernels of the meta device that torch has in Python take 0.15 s. Functions there need them without asking, so they stay
out for code only that says nothing of it (:func:`asks_for_kernels`), until :func:`bring_kernels`.
"""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from openmodelatlas.capture.child.empty_modules import Finder, LeftOut, bring, filled, is_empty
from openmodelatlas.capture.child.plain_sizes import ANSWERS, Answer
from openmodelatlas.errors import AtlasError

Result = TypeVar("Result")

SYMBOLIC, ALGEBRA = "torch.fx.experimental.symbolic_shapes", "sympy"
META_KERNELS = "torch._meta_registrations"


def leave_out(*, kernels: bool = False) -> None:
    """From now on, importing a module of these imports its name only; nothing changes if it is there already.

    It is best called before torch is imported.

    Args:
        kernels: leave the kernels in Python out as well. Without them some functions raise on the meta device, and code
            can do without what raises; so this is for code that is known to have nothing there.
    """
    if not any(isinstance(finder, Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, Finder((*_UNUSED, _KERNELS) if kernels else _UNUSED))


_ASKS_FOR_KERNELS = re.compile(
    r"[\"']meta[\"':]|is_meta|Fake|prims|_refs|_decomp|torch\.ops|torch\.library|_subclasses"
)


def asks_for_kernels(texts: Iterable[str]) -> bool:
    """Whether source code says anything of what needs the kernels in Python, or is changed by their absence."""
    return any(_ASKS_FOR_KERNELS.search(text) is not None for text in texts)


def complete_torch() -> None:
    """Does what torch's own code needs of modules that stay out. Must be called when torch is there.

    Generators of random numbers cannot be made before their class has its metaclass, which is given to it where
    torch defines random numbers for the compiler (``torch/_prims/rng_prims.py``, 2.13).
    """
    import torch

    give = getattr(torch._C, "_set_generator_metaclass", None)
    if give is not None and is_empty(META_KERNELS):
        give(importlib.import_module("torch._opaque_base").OpaqueBaseMeta)


def bring_kernels() -> bool:
    """Imports the kernels in Python if they are left out; whether they were."""
    return bring(META_KERNELS)


def again_with_kernels(work: Callable[[], Result]) -> Result:
    """What ``work`` gives; if it fails while the kernels are left out, it is done once more with them."""
    try:
        return work()
    except AtlasError:
        raise
    except Exception:
        if not bring_kernels():
            raise
    return work()


def _mark(function: Any = None, *_: Any, **__: Any) -> Any:
    """A mark for the compiler, which will not come: the function stays as it is."""
    return _mark if function is None else function


def _is_compiling() -> bool:
    return False


class _NoClass:
    """Stands, to torch, for a class of a module that is not there: it has no instances, and can be built on."""

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    def _real(self) -> Any:
        return getattr(filled(self._module), self._name)

    def __instancecheck__(self, instance: Any) -> bool:
        return not is_empty(self._module) and isinstance(instance, self._real())

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[Any, ...]:
        return (self._real(),)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real(), name)

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        return self._real()(*arguments, **named)


def _answered(name: str, answer: Answer) -> Callable[..., Any]:
    """The function ``name`` of symbolic sizes, which are imported when they are asked for more than is plain."""

    def function(*arguments: Any, **named: Any) -> Any:
        found = NotImplemented if named else answer(*arguments)
        return getattr(filled(SYMBOLIC), name)(*arguments, **named) if found is NotImplemented else found

    return function


_MARKS = dict.fromkeys(
    ["allow_in_graph", "assume_constant_result", "disable", "mark_dynamic", "mark_static_address"], _mark
)

_KERNELS = LeftOut(META_KERNELS, along=frozenset({"torch._decomp", "torch._prims", "torch._refs"}))
_UNUSED = (
    LeftOut("torch._dynamo", answers=_MARKS | {"is_compiling": _is_compiling}, first=META_KERNELS),
    LeftOut("torch.export"),
    LeftOut(SYMBOLIC, answers={name: _answered(name, answer) for name, answer in ANSWERS.items()}),
    LeftOut(ALGEBRA, torch_answers={"Basic": _NoClass(ALGEBRA, "Basic")}),
)
