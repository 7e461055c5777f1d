"""Imports the files of a source as a package, executing exactly the bytes whose hashes were pinned.

The files appear under a package name of our own, so that relative imports between them work as they do under
``trust_remote_code``; a plain ``import configuration_x`` of a sibling works as well, after everything installed had
its turn. A file is read once: the bytes that are hashed are the bytes that are compiled.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from openmodelatlas.errors import HashMismatchError, ModelCodeError, SourceNotFoundError

PACKAGE = "openmodelatlas_source"


def read_verified(root: Path, path: str, files: Mapping[str, str]) -> bytes:
    """Bytes of ``path`` below ``root``, after comparison with the SHA-256 that ``files`` pins it to.

    Raises:
        HashMismatchError: the bytes differ from the pinned hash.
        SourceNotFoundError: the file cannot be read.
    """
    try:
        data = (root / path).read_bytes()
    except OSError as error:
        raise SourceNotFoundError(f"The source's file cannot be read ({error.strerror}).", where=path) from error
    expected = files.get(path)
    if expected is not None and hashlib.sha256(data).hexdigest() != expected:
        raise HashMismatchError(
            "The file differs from the hash it is pinned to.", where=path, advice="Fetch the source again."
        )
    return data


class SourceFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds ``PACKAGE`` and what is in it, and lone siblings by their plain names."""

    def __init__(self, root: Path, files: Mapping[str, str]) -> None:
        self.root = root
        self.files = files
        self.paths: dict[str, tuple[str, bool]] = {PACKAGE: ("", True)}
        for path in files:
            if path.endswith(".py"):
                self._add(path)

    def _add(self, path: str) -> None:
        parts = path[:-3].split("/")
        for depth in range(1, len(parts)):
            folder = ".".join(parts[:depth])
            self.paths.setdefault(f"{PACKAGE}.{folder}", ("", True))
        if parts[-1] == "__init__":
            self.paths[".".join([PACKAGE, *parts[:-1]])] = (path, True)
        else:
            self.paths[".".join([PACKAGE, *parts])] = (path, False)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Spec of one of the source's modules; ``None`` for every other name."""
        name = fullname
        if name not in self.paths and f"{PACKAGE}.{fullname}" in self.paths:
            name = f"{PACKAGE}.{fullname}"
        if name not in self.paths:
            return None
        file, is_package = self.paths[name]
        origin = str(self.root / file) if file else None
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=origin, is_package=is_package)
        spec.has_location = bool(file)
        spec.loader_state = name
        return spec

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        """One module object for both names of a sibling, so that its classes exist once."""
        name = spec.loader_state
        return sys.modules.get(name) if spec.name != name else None

    def exec_module(self, module: types.ModuleType) -> None:
        """Compile and run the verified bytes.

        Raises:
            HashMismatchError: the bytes differ from the pinned hash.
            ModelCodeError: the file is not UTF-8 or does not parse.
        """
        spec = module.__spec__
        assert spec is not None
        if spec.name != spec.loader_state:
            if getattr(module, "__file__", None) is None or spec.loader_state not in sys.modules:
                real = importlib.import_module(spec.loader_state)
                sys.modules[spec.name] = real
            return
        file, _ = self.paths[spec.loader_state]
        if not file:
            return
        data = read_verified(self.root, file, self.files)
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data[: error.start].count(b"\n") + 1
            raise ModelCodeError(f"The file is not UTF-8 (byte {error.start}).", where=f"{file}:{line}") from error
        try:
            code = compile(data, str(self.root / file), "exec", dont_inherit=True)
        except SyntaxError as error:
            raise ModelCodeError(f"The file does not parse: {error.msg}.", where=f"{file}:{error.lineno}") from error
        exec(code, module.__dict__)  # noqa: S102 - running the model's own code is the purpose of the child


def install(root: Path, files: Mapping[str, str]) -> SourceFinder:
    """Make the source importable; called once in the child process."""
    finder = SourceFinder(root, files)
    sys.meta_path.append(finder)
    return finder


def attribute(finder: SourceFinder, reference: str) -> Any:
    """The class or function that ``file.Name`` (as in ``auto_map``) names.

    Raises:
        SourceNotFoundError: there is no such file or name in the source.
    """
    module_name, _, name = reference.rpartition(".")
    if "--" in module_name:
        repository, _, module_name = module_name.partition("--")
        if f"{PACKAGE}.{module_name}" not in finder.paths:
            raise SourceNotFoundError(
                f"{reference} names code of another repository, {repository}.",
                advice=f"Build from {repository}, with this configuration.",
            )
    if f"{PACKAGE}.{module_name}" not in finder.paths:
        raise SourceNotFoundError(f"The source holds no file {module_name.replace('.', '/')}.py.", where=reference)
    module = importlib.import_module(f"{PACKAGE}.{module_name}")
    if not hasattr(module, name):
        raise SourceNotFoundError(f"{module_name}.py defines no {name}.", where=reference)
    return getattr(module, name)
