"""Leaves torch's compiler, exporter, symbolic sizes and kernels in Python out until somebody really asks for them.

Nothing is compiled in a capture (:mod:`openmodelatlas.capture.process` switches it off, for the author's code is to run
as it is written), but ``transformers/masking_utils.py`` (5.24.0) imports one class of ``torch._dynamo``, and with it
200 modules: a quarter of a second (measured); torch itself imports ``torch.export``, and on the meta device its
symbolic sizes with sympy. With :func:`leave_out` such a module is there without its contents; they are imported when
somebody asks for a name that is not there, for more than is known without them, or for a module that needs them.

Kernels of the meta device that torch has in Python take 0.15 s. Functions there need them without asking, so they stay
out for code only that says nothing of it (:func:`asks_for_kernels`), until :func:`bring`.
"""

from __future__ import annotations

import importlib
import re
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any, TypeVar

from openmodelatlas.capture.child.inspection import quick_inspection
from openmodelatlas.capture.child.plain_sizes import ANSWERS, Answer
from openmodelatlas.errors import AtlasError

Result = TypeVar("Result")

COMPILER, EXPORTER = "torch._dynamo", "torch.export"
SYMBOLIC, ALGEBRA = "torch.fx.experimental.symbolic_shapes", "sympy"
META_KERNELS = "torch._meta_registrations"

_WITH_META_KERNELS = frozenset({"torch._decomp", "torch._prims", "torch._refs"})
"""Packages that come along, and that can be imported in no other order: they import each other."""

_NEEDS = {
    name: re.compile(rf"^(from \.|import {re.escape(name)}|from {re.escape(name)})", re.MULTILINE)
    for name in (COMPILER, EXPORTER, SYMBOLIC, ALGEBRA, META_KERNELS)
}


def leave_out(*, kernels: bool = False) -> None:
    """From now on, importing a module of these imports its name only; nothing changes if it is there already.

    It is best called before torch is imported.

    Args:
        kernels: leave the kernels in Python out as well. Without them some functions raise on the meta device, and code
            can do without what raises; so this is for code that is known to have nothing there.
    """
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder(frozenset(_NEEDS) if kernels else frozenset(_NEEDS) - {META_KERNELS}))


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
    if give is not None and _is_empty(META_KERNELS):
        give(importlib.import_module("torch._opaque_base").OpaqueBaseMeta)


def bring(name: str) -> bool:
    """Imports the module ``name`` if it was left out; whether it was."""
    was_left_out = _is_empty(name)
    if was_left_out:
        _filled(name)
    return was_left_out


def again_with_kernels(work: Callable[[], Result]) -> Result:
    """What ``work`` gives; if it fails while the kernels are left out, it is done once more with them."""
    try:
        return work()
    except AtlasError:
        raise
    except Exception:
        if not bring(META_KERNELS):
            raise
    return work()


def _mark(function: Any = None, *_: Any, **__: Any) -> Any:
    """A mark for the compiler, which will not come: the function stays as it is."""
    return _mark if function is None else function


def _is_compiling() -> bool:
    return False


class _NoClass:
    """Stands, to torch, for a class of a module that is not there: it has no instances, and can be built on.

    Others could ask anything of it, and are given the class.
    """

    def __init__(self, module: str, name: str) -> None:
        self._module = module
        self._name = name

    def _real(self) -> Any:
        return getattr(_filled(self._module), self._name)

    def __instancecheck__(self, instance: Any) -> bool:
        return not _is_empty(self._module) and isinstance(instance, self._real())

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
        return getattr(_filled(SYMBOLIC), name)(*arguments, **named) if found is NotImplemented else found

    return function


_WITHOUT: dict[str, dict[str, Any]] = {
    COMPILER: {
        "allow_in_graph": _mark,
        "assume_constant_result": _mark,
        "disable": _mark,
        "is_compiling": _is_compiling,
        "mark_dynamic": _mark,
        "mark_static_address": _mark,
    },
    SYMBOLIC: {name: _answered(name, answer) for name, answer in ANSWERS.items()},
    ALGEBRA: {"Basic": _NoClass(ALGEBRA, "Basic")},
}
"""What libraries ask of a module while it is empty, and what they are given."""


_SAID_BY_THE_CODE = frozenset({"__all__", "__version__"})
"""Names with underscores that are the module's own; the system looks for others, and can do without."""


class _Empty(ModuleType):
    """A module without its contents."""

    def __getattr__(self, name: str) -> Any:
        without = _WITHOUT.get(self.__name__, {})
        if name in without and (not isinstance(without[name], _NoClass) or _is_of_torch(sys._getframe(1))):
            return without[name]
        if name.startswith("__") and name not in _SAID_BY_THE_CODE:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(_filled(self.__name__), name)

    def __dir__(self) -> list[str]:
        return dir(_filled(self.__name__))


def _is_of_torch(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).startswith("torch.")


class _Filling(ModuleType):
    """A module while its own code runs: the thread that runs it sees what is there so far, others wait for the rest."""

    def __getattr__(self, name: str) -> Any:
        filling = vars(self)[_FILLING_THREAD]
        if filling != threading.get_ident() and not (name.startswith("__") and name not in _SAID_BY_THE_CODE):
            with _lock(self.__name__):
                if type(self) is ModuleType:
                    return getattr(self, name)
        raise AttributeError(f"module {self.__name__!r}, which is being imported, has no attribute {name!r}")


_FILLING_THREAD = "__filling_thread__"


def _lock(name: str) -> Any:
    """The system's own lock of a module: it tells threads that wait for each other, where others would hang."""
    return importlib._bootstrap._ModuleLockManager(name)  # type: ignore[attr-defined]


def _is_empty(name: str) -> bool:
    return isinstance(sys.modules.get(name), _Empty)


def _filled(name: str) -> ModuleType:
    """The module ``name``; its own code has run in it, as importing it would have done."""
    if name == COMPILER:
        bring(META_KERNELS)  # the compiler would import parts of it, out of order
    module = sys.modules[name]
    if type(module) in (_Empty, _Filling):
        with _lock(name):
            if type(module) is _Empty:
                _fill(module)
    return module


def _fill(module: ModuleType) -> None:
    assert module.__spec__ is not None
    assert module.__spec__.loader is not None
    known = vars(module)
    set_by_others = {key: value for key, value in known.items() if not key.startswith("__")}
    known[_FILLING_THREAD] = threading.get_ident()
    module.__class__ = _Filling
    state: type[ModuleType] = _Empty  # whoever asks next tries again
    try:
        with quick_inspection():
            module.__spec__.loader.exec_module(module)
        state = ModuleType
    finally:
        del known[_FILLING_THREAD]
        module.__class__ = state
    known.update(set_by_others)


class _EmptyLoader(Loader):
    """Makes the empty module; its own loader stays with it."""

    def __init__(self, own: Loader) -> None:
        self._own = own

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Empty(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._own


class _AfterPackage(Loader):
    """Fills the package before a module of it is made, which comes with the package or by its own loader.

    Not when the module is found: all other imports wait meanwhile, also those that the package needs.
    """

    def __init__(self, package: str, own: Loader) -> None:
        self._package = package
        self._own = own
        self._came_along = False

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        _filled(self._package)
        there = sys.modules.get(spec.name)
        self._came_along = there is not None
        return there if there is not None else self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._own
        if not self._came_along:
            self._own.exec_module(module)


class _Finder(MetaPathFinder):
    """Finds these modules empty, and lets a module of such a package wait for the package if it would miss the rest."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        package = META_KERNELS if fullname in _WITH_META_KERNELS else fullname.rpartition(".")[0]
        if fullname not in self._names and not _is_empty(package):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return spec
        if fullname in self._names:
            spec.loader = _EmptyLoader(spec.loader)
        elif package == META_KERNELS or not _stands_alone(package, spec):
            spec.loader = _AfterPackage(package, spec.loader)
        return spec


def _stands_alone(package: str, spec: ModuleSpec) -> bool:
    """Whether no statement of a module's first level imports something of the package."""
    try:
        text = Path(spec.origin).read_text(encoding="utf-8") if spec.origin else "import ."
    except OSError:
        return False
    return _NEEDS[package].search(text) is None
