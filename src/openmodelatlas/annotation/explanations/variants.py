"""What a constructor chooses between: the condition by which layers of one class hold different modules."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from openmodelatlas.annotation.explanations.code import Syntax, attribute_path, lines_of
from openmodelatlas.graph.document import Document, Lines, Node

Made = tuple[str, str]
"""Name of an attribute and of the class that its module is made of."""


@dataclass(frozen=True)
class Variant:
    """Layers of one class that hold different modules, and the statement of the constructor that decides it.

    Attributes:
        lines: the statement.
        test: its condition.
        first: configuration key that says how many of the first layers take one way; ``None`` if none does.
        ways: nodes of the modules and the layers that hold them, those of the first layers first.
    """

    lines: Lines
    test: str
    first: str | None
    ways: tuple[tuple[Node, tuple[int, ...]], ...]


class Variants:
    """Finds the variants of layers in one document."""

    def __init__(self, document: Document, syntax: Syntax) -> None:
        self._document = document
        self._syntax = syntax
        self._found: dict[str, tuple[Variant, ...]] = {}

    def of(self, group: Node) -> tuple[Variant, ...]:
        """The variants of a group of layers that has a class, in the order of the code."""
        if group.address not in self._found:
            self._found[group.address] = tuple(self._find(group))
        return self._found[group.address]

    def _find(self, group: Node) -> Iterator[Variant]:
        definition = self._syntax.class_of(group.code) if group.code is not None else None
        if group.code is None or definition is None or group.parent is None:
            return
        around = self._document.nodes[group.parent]
        groups = [self._document.nodes[address] for address in around.children]
        alike = [each for each in groups if each.class_name == group.class_name and each.members]
        for constructor in self._syntax.constructors(group.code.file, definition.name):
            for statement, test, first, second in choices(constructor):
                found = self._variant(group.code.file, constructor, statement, test, (first, second), alike)
                if found is not None:
                    yield found

    def _variant(
        self,
        file: str,
        constructor: ast.FunctionDef,
        statement: ast.stmt,
        test: ast.expr,
        made: tuple[frozenset[Made], frozenset[Made]],
        groups: list[Node],
    ) -> Variant | None:
        """The choice, if the layers divide into those that hold what one way makes and those that hold the other's."""
        ways: list[tuple[Node, tuple[int, ...]]] = []
        for way in made:
            holders = [(module, group) for group in groups for module in self._modules(group) if _made(module) in way]
            if holders:
                members = {number for _, group in holders for number in group.members}
                ways.append((holders[0][0], tuple(sorted(members))))
        every = {number for group in groups for number in group.members}
        if len(ways) != 2 or set(ways[0][1]) & set(ways[1][1]) or set(ways[0][1]) | set(ways[1][1]) != every:
            return None
        ways.sort(key=lambda pair: pair[1])
        count = len(ways[0][1])
        first = None
        if ways[0][1] == tuple(range(1, count + 1)):
            keys = _keys_compared(test, constructor, self._document.configuration)
            first = next((key for key, value in keys.items() if value == count), None)
        return Variant(lines_of(file, statement), " ".join(ast.unparse(test).split()), first, tuple(ways))

    def _modules(self, group: Node) -> Iterator[Node]:
        """The modules of a layer, those within its branches too."""
        for address in group.children:
            child = self._document.nodes[address]
            if child.kind == "module":
                yield child
            elif child.kind == "branch":
                yield from self._modules(child)


def _made(module: Node) -> Made:
    return (module.module or "").rpartition(".")[2], (module.class_name or "").rpartition(".")[2]


def choices(
    constructor: ast.FunctionDef,
) -> Iterator[tuple[ast.stmt, ast.expr, frozenset[Made], frozenset[Made]]]:
    """Statements that make one module or another: ``self.a = X() if … else Y()`` and ``if …: self.a = X() else: …``."""
    for statement in constructor.body:
        for part in ast.walk(statement):
            if isinstance(part, ast.Assign) and isinstance(part.value, ast.IfExp):
                value = part.value
                ways = [frozenset(_assigned(part.targets, side)) for side in (value.body, value.orelse)]
                yield statement, value.test, ways[0], ways[1]
            elif isinstance(part, ast.If) and part.orelse:
                ways = [frozenset(_all_assigned(side)) for side in (part.body, part.orelse)]
                yield statement, part.test, ways[0], ways[1]


def _all_assigned(statements: list[ast.stmt]) -> Iterator[Made]:
    for statement in statements:
        for part in ast.walk(statement):
            if isinstance(part, ast.Assign):
                yield from _assigned(part.targets, part.value)


def _assigned(targets: list[ast.expr], value: ast.expr) -> Iterator[Made]:
    """The attribute and the class of ``self.mlp = DeepseekV3MLP(config)``."""
    path = attribute_path(value.func) if isinstance(value, ast.Call) else None
    for target in targets:
        owner = attribute_path(target)
        if path is not None and owner is not None and owner[0] == "self" and len(owner) == 2:
            yield owner[1], path[-1]


def _keys_compared(
    test: ast.expr, constructor: ast.FunctionDef, configuration: Mapping[str, object]
) -> dict[str, object]:
    """Configuration keys that a condition compares a parameter of the constructor with, and their values."""
    parameters = {each.arg for each in (*constructor.args.args, *constructor.args.kwonlyargs)} - {"self"}
    found: dict[str, object] = {}
    for part in ast.walk(test):
        if not isinstance(part, ast.Compare):
            continue
        sides = [attribute_path(side) for side in (part.left, *part.comparators)]
        if not any(path is not None and (path[-1] in parameters or path[0] == "self") for path in sides):
            continue
        for path in sides:
            if path is not None and len(path) > 1 and path[-1] in configuration:
                found[path[-1]] = configuration[path[-1]]
    return found
