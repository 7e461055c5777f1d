"""Which value a constant has at run time, and where that was written down."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from openmodelatlas.annotation.explanations.code import Syntax, attribute_path, lines_of
from openmodelatlas.annotation.explanations.origins import Origin, Origins
from openmodelatlas.annotation.explanations.rounding import rounded
from openmodelatlas.annotation.knowledge import Statement
from openmodelatlas.annotation.operations import argument_text
from openmodelatlas.graph.document import Document, Lines, Node, Symbol

_MOST = 12
_CAPITALS = re.compile(r"\b[A-Z][A-Z0-9_]+\b")
_CALLABLE = ("module", "layer group", "model")


class Constants:
    """Says of every module and operation which constants it uses."""

    def __init__(self, document: Document, syntax: Syntax) -> None:
        self._document = document
        self._syntax = syntax
        self._origins = Origins(document, syntax)
        self._used: dict[Lines, tuple[str, ...]] = {}

    def statements(self, node: Node) -> list[Statement]:
        """One statement for each constant; none for nodes that use none."""
        if node.kind in _CALLABLE and node.code is not None and node.attributes:
            names = [name for name in self._names_used(node.code) if _is_constant(node.attributes.get(name))]
            said = [each for name in names[:_MOST] for each in self._statement(node, name, f"self.{name}")]
            return [*said, *self._of_buffers(node)]
        if node.kind in ("operation", "loop") and node.symbol is not None:
            return [*self._of_expression(node, node.symbol.text), *self._of_file(node.symbol)]
        return []

    def _of_file(self, symbol: Symbol) -> Iterator[Statement]:
        """The constants of its file that an expression names: ``CHUNK_SIZE``."""
        named = dict.fromkeys(_CAPITALS.findall(symbol.text))
        for statement in self._syntax.tree(symbol.lines.file).body if named else ():
            if not isinstance(statement, ast.Assign | ast.AnnAssign) or not isinstance(statement.value, ast.Constant):
                continue
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                if isinstance(target, ast.Name) and target.id in named and _is_constant(statement.value.value):
                    text = f"`{target.id}` is {_text(statement.value.value)}, a constant of the file."
                    yield Statement(text=text, lines=(lines_of(symbol.lines.file, statement),))

    def _names_used(self, code: Lines) -> tuple[str, ...]:
        """Attributes of ``self`` that the class in these lines reads outside its constructor."""
        if code not in self._used:
            found: list[str] = []
            definition = self._syntax.class_of(code)
            for method in definition.body if definition is not None else ():
                if isinstance(method, ast.FunctionDef) and method.name not in ("__init__", "extra_repr"):
                    found += [
                        each.attr
                        for each in ast.walk(method)
                        if isinstance(each, ast.Attribute)
                        and isinstance(each.value, ast.Name)
                        and each.value.id == "self"
                    ]
            self._used[code] = tuple(dict.fromkeys(found))
        return self._used[code]

    def _of_expression(self, node: Node, text: str) -> Iterator[Statement]:
        """The constants that the expression of an operation names: ``self.eps``, ``self.config.eps``."""
        if "self" not in text:
            return
        try:
            tree = ast.parse(text.strip(), mode="eval")
        except SyntaxError:
            return
        seen: set[str] = set()
        for part in ast.walk(tree):
            path = attribute_path(part) if isinstance(part, ast.Attribute) else None
            if path is None or path[0] != "self" or ".".join(path) in seen:
                continue
            seen.add(".".join(path))
            owner = self._owner(node)
            if len(path) == 2 and owner is not None and _is_constant(owner.attributes.get(path[1])):
                yield from self._statement(owner, path[1], f"self.{path[1]}")

    def _of_buffers(self, node: Node) -> Iterator[Statement]:
        """Buffers that hold one number: its value, and what it is rounded to in the buffer's own type."""
        definition = self._syntax.class_of(node.code) if node.code is not None else None
        if definition is None or node.code is None:
            return
        file = node.code.file
        for fact in (self._document.parameters[name] for name in node.parameters if name in self._document.parameters):
            if fact.kind != "buffer" or fact.shape or fact.owner != node.address:
                continue
            name = fact.name.rpartition(".")[2]
            for constructor in self._syntax.constructors(file, definition.name):
                attribute = next(
                    (each for each in self._same_number(constructor, name) if each in node.attributes), None
                )
                value = node.attributes.get(attribute or "")
                if attribute is None or not isinstance(value, int | float):
                    continue
                found = rounded(float(value), fact.dtype)
                origin = self._origins.of_attribute(node, attribute)
                where = f": {self._origin_text(origin)}" if origin is not None else ""
                into = f" In {fact.dtype} that is {found:.6g}." if found is not None else ""
                text = f"The buffer `{name}` holds {_text(value)}{where}.{into}"
                yield Statement(text=text, lines=origin.lines if origin is not None else (lines_of(file, constructor),))

    def _same_number(self, constructor: ast.FunctionDef, buffer: str) -> Iterator[str]:
        """Attributes that are assigned the number that a constructor makes a buffer of, by ``torch.tensor(number)``."""
        made = [value for value, _ in self._syntax.assignments_to(constructor, f"self.{buffer}")]
        for call in ast.walk(constructor):
            match call:
                case ast.Call(
                    func=ast.Attribute(attr="register_buffer"), args=[ast.Constant(value=name), value, *_]
                ) if name == buffer:
                    made.append(value)
        numbers = [
            ast.unparse(call.args[0])
            for value in made
            for call in ast.walk(value)
            if isinstance(call, ast.Call) and call.args and (attribute_path(call.func) or [""])[-1] == "tensor"
        ]
        for statement in ast.walk(constructor):
            if isinstance(statement, ast.Assign) and ast.unparse(statement.value) in numbers:
                paths = [attribute_path(target) for target in statement.targets]
                yield from (path[1] for path in paths if path is not None and len(path) == 2 and path[0] == "self")

    def _owner(self, node: Node) -> Node | None:
        """The module whose ``self`` the code of ``node`` sees."""
        parent = node.parent
        while parent is not None:
            around = self._document.nodes[parent]
            if around.class_name is not None:
                return around
            parent = around.parent
        return None

    def _statement(self, node: Node, name: str, spoken: str) -> Iterator[Statement]:
        value = _text(node.attributes[name])
        origin = self._origins.of_attribute(node, name)
        if origin is None:
            yield Statement(text=f"`{spoken}` is {value} at run time; its constructor does not show where from.")
        elif origin.keys or origin.default or _is_literal(origin.expression):
            text = f"`{spoken}` is {value}: {self._origin_text(origin)}."
            if origin.expression is None:  # the very value of the key
                text = text.replace(f"` = {value}", "`", 1)
                if tuple(origin.keys) == (name,):
                    defaults = name in self._document.configuration_defaults
                    says = (
                        "by default of the configuration class" if defaults else "as the published configuration says"
                    )
                    text = f"`{spoken}` is {value}, {says}."
            yield Statement(text=text, lines=origin.lines)
        # What another function computes is no origin; the value stands among the attributes.

    def _origin_text(self, origin: Origin) -> str:
        where = self._keys_text(origin.keys)
        if origin.expression is None:
            return where
        text = " ".join(origin.expression.split())
        if origin.keys:
            return f"`{text}`, from {where}"
        if origin.default:
            return f"`{text}`, the default of a parameter that is not passed"
        return f"`{text}`, a constant of the code"

    def _keys_text(self, keys: Iterable[str]) -> str:
        """``key`` = 128 and ``other`` = 64 of the published configuration."""
        published: list[str] = []
        defaults: list[str] = []
        for key in keys:
            value = _lookup(self._document.configuration, key)
            shown = f" = {_text(value)}" if _is_constant(value) and value is not None else ""
            (defaults if key in self._document.configuration_defaults else published).append(f"`{key}`{shown}")
        parts = [f"{' and '.join(published)} of the published configuration"] if published else []
        if defaults:
            whose = "a default" if len(defaults) == 1 else "defaults"
            parts.append(f"{' and '.join(defaults)}, {whose} of the configuration class")
        return " and ".join(parts)


def _is_literal(expression: str | None) -> bool:
    """Whether an expression is written in numbers and words alone: ``30.0``, ``2 ** -0.5``."""
    tree = ast.parse(expression or "None")  # several of them where there are several assignments
    return not any(isinstance(part, ast.Name) for part in ast.walk(tree))


def _is_constant(value: Any) -> bool:
    if isinstance(value, Mapping):
        return "float" in value
    return isinstance(value, bool | int | float | str) and value != ""


def _text(value: Any) -> str:
    if isinstance(value, str):
        return f"`{value}`"
    if isinstance(value, float) and not value.is_integer():
        return f"{value:.6g}"
    return argument_text(value)


def _lookup(configuration: Any, key: str) -> Any:
    for part in key.split("."):
        if not isinstance(configuration, Mapping):
            return None
        configuration = configuration.get(part)
    return configuration
