"""Makes the imports of torch and transformers, a third of a capture, somewhat shorter.

:func:`search_once`: ``transformers/__init__.py`` and ``transformers/models/__init__.py`` (4.45 and later) both read all
model files for the names in them, with ``utils/import_utils.py:create_import_structure_from_path``; 1,700 files take
0.2 s each time (5.24.0, measured). The second time gets a copy of what the first found.

:func:`load_torch`: the system loads torch's largest library, 0.15 s of relocations, beside another import.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib.util
import os
import sys
import threading
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

_MODULE = "transformers.utils.import_utils"
_FUNCTION = "create_import_structure_from_path"


def load_torch(*, meanwhile: Sequence[str]) -> None:
    """Load torch's library in a thread, and import modules that need no library of their own ``meanwhile``.

    Nothing is wrong if it cannot be loaded here or a module is absent: who needs them imports them anyway.
    """
    thread = threading.Thread(target=_load_library)
    thread.start()
    for name in meanwhile:
        with contextlib.suppress(Exception):
            importlib.import_module(name)
    thread.join()


def _load_library() -> None:
    with contextlib.suppress(ImportError, OSError, ValueError, AttributeError):
        spec = importlib.util.find_spec("torch")
        for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
            library = Path(folder, "lib", "libtorch_cpu.so")
            if library.exists():
                ctypes.CDLL(str(library))


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        search = getattr(module, _FUNCTION, None)
        if search is not None:
            setattr(module, _FUNCTION, _once(search))


class _Finder(MetaPathFinder):
    """Finds the one module, once."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _MODULE:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


def search_once() -> None:
    """From the next import of transformers on, it searches each of its folders once."""
    if _MODULE not in sys.modules and not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def _once(search: Any) -> Any:
    """``search`` with an answer for every folder; asked for as a folder or as the file ``__init__.py`` in it."""
    found: dict[str, Any] = {}

    @functools.wraps(search)
    def searched(module_path: Any) -> Any:
        path = os.fspath(module_path)
        folder = os.path.dirname(path) if path.endswith("__init__.py") else path  # noqa: PTH120 - as transformers does it
        if folder in found:
            return _copy(found[folder])
        result = search(module_path)
        found[folder] = _copy(result)
        return result

    if hasattr(search, "cache_clear"):  # it is a cache itself, by the very path that it is asked for

        def cache_clear() -> None:
            found.clear()
            search.cache_clear()

        methods = {"cache_clear": cache_clear, "cache_info": search.cache_info}
        vars(searched).update(methods, cache_parameters=search.cache_parameters)
    return searched


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(inner) for key, inner in value.items()}
    return set(value) if isinstance(value, set) else value
