"""Leaves torch's compiler and exporter out until somebody really asks for them.

Nothing is compiled in a capture (:mod:`openmodelatlas.capture.process` switches it off, for the author's code is to run
as it is written), but ``transformers/masking_utils.py`` (5.24.0) imports one class of ``torch._dynamo``, and with it
200 modules: a quarter of a second (measured); torch itself imports ``torch.export``. With :func:`leave_out` such a
package is there without its contents; they are imported when somebody asks for a name that is not there, or for a
module that needs them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

COMPILER, EXPORTER = "torch._dynamo", "torch.export"

_NEEDS_PACKAGE = {
    package: re.compile(rf"^(from \.|import {re.escape(package)}|from {re.escape(package)})", re.MULTILINE)
    for package in (COMPILER, EXPORTER)
}


def leave_out() -> None:
    """From now on, importing a package of these imports its name only; nothing changes if it is there already.

    It is best called before torch is imported.
    """
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def _mark(function: Any = None, *_: Any, **__: Any) -> Any:
    """A mark for the compiler, which will not come: the function stays as it is."""
    return _mark if function is None else function


def _is_compiling() -> bool:
    return False


_WITHOUT: dict[str, Callable[..., Any]] = {
    "allow_in_graph": _mark,
    "assume_constant_result": _mark,
    "disable": _mark,
    "is_compiling": _is_compiling,
    "mark_dynamic": _mark,
    "mark_static_address": _mark,
}
"""What libraries ask of the compiler when nothing is compiled, and what it does then."""


class _Package(ModuleType):
    """A package, empty."""

    def __getattr__(self, name: str) -> Any:
        if name in _WITHOUT and self.__name__ == COMPILER:
            return _WITHOUT[name]
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        _fill(self)
        return getattr(self, name)


def _fill(package: ModuleType) -> None:
    """Run the package's own code, as importing it would have done."""
    package.__class__ = ModuleType
    spec = package.__spec__
    assert spec is not None
    assert spec.loader is not None
    spec.loader.exec_module(package)


class _EmptyLoader(Loader):
    """Makes the empty package; its own loader stays with it."""

    def __init__(self, own: Loader) -> None:
        self._own = own

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Package(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        assert module.__spec__ is not None
        module.__spec__.loader = module.__loader__ = self._own


class _Finder(MetaPathFinder):
    """Finds the packages empty, and fills one before a module of it is found that would miss the rest."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname in _NEEDS_PACKAGE:
            spec = PathFinder.find_spec(fullname, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = _EmptyLoader(spec.loader)
            return spec
        package = fullname.rpartition(".")[0]
        empty = sys.modules.get(package) if package in _NEEDS_PACKAGE else None
        if isinstance(empty, _Package) and not _stands_alone(package, PathFinder.find_spec(fullname, path, target)):
            _fill(empty)
        return None


def _stands_alone(package: str, spec: ModuleSpec | None) -> bool:
    """Whether no statement of a module's first level imports something of the package."""
    try:
        text = Path(spec.origin).read_text(encoding="utf-8") if spec is not None and spec.origin else "import ."
    except OSError:
        return False
    return _NEEDS_PACKAGE[package].search(text) is None
