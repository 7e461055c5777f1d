"""The installed transformers package as a source. Found and read as files; never imported here."""

from __future__ import annotations

import ast
import difflib
import importlib.metadata
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from openmodelatlas.errors import INSTALL_CAPTURE, SourceError, SourceNotFoundError
from openmodelatlas.sources.code import parse_file
from openmodelatlas.sources.files import hash_files
from openmodelatlas.sources.source import Source

PACKAGE = "transformers"
_MAPPING_FILES = ("auto_mappings.py", "configuration_auto.py")
_FOLDERS = "SPECIAL_MODEL_TYPE_TO_MODULE_NAME"
_CONFIGURATIONS = "CONFIG_MAPPING_NAMES"


def transformers_source(model_type: str, configuration: dict[str, Any], origin: str) -> Source:
    """Source of the installed transformers' code for ``model_type``.

    The folder of a model type is read from the package's own tables, ``models/auto/auto_mappings.py`` in version 5 and
    ``models/auto/configuration_auto.py`` before it (``gemma3_text`` lies in ``models/gemma3``).

    Args:
        model_type: ``deepseek_v3``.
        configuration: the true configuration; empty to use the class's defaults. If it is not of ``model_type`` but
            holds one that is (the ``text_config`` of a model that also sees), that part is taken.
        origin: where the configuration was read from.

    Raises:
        SourceNotFoundError: transformers is not installed, or has no such model type.
        SourceError: the package's files cannot be read.
    """
    configuration, origin = _part_for(model_type, configuration, origin)
    package = find_package()
    folder = package / "models" / _folder_of(package, model_type)
    paths = sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)
    root = package.parent
    return Source(
        kind="transformers",
        repository=PACKAGE,
        revision=installed_version(package),
        root=root,
        files=hash_files(root, [path.relative_to(root).as_posix() for path in paths]),
        entry=model_type,
        configuration=configuration,
        configuration_origin=origin,
        trusted=True,
    )


def find_package() -> Path:
    """Folder of the installed transformers package, found without importing it.

    Raises:
        SourceNotFoundError: it is not installed.
    """
    spec = PathFinder.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise SourceNotFoundError("transformers is not installed.", advice=INSTALL_CAPTURE)
    return Path(spec.origin).parent


def installed_version(package: Path) -> str:
    """Version of the transformers at ``package``, from the metadata of the distribution that lies beside it.

    Raises:
        SourceError: there is none, so that the code cannot be pinned.
    """
    for distribution in importlib.metadata.distributions(name=PACKAGE, path=[str(package.parent)]):
        return distribution.version
    try:  # an editable install keeps its metadata elsewhere
        return importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError as error:
        raise SourceError("The installed transformers has no version in its metadata.", where=str(package)) from error


def _part_for(model_type: str, configuration: dict[str, Any], origin: str) -> tuple[dict[str, Any], str]:
    if configuration.get("model_type") != model_type:
        for key, value in configuration.items():
            if isinstance(value, dict) and value.get("model_type") == model_type:
                return value, f"{key} in {origin}"
    return configuration, origin


def _folder_of(package: Path, model_type: str) -> str:
    tables = _tables(package)
    known = sorted(tables[_CONFIGURATIONS])
    folder = tables[_FOLDERS].get(model_type, model_type.replace("-", "_"))
    if model_type not in known or not (package / "models" / folder).is_dir():
        version = installed_version(package)
        near = difflib.get_close_matches(model_type, known, n=5)
        raise SourceNotFoundError(
            f"transformers {version} has no model type {model_type!r}.",
            advice=f"It has {', '.join(near)}." if near else f"It has {len(known)} others.",
        )
    return folder


def _tables(package: Path) -> dict[str, dict[str, str]]:
    """Pairs of strings written out in the assignments to the tables of the package's automatic mappings."""
    tables: dict[str, dict[str, str]] = {_CONFIGURATIONS: {}, _FOLDERS: {}}
    for file in _MAPPING_FILES:
        path = package / "models" / "auto" / file
        if not path.exists():
            continue
        for node in parse_file(path, f"{PACKAGE}/models/auto/{file}").body:
            targets = node.targets if isinstance(node, ast.Assign) else []
            for target in targets:
                if isinstance(target, ast.Name) and target.id in tables:
                    tables[target.id].update(_string_pairs(node))
    return tables


def _string_pairs(node: ast.AST) -> dict[str, str]:
    pairs = {}
    for inner in ast.walk(node):
        if isinstance(inner, ast.Tuple) and len(inner.elts) == 2:
            key, value = (element.value if isinstance(element, ast.Constant) else None for element in inner.elts)
        elif isinstance(inner, ast.Dict):
            for key_node, value_node in zip(inner.keys, inner.values, strict=True):
                if isinstance(key_node, ast.Constant) and isinstance(value_node, ast.Constant):
                    pairs[str(key_node.value)] = str(value_node.value)
            continue
        else:
            continue
        if isinstance(key, str) and isinstance(value, str):
            pairs[key] = value
    return pairs
