"""Factories and reference models: modules on this machine, found as files and read as text, never imported here."""

from __future__ import annotations

import ast
import sys
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from openmodelatlas.errors import SourceNotFoundError, UsageError
from openmodelatlas.sources.code import absolute_imports, defines, parse_file, relative_imports
from openmodelatlas.sources.files import content_revision, hash_files
from openmodelatlas.sources.source import Source

REFERENCE_PACKAGE = "openmodelatlas.reference"
REFERENCE_CALLABLE = "build"


def factory_source(module: str, callable_name: str, configuration: dict[str, Any], origin: str) -> Source:
    """Source of ``package.module:factory``, a callable that makes an ``nn.Module``.

    The module is looked for in the current folder first and then on ``sys.path``, without importing any package. It is
    trusted: naming a callable of one's own installation is asking for it to be run.

    Raises:
        UsageError: the names are not those of a module and a callable.
        SourceNotFoundError: no such module, or it defines no such name.
        SourceError: its file cannot be read or parsed.
    """
    if not all(part.isidentifier() for part in module.split(".")) or not callable_name.isidentifier():
        raise UsageError(
            f"'{module}:{callable_name}' is not the name of a callable.", advice="Give package.module:factory."
        )
    file, root = find_module(module)
    path = file.relative_to(root).as_posix()
    if not defines(parse_file(file, path), callable_name):
        raise SourceNotFoundError(f"The module defines no {callable_name}.", where=path)
    files = hash_files(root, [path])
    return Source(
        kind="factory",
        repository=f"{module}:{callable_name}",
        revision=content_revision(files),
        root=root,
        files=files,
        entry=f"{module}:{callable_name}",
        configuration=configuration,
        configuration_origin=origin,
        trusted=True,
    )


def reference_source(name: str, configuration: dict[str, Any], origin: str) -> Source:
    """Source of ``reference:NAME``, one of our own readable models, with the files it imports from its package.

    Args:
        name: ``kimi-k3``; its module is ``openmodelatlas.reference.kimi_k3``.
        configuration: the true configuration.
        origin: where it was read from.

    Raises:
        UsageError: the name cannot be a module's.
        SourceNotFoundError: there is no such reference model.
    """
    from openmodelatlas import __version__

    module = name.replace("-", "_")
    if not module.isidentifier():
        raise UsageError(f"{name!r} is not the name of a reference model.")
    package = Path(__file__).resolve().parent.parent / "reference"
    file = next((f for f in (package / f"{module}.py", package / module / "__init__.py") if f.is_file()), None)
    if file is None:
        known = ", ".join(reference_names(package)) or "none in this installation"
        raise SourceNotFoundError(f"There is no reference model {name!r}.", advice=f"There are: {known}.")
    root = package.parent.parent
    paths = _with_imports(file, root, package)
    return Source(
        kind="reference",
        repository=f"reference:{name}",
        revision=__version__,
        root=root,
        files=hash_files(root, paths),
        entry=f"{REFERENCE_PACKAGE}.{module}:{REFERENCE_CALLABLE}",
        configuration=configuration,
        configuration_origin=origin,
        trusted=True,
    )


def reference_names(package: Path) -> tuple[str, ...]:
    """Names of the reference models in ``package``: modules that define ``build``, sorted."""
    modules = [*package.glob("*.py"), *package.glob("*/__init__.py")] if package.is_dir() else []
    names = set()
    for file in modules:
        name = file.parent.name if file.name == "__init__.py" else file.stem
        if not name.startswith("_") and defines(parse_file(file, file.name), REFERENCE_CALLABLE):
            names.add(name.replace("_", "-"))
    return tuple(sorted(names))


def find_module(module: str) -> tuple[Path, Path]:
    """Source file of ``module`` and the folder on the path that its top package lies in. Imports nothing.

    Raises:
        SourceNotFoundError: there is no such module, or it has no Python source.
    """
    folders: list[str] | None = [str(Path.cwd()), *(entry or str(Path.cwd()) for entry in sys.path)]
    parts = module.split(".")
    root: Path | None = None
    origin: str | None = None
    for depth in range(len(parts)):
        name = ".".join(parts[: depth + 1])
        spec = PathFinder.find_spec(parts[depth], folders)
        if spec is None:
            raise SourceNotFoundError(
                f"There is no module {name}.", where=module, advice="Install it, or start in the folder that holds it."
            )
        locations = list(spec.submodule_search_locations or ())
        origin = spec.origin
        if root is None:
            root = Path(locations[0]).parent if locations else Path(origin or "").parent
        folders = locations
    if origin is None or not origin.endswith(".py") or root is None:
        raise SourceNotFoundError("The module has no Python source.", where=module)
    return Path(origin).resolve(), root.resolve()


def _with_imports(file: Path, root: Path, package: Path) -> list[str]:
    """POSIX paths below ``root`` of ``file`` and everything it imports from within ``package``, sorted."""
    waiting, found = [file], {file}
    while waiting:
        current = waiting.pop()
        path = current.relative_to(root).as_posix()
        tree = parse_file(current, path)
        for target in {target for target, _ in relative_imports(ast.walk(tree), path)} | absolute_imports(tree):
            for candidate in (root / f"{target}.py", root / target / "__init__.py"):
                if candidate.is_file() and candidate.is_relative_to(package) and candidate not in found:
                    found.add(candidate)
                    waiting.append(candidate)
    return sorted(path.relative_to(root).as_posix() for path in found)
