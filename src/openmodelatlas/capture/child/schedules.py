"""Configuration keys by which the code counts its layers: ``layer_idx % config.group_size``.

Layers that differ by such a key differ otherwise once the key is shrunk, while depth stays true. What kinds of keys are
schedules is known by name for many (:mod:`.kinds`); these are found in the code itself, whatever they are called.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Set

REASON = "Kept: the code counts layers with it."

_NUMBER = re.compile(r"layer|block|depth|\b(idx|index|number|i|j|l|n)\b", re.IGNORECASE)
_SIZE = re.compile(r"size|dim|shape|width|heads|len|tokens|channels", re.IGNORECASE)


def schedule_keys(texts: Iterable[str], keys: Set[str]) -> set[str]:
    """Those of ``keys`` (last parts of dotted paths) that a layer number is divided by or compared with.

    Args:
        texts: sources; one that does not parse has none.
        keys: what the configuration sets.
    """
    found: set[str] = set()
    for text in texts:
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError):
            continue
        names = {name for node in ast.walk(tree) for name in _divisors(node)}
        found |= names & keys
        found |= {key for name, key in _renamed(tree) if name in names and key in keys}
    return found


def _divisors(node: ast.AST) -> Iterator[str]:
    """Names that a layer number is divided by or compared with."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.FloorDiv):
        if _is_number(node.left):
            yield from _last_name(node.right)
    elif isinstance(node, ast.Compare) and len(node.comparators) == 1:
        left, right = node.left, node.comparators[0]
        if _is_number(left):
            yield from _last_name(right)
        if _is_number(right):
            yield from _last_name(left)


def _is_number(node: ast.expr) -> bool:
    """Whether an expression is a layer number, as far as its names tell."""
    last = ast.unparse(node)
    return _NUMBER.search(last) is not None and _SIZE.search(last) is None


def _last_name(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr


def _renamed(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """What is assigned from one attribute: ``self.period = config.group_size`` gives ``period``, ``group_size``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Attribute):
            for target in node.targets:
                for name in _last_name(target):
                    yield name, node.value.attr
