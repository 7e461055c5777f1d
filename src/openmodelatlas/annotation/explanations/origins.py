"""Where a module's constants come from: the published configuration, a default of its class, or the code itself.

An attribute is followed from the module's forward code back to the assignment in its constructor, from there through
the arguments with which the module around it was made, until a configuration key or a literal is reached. Nothing is
evaluated: the chain of expressions is cited, and the value is the one that was seen at run time.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from openmodelatlas.annotation.explanations.code import Syntax, attribute_path, lines_of
from openmodelatlas.graph.document import Document, Lines, Node

_DEEPEST = 5
_CONFIGURATIONS = frozenset({"config", "configuration", "cfg", "args", "params"})


@dataclass(frozen=True)
class Origin:
    """Where a value was written down.

    Attributes:
        keys: configuration keys that decide it, in the order of the code; empty if the code alone does.
        expression: the last expression that computes it, as it stands in the code; ``None`` if that is the bare key.
        default: whether it is the default of a parameter that nobody passed.
        lines: the statements it was followed through, nearest first.
    """

    keys: tuple[str, ...]
    expression: str | None
    default: bool
    lines: tuple[Lines, ...]


class Origins:
    """Finds origins of module attributes in one document."""

    def __init__(self, document: Document, syntax: Syntax) -> None:
        self._document = document
        self._syntax = syntax
        self._found: dict[tuple[str, str], Origin | None] = {}

    def of_attribute(self, node: Node, name: str) -> Origin | None:
        """The origin of ``self.<name>`` of the module ``node``; ``None`` if its constructor does not show it."""
        key = (node.address, name)
        if key not in self._found:
            self._found[key] = self._attribute(node, name, _DEEPEST)
        return self._found[key]

    def _attribute(self, node: Node, name: str, depth: int) -> Origin | None:
        definition = self._definition(node)
        if definition is None or depth == 0:
            return None
        file, class_name = definition
        for constructor in self._syntax.constructors(file, class_name):
            assigned = self._syntax.assignments_to(constructor, f"self.{name}")
            if assigned:
                value, _ = assigned[-1]
                statements = tuple(lines_of(file, statement) for _, statement in assigned)
                found = self._expression(node, file, constructor, value, depth - 1)
                single = len(assigned) == 1
                plain = single and isinstance(value, ast.Name | ast.Attribute)
                return Origin(
                    keys=found.keys,
                    expression=found.expression if plain else "; ".join(ast.unparse(each) for each, _ in assigned),
                    default=found.default and plain,
                    lines=tuple(dict.fromkeys((*statements, *found.lines))),
                )
        return None

    def _definition(self, node: Node) -> tuple[str, str] | None:
        """File and name of the class of a module."""
        if node.code is None or node.class_name is None:
            return None
        found = self._syntax.class_of(node.code)
        return (node.code.file, found.name) if found is not None else None

    def _expression(self, node: Node, file: str, scope: ast.FunctionDef, value: ast.expr, depth: int) -> Origin:
        """What decides ``value``, which stands in the constructor ``scope`` of the module ``node``."""
        keys: list[str] = []
        lines: list[Lines] = []
        default = False
        expression: str | None = None if self._key(value, scope) is not None else ast.unparse(value)
        for part in _names(value):
            found = self._part(node, file, scope, part, depth)
            if found is None:
                continue
            keys += found.keys
            lines += found.lines
            if part is value:
                expression, default = found.expression, found.default
        return Origin(tuple(dict.fromkeys(keys)), expression, default, tuple(dict.fromkeys(lines)))

    def _part(self, node: Node, file: str, scope: ast.FunctionDef, part: ast.expr, depth: int) -> Origin | None:
        key = self._key(part, scope)
        if key is not None:
            return Origin((key,), None, False, ())
        if depth <= 0:
            return None
        path = attribute_path(part)
        if path is not None and path[0] == "self" and len(path) == 2:
            return self._attribute(node, path[1], depth)
        if path is None or len(path) != 1:
            return None
        assigned = self._syntax.assignments_to(scope, path[0])
        if assigned:
            found = self._expression(node, file, scope, assigned[-1][0], depth - 1)
            own = tuple(lines_of(file, statement) for _, statement in assigned)
            return Origin(found.keys, found.expression, found.default, (*own, *found.lines))
        return self._argument(node, file, scope, path[0], depth)

    def _argument(self, node: Node, file: str, scope: ast.FunctionDef, name: str, depth: int) -> Origin | None:
        """What the module around passes for the parameter ``name`` of the constructor, or the parameter's default."""
        names = [each.arg for each in scope.args.args]
        if name not in names and name not in [each.arg for each in scope.args.kwonlyargs]:
            return None
        call, around, call_file, caller = self._construction(node)
        if call is not None and around is not None and caller is not None:
            passed = _passed(call, names, name)
            if passed is not None:
                found = self._expression(around, call_file, caller, passed, depth - 1)
                return Origin(found.keys, found.expression, found.default, (lines_of(call_file, call), *found.lines))
            default = _default(scope, name)
            if default is not None:
                return Origin((), ast.unparse(default), True, (lines_of(file, default),))
        return None

    def _construction(self, node: Node) -> tuple[ast.Call | None, Node | None, str, ast.FunctionDef | None]:
        """The call that made the module ``node``, in the constructor of the module that holds it."""
        nothing = (None, None, "", None)
        if node.module is None or node.class_name is None:
            return nothing
        names = [part for part in node.module.split(".") if part != "*" and not part.isdecimal()]
        if not names:
            return nothing
        own = node.class_name.rpartition(".")[2]
        parent = node.parent
        around: Node | None = None
        while parent is not None:
            around = self._document.nodes[parent]
            parent = around.parent
            definition = self._definition(around)
            if definition is None:
                continue
            for call, constructor in self._made(*definition, names[-1], own):
                return call, around, definition[0], constructor
        # The module that holds it may be no node of its own: one that the model's code calls straight through.
        definition = self._definition(node)
        if definition is None or around is None:
            return nothing
        file = definition[0]
        found = [made for name in self._syntax.classes(file) for made in self._made(file, name, names[-1], own)]
        if len({ast.unparse(call) for call, _ in found}) != 1:
            return nothing
        return found[0][0], around, file, found[0][1]

    def _made(self, file: str, name: str, attribute: str, own: str) -> Iterator[tuple[ast.Call, ast.FunctionDef]]:
        """Calls of the class ``own`` whose result the constructors of a class assign to an attribute."""
        for constructor in self._syntax.constructors(file, name):
            for value, _ in self._syntax.assignments_to(constructor, f"self.{attribute}"):
                for call in ast.walk(value):
                    if isinstance(call, ast.Call) and (attribute_path(call.func) or [""])[-1] == own:
                        yield call, constructor

    def _key(self, part: ast.expr, scope: ast.FunctionDef) -> str | None:
        """The configuration key that an expression such as ``self.config.rms_norm_eps`` reads.

        A local name for a part of the configuration (``delta = configuration.linear_attn_config``) is followed.
        """
        path = _read_path(part)
        if path is None:
            return None
        if path[0] not in _CONFIGURATIONS and len(path) > 1:
            assigned = self._syntax.assignments_to(scope, path[0])
            alias = attribute_path(assigned[-1][0]) if assigned else None
            if alias is not None:
                path = [*alias, *path[1:]]
        if path[0] == "self":
            path = path[1:]
        if len(path) < 2 or path[0] not in _CONFIGURATIONS:
            return None
        return ".".join(path[1:]) if _has(self._document.configuration, path[1:]) else None


def _read_path(part: ast.AST) -> list[str] | None:
    """The names that an attribute chain goes through; ``getattr(config, "head_dim", …)`` is ``config.head_dim``."""
    if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "getattr":
        match part.args:
            case [owner, ast.Constant(value=str(name)), *_]:
                path = attribute_path(owner)
                return None if path is None else [*path, name]
        return None
    return attribute_path(part)


def _names(value: ast.expr) -> list[ast.expr]:
    """The outermost names and attribute chains in an expression, functions that it calls left out."""
    found: list[ast.expr] = []
    waiting: list[ast.AST] = [value]
    while waiting:
        current = waiting.pop(0)
        if isinstance(current, ast.expr) and _read_path(current) is not None:
            found.append(current)
            continue
        if isinstance(current, ast.Call):
            waiting += [*current.args, *(each.value for each in current.keywords)]
            if isinstance(current.func, ast.Attribute):
                waiting.append(current.func.value)
            continue
        waiting += list(ast.iter_child_nodes(current))
    return found


def _passed(call: ast.Call, names: list[str], name: str) -> ast.expr | None:
    """The argument that a call gives for the parameter ``name`` of a constructor whose parameters are ``names``."""
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if name in names:
        position = names.index(name) - 1  # `self` is not passed
        if 0 <= position < len(call.args) and not any(isinstance(each, ast.Starred) for each in call.args):
            return call.args[position]
    return None


def _default(scope: ast.FunctionDef, name: str) -> ast.expr | None:
    positional = scope.args.args
    offset = len(positional) - len(scope.args.defaults)
    for index, each in enumerate(positional):
        if each.arg == name and index >= offset:
            return scope.args.defaults[index - offset]
    for each, given in zip(scope.args.kwonlyargs, scope.args.kw_defaults, strict=True):
        if each.arg == name:
            return given
    return None


def _has(configuration: object, path: list[str]) -> bool:
    for part in path:
        if not isinstance(configuration, dict) or part not in configuration:
            return False
        configuration = configuration[part]
    return True
