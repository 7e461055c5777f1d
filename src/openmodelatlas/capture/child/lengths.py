"""Lengths that model code writes down as numbers: chunks and switches that no configuration names.

A kernel that works in chunks of 64, or code that takes another path from 65 tokens on, looks like full attention to a
probe of 13 tokens. Such lengths stand in the source as ``CHUNK_SIZE = 64``, ``chunk_size=64``, ``q_len <= 64``,
``range(0, q_len, 64)`` or ``q_len % 64``; probes take more tokens than the largest of them (and, of chunks, different
numbers in different probes).
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from openmodelatlas.capture.child.kinds import flat
from openmodelatlas.capture.child.source_package import PACKAGE

SHORTEST, LONGEST = 8, 256
"""Shorter ones are below the tokens of every probe; longer ones would cost more than they show."""

_CHUNK = re.compile(r"chunk|block_(size|len)", re.IGNORECASE)
_LENGTH = re.compile(r"len|seq|tokens|shape\[(1|-2)\]|size\((dim=)?(1|-2)\)|\b[Tt]\b", re.IGNORECASE)
_CEILING = re.compile(r"cdiv|ceil_?div", re.IGNORECASE)


def texts_beside(module_name: str, files: Container[Path] = ()) -> list[str]:
    """Texts of the loaded modules that are the model's own code.

    These are the module, those of its package, all of a source that is imported as a package of ours, and ``files``.
    Libraries that it calls have lengths too, but of paths that need not be this model's.

    Args:
        module_name: the module that holds the model.
        files: further files of the source.
    """
    package, outermost = module_name.rpartition(".")[0], module_name.partition(".")[0]
    texts: list[str] = []
    for name, module in sorted(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if not file or not file.endswith(".py"):
            continue
        beside = name == module_name or (bool(package) and name.rpartition(".")[0] == package)
        ours = outermost == PACKAGE and name.partition(".")[0] == PACKAGE
        if beside or ours or Path(file) in files:
            try:
                texts.append(Path(file).read_text(encoding="utf-8", errors="replace"))
            except OSError:
                continue  # a module without a file to read compares with no length that could be found
    return texts


def written_lengths(texts: Iterable[str], keys: Container[str] = ()) -> dict[str, int]:
    """Lengths by name: constants and defaults under their own name, the largest of all others under ``""``.

    A name that stands for different lengths in different places names none of them.

    Args:
        texts: sources; one that does not parse has none.
        keys: names that the configuration sets; what the code writes beside them is not what runs.
    """
    found: dict[str, set[int]] = {}
    for text in texts:
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        constants = dict(_constants(tree))
        for node in ast.walk(tree):
            for name, length in _lengths_of(node, constants):
                if length is not None and SHORTEST <= length <= LONGEST and name not in keys:
                    found.setdefault(name, set()).add(length)
    lengths = {name: min(some) for name, some in found.items() if name and len(some) == 1}
    unnamed = max((max(some) for some in found.values()), default=0)
    if unnamed > max(lengths.values(), default=0):
        lengths[""] = unnamed
    return lengths


def last_parts(configuration: dict[str, Any]) -> set[str]:
    """All keys of a configuration, those of nested parts without the names of these parts."""
    return {path.rpartition(".")[2] for path in flat(configuration)}


def _constants(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in tree.body:
        if isinstance(node, ast.Assign | ast.AnnAssign):
            value = _integer(node.value, {})
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name) and value is not None:
                    yield target.id, value


def _lengths_of(node: ast.AST, constants: Mapping[str, int]) -> Iterator[tuple[str, int | None]]:
    if isinstance(node, ast.Assign | ast.AnnAssign):
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            name = target.id if isinstance(target, ast.Name) else getattr(target, "attr", "")
            if _CHUNK.search(name):
                yield name, _integer(node.value, {})
    elif isinstance(node, ast.arguments):
        positional = [*node.posonlyargs, *node.args]
        pairs = [
            *zip(positional[len(positional) - len(node.defaults) :], node.defaults, strict=True),
            *zip(node.kwonlyargs, node.kw_defaults, strict=True),
        ]
        for argument, default in pairs:
            if _CHUNK.search(argument.arg):
                yield argument.arg, _integer(default, constants)
    elif isinstance(node, ast.keyword):
        if node.arg is not None and _CHUNK.search(node.arg):
            yield node.arg, _integer(node.value, constants)
    else:
        yield from (("", length) for length in _compared(node, constants))


def _compared(node: ast.AST, constants: Mapping[str, int]) -> Iterator[int | None]:
    """Numbers that a length is compared with, divided by or stepped through."""
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        if any(_is_length(side, constants) for side in sides):
            yield from (_integer(side, constants) for side in sides)
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.FloorDiv):
        if _is_length(node.left, constants):
            yield _integer(node.right, constants)
    elif isinstance(node, ast.Call):
        called = ast.unparse(node.func)
        steps = called == "range" and len(node.args) == 3
        if steps or (_CEILING.search(called) and len(node.args) == 2 and _is_length(node.args[0], constants)):
            yield _integer(node.args[-1], constants)


def _is_length(node: ast.AST, constants: Mapping[str, int]) -> bool:
    return _integer(node, constants) is None and _LENGTH.search(ast.unparse(node)) is not None


def _integer(node: ast.AST | None, constants: Mapping[str, int]) -> int | None:
    if isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(node.value, bool):
        return node.value
    return constants.get(node.id) if isinstance(node, ast.Name) else None
