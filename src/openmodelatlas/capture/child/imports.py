"""Makes the imports of torch and transformers, a third of a capture, somewhat shorter.

:func:`search_beside`: ``transformers/__init__.py`` and ``transformers/models/__init__.py`` (4.45 and later) both read
all model files for the names in them, with ``utils/import_utils.py:create_import_structure_from_path``; 1,700 files
take 0.2 s each time (5.24.0, measured). A second process reads them while torch is imported, and each is read once.

:func:`load_torch`: the system loads torch's largest libraries, 0.2 s of relocations, beside other imports.

transformers 5 is told that torch has no ``torch.distributed``, which a build of torch may lack: one process without
network has nothing to distribute to, and tensors in parts over devices, with sympy for their sizes, take 0.3 s.

:mod:`.left_out` leaves out what nobody asks for.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import importlib.util
import marshal
import os
import sys
import threading
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import ModuleType
from typing import Any

from openmodelatlas.capture.child.beside import Beside

_MODULE = "transformers.utils.import_utils"
_FUNCTION = "create_import_structure_from_path"
_STANDARD = """
    _csv _datetime _opcode _socket array binascii _contextvars _pickle _blake2 _decimal _hashlib _heapq _json _queue
    _ssl _uuid fcntl unicodedata
"""
_WITH_LIBRARIES = (*_STANDARD.split(), "numpy", "yaml", "markupsafe", "brotli")
"""What the modules of :data:`_BESIDE` import that has libraries: the system loads one at a time."""
_BESIDE = ("openmodelatlas.capture.standins", "huggingface_hub.hf_api", "jinja2.sandbox", "torchgen.model")
_DISTRIBUTED = "is_torch_distributed_available"
_PATIENCE = 0.1  # seconds; searching here takes about twice as long


def load_torch() -> None:
    """Load torch's libraries in a thread, and meanwhile import what will be needed besides.

    Nothing is wrong if they cannot be loaded here or a module is absent: who needs them imports them anyway.
    """
    _import(_WITH_LIBRARIES)
    thread = threading.Thread(target=_load_library)
    thread.start()
    _import(_BESIDE if _is_recent() else ("sympy",))
    thread.join()


def _import(names: Sequence[str]) -> None:
    for name in names:
        with contextlib.suppress(Exception):
            importlib.import_module(name)


def _load_library() -> None:
    """Calls the system itself: ``ctypes.CDLL`` (Python 3.11) keeps other threads waiting until a library is there."""
    with contextlib.suppress(ImportError, OSError, ValueError, AttributeError, TypeError):
        spec = importlib.util.find_spec("torch")
        load = ctypes.CDLL(None).dlopen
        load.restype = ctypes.c_void_p
        for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
            for name in ("libtorch_cpu.so", "libtorch_python.so"):
                load(os.fsencode(Path(folder, "lib", name)), os.RTLD_NOW)


def _is_recent() -> bool:
    """Whether transformers is of version 5 or later (tried with 5.24.0): it asks before it imports what is left out."""
    import importlib.metadata  # takes 10 ms, beside the library

    with contextlib.suppress(importlib.metadata.PackageNotFoundError, ValueError):
        return int(importlib.metadata.version("transformers").partition(".")[0]) >= 5
    return False


def _is_not_available() -> bool:
    return False


class _Search:
    """transformers' own search of its folders, with an answer for every folder that was searched before.

    A folder is asked for by its path or by that of the file ``__init__.py`` in it.
    """

    def __init__(self, beside: Beside | None = None) -> None:
        self.found: dict[str, Any] = {}
        self._beside = beside

    def around(self, search: Any) -> Any:
        """``search``, which has its ``lru_cache`` with it, asked for what is not known yet."""

        @functools.wraps(search)
        def searched(module_path: Any) -> Any:
            path = os.fspath(module_path)
            folder = os.path.dirname(path) if path.endswith("__init__.py") else path  # noqa: PTH120 - as transformers does it
            self._take()
            if folder in self.found:
                return _copy(self.found[folder])
            result = search(module_path)
            self.found[folder] = _copy(result)
            return result

        if hasattr(search, "cache_clear"):  # it is a cache itself, by the very path that it is asked for

            def cache_clear() -> None:
                self.found.clear()
                search.cache_clear()

            methods = {"cache_clear": cache_clear, "cache_info": search.cache_info}
            vars(searched).update(methods, cache_parameters=search.cache_parameters)
        return searched

    def _take(self) -> None:
        """What the second process has found, if it is done."""
        beside, self._beside = self._beside, None
        if beside is not None:
            result = beside.result_within(_PATIENCE)
            if result is not None:
                self.found.update(marshal.loads(result))  # noqa: S302 - from a fork of this process


class _Loader(SourceFileLoader):
    search: _Search

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        function = getattr(module, _FUNCTION, None)
        if function is not None:
            setattr(module, _FUNCTION, self.search.around(function))
        if hasattr(module, _DISTRIBUTED) and _is_recent():
            setattr(module, _DISTRIBUTED, _is_not_available)


class _Finder(MetaPathFinder):
    """Finds the one module, once."""

    def __init__(self, search: _Search) -> None:
        self._search = search

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != _MODULE:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
            spec.loader.search = self._search
        return spec


def search_beside() -> None:
    """From the next import of transformers on, it searches each of its folders once; a second process has begun to."""
    if _MODULE not in sys.modules and not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder(_Search(Beside.start(_search))))


def _search() -> bytes:
    """The whole work of the second process: searches the models, and tells what it found.

    The packages around the module that can do it are empty here: the rest of transformers is not needed.
    """
    spec = PathFinder.find_spec("transformers")
    assert spec is not None
    assert spec.submodule_search_locations
    folder = Path(spec.submodule_search_locations[0])
    for name, place in (("transformers", folder), ("transformers.utils", folder / "utils")):
        package = sys.modules[name] = ModuleType(name)
        package.__path__ = [str(place)]
    models = str(folder / "models")
    return marshal.dumps({models: getattr(importlib.import_module(_MODULE), _FUNCTION)(models)})


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(inner) for key, inner in value.items()}
    return set(value) if isinstance(value, set) else value
