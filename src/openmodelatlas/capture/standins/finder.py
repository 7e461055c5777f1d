"""Serves ``fla``, ``flash_attn`` and the like from our own functions when model code imports them."""

from __future__ import annotations

import dis
import importlib
import importlib.metadata
import sys
from collections.abc import Iterable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

from openmodelatlas.capture.standins import absent, registry
from openmodelatlas.capture.standins.packages import PACKAGES, Package


class _Metadata(importlib.metadata.Distribution):
    """Lets ``importlib.metadata.version`` answer for a stand-in package as for an installed one."""

    def __init__(self, package: Package) -> None:
        self._package = package

    def read_text(self, filename: str) -> str | None:
        if filename == "METADATA":
            return f"Metadata-Version: 2.1\nName: {self._package.distribution}\nVersion: {self._package.version}\n"
        return f"{self._package.name}\n" if filename == "top_level.txt" else None

    def locate_file(self, path: Any) -> Any:
        return Path(__file__).parent / path


class _StandInLoader(Loader):
    """Fills a module with the objects that stand-ins export under its name."""

    def __init__(self, package: Package) -> None:
        self._package = package

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        module.__file__ = __file__
        module.__dict__["__standin__"] = True
        if name == self._package.name:
            module.__dict__["__version__"] = self._package.version
        for attribute, thing in _contents(self._package, name).items():
            module.__dict__[attribute] = thing
        module.__dict__["__getattr__"] = _missing_attribute(self._package, name)


class StandInFinder(MetaPathFinder):
    """First on ``sys.meta_path``: the stand-ins win over an installed package of the same name.

    Attributes:
        packages: packages it serves, by import name.
    """

    def __init__(self) -> None:
        self.packages: dict[str, Package] = {}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Serves a module that has stand-ins, refuses others of the same package, leaves the rest alone."""
        package = self.packages.get(fullname.partition(".")[0])
        if package is None:
            return None
        if fullname != package.name and fullname not in _modules(package):
            if _is_a_question(sys._getframe(1)):
                return None
            raise absent.absent_kernel(fullname)
        return ModuleSpec(fullname, _StandInLoader(package), origin=__file__, is_package=True)

    def find_distributions(self, context: Any = None) -> Iterable[importlib.metadata.Distribution]:
        """Metadata of the packages it serves, so that their versions can be asked for."""
        name = getattr(context, "name", None)
        for package in self.packages.values():
            if name is None or _normal(name) in {_normal(package.distribution), _normal(package.name)}:
                yield _Metadata(package)


class MissRecorder(MetaPathFinder):
    """Last on ``sys.meta_path``: whatever arrives here was found by nobody. Remembers it, finds nothing."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Always ``None``."""
        if not _is_a_question(sys._getframe(1)):
            absent.record_miss(fullname)
        return None


_finder = StandInFinder()
_recorder = MissRecorder()


def install(names: set[str] | None = None) -> list[str]:
    """Makes stand-ins importable, in place of installed packages of the same names.

    Args:
        names: import names such as ``{"fla"}``; all that there are if ``None``.

    Returns:
        The names that are now served, sorted.

    Raises:
        ValueError: one of ``names`` has no stand-in package.
    """
    wanted = set(PACKAGES) if names is None else names
    unknown = sorted(wanted - set(PACKAGES))
    if unknown:
        raise ValueError(f"no stand-in package is named {', '.join(unknown)}; there are: {', '.join(sorted(PACKAGES))}")
    for name in wanted:
        _finder.packages[name] = PACKAGES[name]
        _forget_modules(name)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    if _recorder not in sys.meta_path:
        sys.meta_path.append(_recorder)
    importlib.invalidate_caches()
    return sorted(_finder.packages)


def uninstall() -> None:
    """Undoes :func:`install`: stand-in modules are dropped, installed packages are importable again."""
    for finder in (_finder, _recorder):
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)
    for name in _finder.packages:
        _forget_modules(name)
    _finder.packages.clear()
    absent.clear_misses()


def _forget_modules(package: str) -> None:
    for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
        del sys.modules[name]


def _exports(package: Package) -> dict[str, Any]:
    for implementation in package.implementations:
        importlib.import_module(implementation)
    return {name: thing for name, thing in registry.exports.items() if name.startswith(f"{package.name}.")}


def _modules(package: Package) -> set[str]:
    found = {package.name}
    for name in _exports(package):
        parts = name.split(".")
        found.update(".".join(parts[:end]) for end in range(1, len(parts)))
    return found


def _contents(package: Package, module: str) -> dict[str, Any]:
    return {
        name.rpartition(".")[2]: thing for name, thing in _exports(package).items() if name.rpartition(".")[0] == module
    }


def _missing_attribute(package: Package, module: str) -> Any:
    def look_up(attribute: str) -> Any:
        full = f"{module}.{attribute}"
        if full in _modules(package):
            return importlib.import_module(full)
        if _executes_import_from(sys._getframe(1)):
            raise absent.absent_kernel(full)
        raise AttributeError(f"the stand-in of {module} has no attribute {attribute!r}")

    return look_up


def _executes_import_from(frame: FrameType) -> bool:
    # `from m import a` and `m.a` both end in the module's __getattr__; only the first is a failed import.
    return dis.opname[frame.f_code.co_code[frame.f_lasti]] == "IMPORT_FROM"


def _is_a_question(frame: FrameType | None) -> bool:
    # importlib.util.find_spec asks whether a module exists; it must get None rather than an error.
    for _ in range(2):
        if frame is None:
            return False
        if frame.f_code.co_name == "find_spec" and frame.f_globals.get("__name__") == "importlib.util":
            return True
        frame = frame.f_back
    return False


def _normal(name: str) -> str:
    return name.lower().replace("_", "-").replace(".", "-")
