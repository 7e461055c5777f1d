"""Reads Python source as text: what it defines and what it imports. Nothing here runs it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from openmodelatlas.errors import ConfigurationError, SourceError, SourceNotFoundError
from openmodelatlas.sources.files import read_text_bytes

AUTO_CLASSES = ("AutoModelForCausalLM", "AutoModelForImageTextToText", "AutoModelForConditionalGeneration", "AutoModel")
"""Keys of ``auto_map`` in the order they are preferred; other ``AutoModelFor…`` come after them, by name."""


def parse_file(file: Path, name: str) -> ast.Module:
    """Syntax tree of ``file``; messages call it ``name``.

    Raises:
        SourceError: the file cannot be read, is not UTF-8, or is not Python (with the line).
    """
    try:
        return ast.parse(read_text_bytes(file, name), filename=name)
    except SyntaxError as error:
        raise SourceError(
            f"The file is not Python that this interpreter can parse: {error.msg}.", where=f"{name}:{error.lineno}"
        ) from error
    except RecursionError as error:
        raise SourceError("The file is nested too deeply to be parsed.", where=name) from error


def entry_of_repository(configuration: Mapping[str, Any], root: Path, paths: tuple[str, ...], name: str) -> str | None:
    """Class that a repository's own code offers for ``configuration``: ``modeling_deepseek.DeepseekV3ForCausalLM``.

    ``auto_map`` decides; without one, the first of ``architectures`` that a ``*.py`` at the top defines.

    Args:
        configuration: the repository's ``config.json``.
        root: folder on this machine that ``paths`` are relative to.
        paths: POSIX paths of the files of the repository.
        name: how messages call the repository.

    Returns:
        ``None`` if the repository has no model code of its own.

    Raises:
        ConfigurationError: ``auto_map`` is malformed or points into another repository.
        SourceNotFoundError: ``auto_map`` or an import names a file or class that the repository does not hold.
        SourceError: the code cannot be parsed.
    """
    entry = _entry_of_auto_map(configuration, name) or _entry_of_architectures(configuration, root, paths)
    if entry is None:
        return None
    module, _, class_name = entry.rpartition(".")
    path = module.replace(".", "/") + ".py"
    if path not in paths:
        raise SourceNotFoundError(f"The repository does not hold {path}, which its config.json names.", where=name)
    if not defines(parse_file(root / path, path), class_name):
        raise SourceNotFoundError(f"The file defines no {class_name}, which config.json names.", where=path)
    check_relative_imports(root, path, paths, name)
    return entry


def defines(tree: ast.Module, name: str) -> bool:
    """Whether ``tree`` binds ``name`` at its top level (or may: a star import or a module ``__getattr__``)."""
    return any(bound in {name, "*", "__getattr__"} for bound in _bound_names(tree.body))


def check_relative_imports(root: Path, path: str, paths: tuple[str, ...], name: str) -> None:
    """Checks that what ``path`` imports from its own repository is there, and what that imports, and so on.

    Imports that may not run when their file does are left alone: those inside of functions, ``try``,
    ``with`` and ``if``.

    Raises:
        SourceNotFoundError: with the file and line of the import that has no file.
        SourceError: a file cannot be parsed.
    """
    waiting, seen = [path], {path}
    while waiting:
        current = waiting.pop()
        for target, line in relative_imports(_run_with(parse_file(root / current, current)), current):
            found = next((path for path in (f"{target}.py", f"{target}/__init__.py") if path in paths), None)
            if found is None and not any(path.startswith(f"{target}/") for path in paths):
                raise SourceNotFoundError(
                    f"The code imports {target}.py, which {name} does not hold.", where=f"{current}:{line}"
                )
            if found is not None and found not in seen:
                seen.add(found)
                waiting.append(found)


def relative_imports(nodes: Iterable[ast.AST], path: str) -> Iterator[tuple[str, int]]:
    """POSIX paths without suffix that ``nodes`` of the file ``path`` import relatively, with the line.

    ``from . import name`` counts as the module ``name`` only if no package file could define it, so it is left out
    when ``path`` lies in a folder.
    """
    for node in nodes:
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        folder = PurePosixPath(path).parent
        for _ in range(node.level - 1):
            folder = folder.parent
        if node.module:
            yield (folder / node.module.replace(".", "/")).as_posix(), node.lineno
        elif folder == PurePosixPath("."):
            for alias in node.names:
                yield alias.name, node.lineno


def absolute_imports(tree: ast.Module) -> set[str]:
    """POSIX paths without suffix of the modules that ``tree`` may import absolutely, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return {name.replace(".", "/") for name in names}


def _entry_of_auto_map(configuration: Mapping[str, Any], name: str) -> str | None:
    text = configuration.get("text_config")
    if isinstance(text, dict):  # a text model that is taken out of one with pictures brings its own names
        _referred(text, f"{name}/config.json, text_config.auto_map")
    referred = _referred(configuration, f"{name}/config.json, auto_map")
    others = sorted(key for key in referred if key.startswith("AutoModel") and key not in AUTO_CLASSES)
    return next((referred[key] for key in (*AUTO_CLASSES, *others) if key in referred), None)


def _referred(configuration: Mapping[str, Any], where: str) -> dict[str, str]:
    """``file.Class`` of the configuration and model classes in the ``auto_map`` of ``configuration``, by key."""
    auto_map = configuration.get("auto_map")
    if auto_map is None:
        return {}
    if not isinstance(auto_map, dict):
        raise ConfigurationError("auto_map is not an object.", where=where)
    keys = [key for key in auto_map if key == "AutoConfig" or key.startswith("AutoModel")]
    return {key: _reference(auto_map[key], f"{where}.{key}") for key in keys if auto_map[key] is not None}


def _reference(value: object, where: str) -> str:
    if not isinstance(value, str) or "." not in value:
        raise ConfigurationError(f"{value!r} does not name a file and a class.", where=where)
    if "--" in value:
        other, _, _ = value.partition("--")
        raise ConfigurationError(
            f"The code lies in another repository, {other}; two sources are never mixed.",
            where=where,
            advice=f"Build {other} with --config and this configuration.",
        )
    if not all(part.isidentifier() for part in value.split(".")):
        raise ConfigurationError(f"{value!r} is not a file and a class of this repository.", where=where)
    return value


def _entry_of_architectures(configuration: Mapping[str, Any], root: Path, paths: tuple[str, ...]) -> str | None:
    names = configuration.get("architectures") or []
    names = [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
    modules = [path for path in paths if path.endswith(".py") and "/" not in path and path[:-3].isidentifier()]
    if not names or not modules:
        return None
    trees = {path: parse_file(root / path, path) for path in modules}
    for name in names:
        for path, tree in trees.items():
            if any(isinstance(node, ast.ClassDef) and node.name == name for node in tree.body):
                return f"{path[:-3]}.{name}"
    return None


def _bound_names(body: list[ast.stmt]) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name
        elif isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (leaf.id for target in targets for leaf in ast.walk(target) if isinstance(leaf, ast.Name))
        elif isinstance(node, ast.If | ast.Try | ast.With):
            for field in ("body", "orelse", "finalbody"):
                yield from _bound_names(getattr(node, field, []))
            for handler in getattr(node, "handlers", []):
                yield from _bound_names(handler.body)


def _run_with(scope: ast.Module | ast.ClassDef) -> Iterator[ast.stmt]:
    """The statements that certainly run when their file does."""
    for node in scope.body:
        yield node
        if isinstance(node, ast.ClassDef):
            yield from _run_with(node)
