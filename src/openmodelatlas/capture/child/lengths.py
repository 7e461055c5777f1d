"""Lengths that model code writes down as numbers: chunks and switches that no configuration names.

A kernel that works in chunks of 64, or code that takes another path from 65 tokens on, looks like full attention to a
probe of 13 tokens. Such lengths stand in the source as ``CHUNK_SIZE = 64``, ``chunk_size=64`` or ``q_len <= 64``;
probes take more tokens than the largest of them (and, of chunks, different numbers in different probes).
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable
from pathlib import Path

SHORTEST, LONGEST = 16, 256
_CHUNK = re.compile(r"chunk|block_(size|len)", re.IGNORECASE)
_LENGTH = re.compile(r"len|seq|tokens|shape\[(1|-2)\]|size\((1|-2)\)", re.IGNORECASE)


def texts_beside(module_name: str) -> list[str]:
    """Texts of the loaded modules in the package of ``module_name`` (of the module alone, if it is in none)."""
    package = module_name.rpartition(".")[0]
    texts: list[str] = []
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        beside = name == module_name or (bool(package) and name.rpartition(".")[0] == package)
        if beside and file and file.endswith(".py"):
            try:
                texts.append(Path(file).read_text(encoding="utf-8", errors="replace"))
            except OSError:
                continue  # a module without a file to read compares with no length that could be found
    return texts


def written_lengths(texts: Iterable[str]) -> dict[str, int]:
    """Lengths by name: constants and defaults under their own name, numbers in comparisons under ``""`` (the largest).

    Args:
        texts: sources; one that does not parse has none.
    """
    found: dict[str, int] = {}
    for text in texts:
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        for node in ast.walk(tree):
            for name, length in _lengths_of(node):
                if SHORTEST <= length <= LONGEST:
                    found[name] = max(found.get(name, 0), length)
    return found


def _lengths_of(node: ast.AST) -> list[tuple[str, int]]:
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        names = [target.id for target in targets if isinstance(target, ast.Name) and _CHUNK.search(target.id)]
        length = _integer(node.value)
        return [(name, length) for name in names if length is not None]
    if isinstance(node, ast.arguments):
        positional = [*node.posonlyargs, *node.args]
        pairs = [
            *zip(positional[len(positional) - len(node.defaults) :], node.defaults, strict=True),
            *zip(node.kwonlyargs, node.kw_defaults, strict=True),
        ]
        lengths = [(argument.arg, _integer(default)) for argument, default in pairs if _CHUNK.search(argument.arg)]
        return [(name, length) for name, length in lengths if length is not None]
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        if any(_LENGTH.search(ast.unparse(side)) for side in sides if _integer(side) is None):
            return [("", length) for length in map(_integer, sides) if length is not None]
    return []


def _integer(node: ast.AST | None) -> int | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(node.value, bool):
        return node.value
    return None
