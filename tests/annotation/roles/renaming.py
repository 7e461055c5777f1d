"""The source of ``models.py`` with other names, or with one place changed, as a module of its own."""

from __future__ import annotations

import ast
import importlib.util
import io
import random
import tokenize
from pathlib import Path
from types import ModuleType

SOURCE = Path(__file__).parent / "models.py"
_KEPT = {"forward", "self", "sizes", "int", "bool", "range", "zip", "super", "annotations"}


def own_names(text: str) -> set[str]:
    """Names that the source itself gives: classes, functions, arguments, variables, attributes of ``self``."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            names.add(node.name)
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.add(node.attr)
    return {name for name in names if name not in _KEPT and not name.startswith("__")}


def renamed(text: str, seed: int) -> tuple[str, dict[str, str]]:
    """The source with every own name replaced, and the replacements."""
    names = sorted(own_names(text) | {"rates"})
    shuffled = [f"w{index}" for index in range(len(names))]
    random.Random(seed).shuffle(shuffled)
    table = dict(zip(names, shuffled, strict=True))
    result = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        string = token.string
        if token.type == tokenize.NAME:
            string = table.get(string, string)
        elif token.type == tokenize.STRING and string == '"rates"':
            string = f'"{table["rates"]}"'
        result.append((token.type, string))
    return tokenize.untokenize(result), table


def changed(text: str, old: str, new: str) -> str:
    """The source with one place changed.

    Raises:
        AssertionError: the place is not there exactly once.
    """
    assert text.count(old) == 1, old
    return text.replace(old, new)


def load(text: str, folder: Path, name: str) -> ModuleType:
    """The source as a module, written to ``folder``."""
    path = folder / f"{name}.py"
    path.write_text(text)
    specification = importlib.util.spec_from_file_location(name, path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module
