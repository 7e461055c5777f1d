"""The cited files as syntax trees: classes, their constructors, statements in a range of lines."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from openmodelatlas.annotation.material import Code
from openmodelatlas.graph.document import Lines
from openmodelatlas.graph.syntax import FileSyntax, parsed

Assigned = tuple[ast.expr, ast.stmt]
"""What is assigned, and the statement that does it."""


class Syntax:
    """Syntax trees of cited files, parsed when they are first asked for.

    A file that this Python cannot parse (it may be written for another version) has no classes and no statements.
    """

    def __init__(self, code: Code) -> None:
        self._code = code
        self._files: dict[str, FileSyntax] = {}
        self._classes: dict[str, dict[str, ast.ClassDef]] = {}
        self._names: dict[str, dict[int, str]] = {}
        self._assigned: dict[ast.FunctionDef, dict[str, list[Assigned]]] = {}

    def tree(self, file: str) -> ast.Module:
        """The tree of a cited file; empty if it does not parse."""
        if file not in self._files:
            self._files[file] = parsed("\n".join(self._code.lines_of(file)))
        return self._files[file].tree

    def classes(self, file: str) -> dict[str, ast.ClassDef]:
        """The top-level classes of a file by name."""
        if file not in self._classes:
            found = (each for each in self.tree(file).body if isinstance(each, ast.ClassDef))
            self._classes[file] = {each.name: each for each in found}
        return self._classes[file]

    def name_at(self, file: str, line: int) -> str | None:
        """Qualified name of the function or class whose definition begins on a line, its decorators included."""
        if file not in self._names:
            self._names[file] = dict(_definitions(self.tree(file), ""))
        return self._names[file].get(line)

    def class_of(self, lines: Lines) -> ast.ClassDef | None:
        """The top-level class whose definition lies in ``lines``."""
        for each in self.classes(lines.file).values():
            if lines.first <= each.lineno <= lines.last and (each.end_lineno or each.lineno) <= lines.last:
                return each
        return None

    def constructors(self, file: str, name: str) -> Iterator[ast.FunctionDef]:
        """``__init__`` of a class, then those of its bases in the same file, nearest first."""
        seen: set[str] = set()
        waiting = [name]
        while waiting:
            current = self.classes(file).get(waiting.pop(0))
            if current is None or current.name in seen:
                continue
            seen.add(current.name)
            for statement in current.body:
                if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
                    yield statement
            waiting += [base.id for base in current.bases if isinstance(base, ast.Name)]

    def assignments_to(self, function: ast.FunctionDef, target: str) -> list[Assigned]:
        """What a function assigns to ``target`` (``self.eps``, ``eps``), in the order of the code."""
        if function not in self._assigned:
            self._assigned[function] = _assignments(function)
        return self._assigned[function].get(target, [])


def _definitions(around: ast.AST, prefix: str) -> Iterator[tuple[int, str]]:
    inside = (statement for name in ("body", "orelse", "finalbody") for statement in getattr(around, name, ()))
    for node in inside:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{prefix}{node.name}"
            yield min([node.lineno, *(each.lineno for each in node.decorator_list)]), name
            yield from _definitions(node, f"{name}.")
        elif isinstance(node, ast.If | ast.Try | ast.With):
            yield from _definitions(node, prefix)


def lines_of(file: str, node: ast.AST) -> Lines:
    """The lines of a statement or expression."""
    first = node.lineno  # type: ignore[attr-defined]
    return Lines(file=file, first=first, last=node.end_lineno or first)  # type: ignore[attr-defined]


def attribute_path(node: ast.AST) -> list[str] | None:
    """``["self", "config", "eps"]`` for ``self.config.eps``; ``None`` for anything but names joined by dots."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return [node.id, *reversed(parts)]


def _assignments(function: ast.FunctionDef) -> dict[str, list[Assigned]]:
    """What a function assigns, by target as it is written."""
    found: dict[str, list[Assigned]] = {}
    for statement in ast.walk(function):
        if isinstance(statement, ast.Assign):
            targets, value = statement.targets, statement.value
        elif isinstance(statement, ast.AnnAssign | ast.AugAssign) and statement.value is not None:
            targets, value = [statement.target], statement.value
        else:
            continue
        # What one of several names gets of `a, self.b = made()` is the call as a whole.
        unpacked = [part for each in targets for part in (each.elts if isinstance(each, ast.Tuple) else (each,))]
        for target in dict.fromkeys(map(ast.unparse, unpacked)):
            found.setdefault(target, []).append((value, statement))
    return {target: sorted(each, key=lambda pair: pair[1].lineno) for target, each in found.items()}
