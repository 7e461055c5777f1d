"""Which lines of a class a claim cites: all of a short one; of a long one what makes its parts and what runs them."""

from __future__ import annotations

import ast

from openmodelatlas.annotation.explanations.code import Syntax, attribute_path
from openmodelatlas.annotation.explanations.variants import Variants
from openmodelatlas.annotation.material import Material
from openmodelatlas.graph.document import Lines, Node

SCREEN = 40
"""Lines of code that a reader sees at once."""


class Citing:
    """Finds the lines that claims about nodes cite."""

    def __init__(self, material: Material, syntax: Syntax) -> None:
        self._nodes = material.document.nodes
        self._syntax = syntax
        self._variants = Variants(material.document, syntax)

    def lines(self, node: Node) -> Lines:
        """The lines of ``node.code`` that prove what is claimed of it.

        A function is cited whole, and so is a class that fits on a screen, with the statements behind it that register
        it. A longer class is cited from the statement of its constructor that chooses between its variants, or else
        the first that makes one of its parts, to the last statement that ran.
        """
        code = node.code
        assert code is not None
        definition = self._syntax.class_of(code)
        if definition is None:
            return code
        if code.last - code.first < SCREEN:
            return Lines(file=code.file, first=code.first, last=self._registered(code, definition))
        first = self._first(node, definition) or code.first
        last = max((line for line in self._ran(node, code)), default=code.last)
        return Lines(file=code.file, first=first, last=last) if first <= last else code

    def _first(self, node: Node, definition: ast.ClassDef) -> int | None:
        """The line of the constructor with which what is claimed begins."""
        if node.kind == "layer group":
            chosen = [variant.lines.first for variant in self._variants.of(node)]
            if chosen:
                return min(chosen)
        parts = {
            child.module.rpartition(".")[2]
            for address in node.children
            if (child := self._nodes[address]).kind == "module" and child.module is not None
        }
        for method in definition.body:
            if isinstance(method, ast.FunctionDef) and method.name == "__init__":
                made = [
                    part.lineno for part in ast.walk(method) if isinstance(part, ast.Assign) and _assigns(part, parts)
                ]
                return min(made, default=None)
        return None

    def _ran(self, node: Node, code: Lines) -> list[int]:
        """Last lines of the statements in the class that ran."""
        found = []
        for address in node.children:
            symbol = self._nodes[address].symbol
            if symbol is None or self._nodes[address].kind == "tensor" or symbol.lines.file != code.file:
                continue
            if code.first <= symbol.lines.first and symbol.lines.last <= code.last:
                found.append(symbol.lines.last)
        return found

    def _registered(self, code: Lines, definition: ast.ClassDef) -> int:
        """The last line of the statements right behind a class that name it, such as one that registers it."""
        last = code.last
        for statement in self._syntax.tree(code.file).body:
            if statement.lineno <= code.last:
                continue
            names = (part.id for part in ast.walk(statement) if isinstance(part, ast.Name))
            if not isinstance(statement, ast.Expr) or definition.name not in names:
                break
            last = statement.end_lineno or statement.lineno
        return last


def _assigns(statement: ast.Assign, names: set[str]) -> bool:
    """Whether a statement assigns to an attribute of ``self`` among ``names``."""
    paths = [attribute_path(target) for target in statement.targets]
    return any(path is not None and path[0] == "self" and len(path) == 2 and path[1] in names for path in paths)
