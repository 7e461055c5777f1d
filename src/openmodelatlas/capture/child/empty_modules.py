"""Modules that are there without their contents, which are imported when somebody asks for them.

:mod:`.left_out` says which modules these are. Filling one is as safe with threads as the system's own import of it.
"""

from __future__ import annotations

import importlib
import re
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from openmodelatlas.capture.child.inspection import quick_inspection


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A module that is to be empty at first.

    Attributes:
        name: of the module.
        answers: what libraries ask of it while it is empty, and what they are given.
        torch_answers: what torch's own code is given beside that; others could ask anything, and get the real one.
        along: packages that come with the contents, and that can be imported in no other order.
        first: another such module that is filled before this one, since its contents import parts of it.
    """

    name: str
    answers: Mapping[str, Any] = field(default_factory=dict)
    torch_answers: Mapping[str, Any] = field(default_factory=dict)
    along: frozenset[str] = frozenset()
    first: str | None = None


def is_empty(name: str) -> bool:
    """Whether the module ``name`` is there without its contents."""
    return isinstance(sys.modules.get(name), _Empty)


def bring(name: str) -> bool:
    """Imports the contents of the module ``name`` if they are left out; whether they were."""
    was_empty = is_empty(name)
    if was_empty:
        filled(name)
    return was_empty


def filled(name: str) -> ModuleType:
    """The module ``name``; its own code has run in it, as importing it would have done."""
    module = sys.modules[name]
    if type(module) in (_Empty, _Filling):
        first = _left_out(module).first
        if first is not None:
            bring(first)
        with _lock(name):
            if type(module) is _Empty:
                _fill(module)
    return module


def _fill(module: ModuleType) -> None:
    spec = _spec(module)
    assert spec.loader is not None
    known = vars(module)
    set_by_others = {key: value for key, value in known.items() if not key.startswith("__")}
    known[_FILLING_THREAD] = threading.get_ident()
    module.__class__ = _Filling
    state: type[ModuleType] = _Empty  # whoever asks next tries again
    try:
        with quick_inspection():
            spec.loader.exec_module(module)
        state = ModuleType
    finally:
        del known[_FILLING_THREAD]
        module.__class__ = state
    known.update(set_by_others)


_SAID_BY_THE_CODE = frozenset({"__all__", "__version__"})
"""Names with underscores that are the module's own; the system looks for others, and can do without."""

_FILLING_THREAD = "__filling_thread__"


class _Empty(ModuleType):
    """A module without its contents."""

    def __getattr__(self, name: str) -> Any:
        left_out = _left_out(self)
        if name in left_out.answers:
            return left_out.answers[name]
        if name in left_out.torch_answers and _is_of_torch(sys._getframe(1)):
            return left_out.torch_answers[name]
        if _is_for_the_system(name):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(filled(self.__name__), name)

    def __dir__(self) -> list[str]:
        return dir(filled(self.__name__))


class _Filling(ModuleType):
    """A module while its own code runs: the thread that runs it sees what is there so far, others wait for the rest."""

    def __getattr__(self, name: str) -> Any:
        if vars(self)[_FILLING_THREAD] != threading.get_ident() and not _is_for_the_system(name):
            with _lock(self.__name__):
                if type(self) is ModuleType:
                    return getattr(self, name)
        raise AttributeError(f"module {self.__name__!r}, which is being imported, has no attribute {name!r}")


def _is_for_the_system(name: str) -> bool:
    return name.startswith("__") and name not in _SAID_BY_THE_CODE


def _is_of_torch(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).startswith("torch.")


def _lock(name: str) -> Any:
    """The system's own lock of a module: it tells threads that wait for each other, where others would hang."""
    return importlib._bootstrap._ModuleLockManager(name)  # type: ignore[attr-defined]


def _spec(module: ModuleType) -> ModuleSpec:
    spec = module.__spec__
    assert spec is not None
    return spec


def _left_out(module: ModuleType) -> LeftOut:
    left_out: LeftOut = _spec(module).loader_state
    return left_out


class Finder(MetaPathFinder):
    """Finds modules empty, and lets a module of such a package wait for the package if it would miss the rest.

    Args:
        modules: those that it finds empty.
    """

    def __init__(self, modules: Sequence[LeftOut]) -> None:
        self._modules = {module.name: module for module in modules}
        self._along = {package: module.name for module in modules for package in module.along}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """What the system's own search gives for ``fullname``, with another loader if it is one of these modules."""
        left_out, whole = self._modules.get(fullname), self._along.get(fullname)
        package = whole or fullname.rpartition(".")[0]
        if left_out is None and not is_empty(package):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is None or spec.loader is None:
            return spec
        if left_out is not None:
            spec.loader, spec.loader_state = _EmptyLoader(spec.loader), left_out
        elif whole is not None or not _stands_alone(package, spec):
            spec.loader = _AfterPackage(package, spec.loader)
        return spec


class _EmptyLoader(Loader):
    """Makes the empty module; its own loader stays with it."""

    def __init__(self, own: Loader) -> None:
        self._own = own

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Empty(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        _spec(module).loader = module.__loader__ = self._own


class _AfterPackage(Loader):
    """Fills the package before a module of it is made, which comes with the package or by its own loader.

    Not when the module is found: all other imports wait meanwhile, also those that the package needs.
    """

    def __init__(self, package: str, own: Loader) -> None:
        self._package = package
        self._own = own
        self._came_along = False

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        filled(self._package)
        there = sys.modules.get(spec.name)
        self._came_along = there is not None
        return there if there is not None else self._own.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        _spec(module).loader = module.__loader__ = self._own
        if not self._came_along:
            self._own.exec_module(module)


def _stands_alone(package: str, spec: ModuleSpec) -> bool:
    """Whether no statement of a module's first level imports something of the package."""
    name = re.escape(package)
    try:
        text = Path(spec.origin).read_text(encoding="utf-8") if spec.origin else "import ."
    except OSError:
        return False
    return re.search(rf"^(from \.|import {name}|from {name})", text, re.MULTILINE) is None
