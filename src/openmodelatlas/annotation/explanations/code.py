"""The cited files as syntax trees: classes, their constructors, statements in a range of lines."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from openmodelatlas.annotation.material import Code
from openmodelatlas.graph.document import Lines


class Syntax:
    """Syntax trees of cited files, parsed when they are first asked for.

    A file that this Python cannot parse (it may be written for another version) has no classes and no statements.
    """

    def __init__(self, code: Code) -> None:
        self._code = code
        self._trees: dict[str, ast.Module | None] = {}
        self._classes: dict[str, dict[str, ast.ClassDef]] = {}
        self._names: dict[str, dict[int, str]] = {}

    def tree(self, file: str) -> ast.Module | None:
        """The tree of a cited file; ``None`` if it does not parse."""
        if file not in self._trees:
            try:
                self._trees[file] = ast.parse("\n".join(self._code.lines_of(file)))
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                self._trees[file] = None
        return self._trees[file]

    def classes(self, file: str) -> dict[str, ast.ClassDef]:
        """The top-level classes of a file by name."""
        if file not in self._classes:
            tree = self.tree(file)
            found = [] if tree is None else [each for each in tree.body if isinstance(each, ast.ClassDef)]
            self._classes[file] = {each.name: each for each in found}
        return self._classes[file]

    def name_at(self, file: str, line: int) -> str | None:
        """Qualified name of the function or class whose definition begins on a line, its decorators included."""
        if file not in self._names:
            tree = self.tree(file)
            self._names[file] = {} if tree is None else dict(_definitions(tree, ""))
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


def _definitions(around: ast.AST, prefix: str) -> Iterator[tuple[int, str]]:
    for node in ast.iter_child_nodes(around):
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


def assignments_to(function: ast.FunctionDef, target: str) -> list[tuple[ast.expr, ast.stmt]]:
    """What the function assigns to ``target`` (``self.eps``, ``eps``) and the statements, in the order of the code."""
    found: list[tuple[ast.expr, ast.stmt]] = []
    for statement in ast.walk(function):
        if isinstance(statement, ast.Assign):
            targets, value = statement.targets, statement.value
        elif isinstance(statement, ast.AnnAssign | ast.AugAssign) and statement.value is not None:
            targets, value = [statement.target], statement.value
        else:
            continue
        # What one of several names gets of `a, self.b = made()` is the call as a whole.
        unpacked = [part for each in targets for part in (each.elts if isinstance(each, ast.Tuple) else (each,))]
        if any(ast.unparse(each) == target for each in unpacked):
            found.append((value, statement))
    return sorted(found, key=lambda pair: pair[1].lineno)
