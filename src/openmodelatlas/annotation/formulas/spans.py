"""The characters in the code that an operation's operands and results are."""

from __future__ import annotations

import ast
import re
from typing import Any

from openmodelatlas.annotation.formulas.calls import Call, Operand, in_order
from openmodelatlas.annotation.material import Code
from openmodelatlas.annotation.operation_table import OPERATIONS
from openmodelatlas.capture.recording import Form
from openmodelatlas.graph.document import Document, Lines, Node
from openmodelatlas.graph.operands import handed_nodes, operand_nodes
from openmodelatlas.graph.syntax import FileSyntax, Position, parsed, position
from openmodelatlas.graph.text import one_line

_LONGEST = 40


class Spans:
    """Finds expressions in the cited files, each of which is parsed once."""

    def __init__(self, document: Document, code: Code) -> None:
        self._document = document
        self._code = code
        self._files: dict[str, FileSyntax] = {}

    def operands(self, call: Call) -> dict[Operand, Lines]:
        """Where the code names each operand; those that it does not name are absent."""
        found: dict[Operand, Lines] = {}
        for operand, node in zip(call.operands, self._nodes(call), strict=True):
            found_node = node if node is not None else self._guessed(call, operand)
            if found_node is not None and call.node.symbol is not None:
                found[operand] = self._lines(call.node.symbol.lines.file, position(found_node))
        return found

    def results(self, node: Node, count: int) -> list[Lines]:
        """Where the code names each of ``count`` results: what they are assigned to, or the whole expression."""
        if node.symbol is None:
            return []
        file, where = self._place(node)
        whole = file.at(where)
        targets = self._targets(file, whole)
        name = node.symbol.lines.file
        if len(targets) == count:
            return [self._lines(name, position(target)) for target in targets]
        return [self._lines(name, position(whole) if isinstance(whole, ast.expr) else where)] * count

    def text(self, call: Call, name: str, path: tuple[int, ...] = ()) -> str | None:
        """The code of the argument called ``name``, or of the item at ``path`` in it; ``None`` if long or not found."""
        if call.node.symbol is None or call.node.kind == "module":
            return None
        file, where = self._place(call.node)
        node: ast.expr | None = None
        for steps in range(len(path), -1, -1):
            place = self._argument(call, name, path[:steps])
            node = operand_nodes(file, where, _form(call), [place])[0] if place is not None else None
            rest = path[steps:]
            if isinstance(node, ast.Slice) and len(rest) == 1:
                node = (node.lower, node.upper, node.step)[rest[0]]
                break
            if node is not None and not rest:
                break
            node = None
        if node is None or isinstance(node, ast.Starred | ast.Constant):
            return None
        kept = _kept_slice(file, node) if isinstance(node, ast.Name) else None
        text = kept if kept is not None else one_line(file.segment(position(node)))
        return text if len(text) <= _LONGEST else None

    def _argument(self, call: Call, name: str, path: tuple[int, ...]) -> tuple[int | str, ...] | None:
        """Where an argument, or an item of it, stands in the call."""
        given = {**call.node.arguments, **call.node.operands}
        if name in given:
            return (name, *path)
        signature = OPERATIONS.get(call.name, ("", ""))[0].split()
        if name in signature:
            return (signature.index(name), *path)
        if f"*{name}" not in signature:
            return None
        first = signature.index(f"*{name}")
        if isinstance(given.get(str(first)), dict):  # ``view((a, b))``
            return (first, *path)
        return (first + path[0], *path[1:]) if path else None

    def file(self, path: str) -> FileSyntax:
        """A cited file, parsed."""
        if path not in self._files:
            self._files[path] = parsed("\n".join(self._code.lines_of(path)))
        return self._files[path]

    def segment(self, lines: Lines) -> str:
        """The characters at ``lines``."""
        rows = [*self._code.lines_of(lines.file)[lines.first - 1 : lines.last]]
        rows[-1] = rows[-1][: lines.end_column]
        rows[0] = rows[0][lines.column or 0 :]
        return "\n".join(rows)

    def _nodes(self, call: Call) -> list[ast.expr | None]:
        if call.node.symbol is None:
            return [None] * len(call.operands)
        file, where = self._place(call.node)
        if call.node.kind != "module":
            paths = [_path(operand) for operand in call.operands]
            return operand_nodes(file, where, _form(call), paths)
        handed = handed_nodes(file, where)
        given = [operand for operand in call.operands if not is_parameter(operand, call)]
        places: dict[Operand, ast.expr | None] = {}
        if len(handed) >= len(given):
            places = dict(zip(given, handed, strict=False))
        whole = file.at(where)
        if isinstance(whole, ast.Call):  # the weights are what the module is
            places.update({operand: whole.func for operand in call.operands if operand not in places})
        return [places.get(operand) for operand in call.operands]

    def _guessed(self, call: Call, operand: Operand) -> ast.expr | None:
        """The operand where the order of the call does not tell: by its name, or as the only one that can be it."""
        if call.node.symbol is None:
            return None
        file, where = self._place(call.node)
        node = file.at(where)
        if isinstance(node, ast.BinOp) and len(call.operands) == 1:
            return self._side(file, node, operand)
        if len(operand.place) > 1:  # ``torch.cat(outputs)``: the list stands for its items
            outer = operand_nodes(file, where, _form(call), [_path(operand)[:1]])[0]
            return None if isinstance(outer, ast.Starred) else outer
        if isinstance(node, ast.Name | ast.Attribute) and len(call.operands) == 1:  # ``for row in rows``
            return node
        return None

    def _side(self, file: FileSyntax, node: ast.BinOp, operand: Operand) -> ast.expr | None:
        """Of ``variance + self.eps``, the side that is the tensor: called like it, or else not an attribute."""
        sides = [node.left, node.right]
        named = [side for side in sides if file.segment(position(side)) in self._names(operand)]
        if len(named) == 1:
            return named[0]
        held = [side for side in sides if isinstance(side, ast.Attribute)]
        plain = [side for side in sides if isinstance(side, ast.Name)]
        owned = operand.name in self._document.parameters
        chosen = held if owned else plain
        return chosen[0] if len(chosen) == 1 and len(held) == 1 and len(plain) == 1 else None

    def _names(self, operand: Operand) -> set[str]:
        node = self._document.nodes.get(operand.name)
        if node is not None and node.tensor is not None:
            return {node.tensor.variable} if node.tensor.variable else set()
        last = operand.name.rpartition(".")[2]
        return {last, f"self.{last}"}

    def _targets(self, file: FileSyntax, node: ast.AST | None) -> list[ast.expr]:
        if isinstance(node, ast.AugAssign):
            return [node.target]
        parent = file.parent(node) if node is not None else None
        if isinstance(parent, ast.Assign) and node is parent.value and len(parent.targets) == 1:
            target = parent.targets[0]
            return list(target.elts) if isinstance(target, ast.Tuple | ast.List) else [target]
        if isinstance(parent, ast.AnnAssign) and node is parent.value:
            return [parent.target]
        return []

    def _place(self, node: Node) -> tuple[FileSyntax, Position]:
        assert node.symbol is not None
        lines = node.symbol.lines
        file = self.file(lines.file)
        column = _bytes(file, lines.first, lines.column or 0)
        end = _bytes(file, lines.last, lines.end_column if lines.end_column is not None else 10**6)
        return file, (lines.first, column, lines.last, end)

    def _lines(self, path: str, where: Position) -> Lines:
        file = self.file(path)
        line, column, end_line, end_column = where
        return Lines(
            file=path,
            first=line,
            last=end_line,
            column=_characters(file, line, column),
            end_column=_characters(file, end_line, end_column),
        )


def _kept_slice(file: FileSyntax, name: ast.Name) -> str | None:
    """The code of the slice that a name stands for, constants of the module as numbers; ``None`` if it is none."""
    function = file.parent(name)
    while function is not None and not isinstance(function, ast.FunctionDef):
        function = file.parent(function)
    if function is None:
        return None
    assigned = [node for node in ast.walk(function) if _assigns(node, name.id)]
    if len(assigned) != 1 or not isinstance(assigned[0], ast.Assign) or not isinstance(assigned[0].value, ast.Call):
        return None
    value = assigned[0].value
    if not isinstance(value.func, ast.Name) or value.func.id != "slice":
        return None
    return one_line(re.sub(r"[A-Z][A-Z0-9_]*\b", lambda match: _constant(file, match[0]), ast.unparse(value)))


def _constant(file: FileSyntax, name: str) -> str:
    """The number that a module gives to a name, once and on a line of its own; else the name."""
    given = [line for line in file.lines if line.startswith(name) and re.match(rf"{name}(: \w+)? = ", line)]
    number = re.fullmatch(r".* = (\d+)\s*(#.*)?", given[0]) if len(given) == 1 else None
    return number[1] if number is not None else name


def _assigns(node: ast.AST, name: str) -> bool:
    """Whether a statement gives a value to a name."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return any(isinstance(target, ast.Name) and target.id == name for target in targets)


def is_parameter(operand: Operand, call: Call) -> bool:
    """Whether an operand of a module is one of its own parameters rather than what it was handed."""
    return operand.name in call.node.parameters


def _path(operand: Operand) -> tuple[int | str, ...]:
    first, *rest = operand.place
    return (int(first) if str(first).isdecimal() else first, *rest)


def _form(call: Call) -> Form:
    """The call in the form that :mod:`openmodelatlas.graph.operands` reads."""
    node = call.node
    encoded = in_order({**node.arguments, **node.operands})
    positions = [int(key) for key in encoded if key.isdecimal()]
    arguments: list[Any] = [encoded.get(str(index)) for index in range(max(positions, default=-1) + 1)]
    keywords = {key: value for key, value in encoded.items() if not key.isdecimal()}
    return Form(node.function or "", -1, arguments, keywords)


def _bytes(file: FileSyntax, line: int, column: int) -> int:
    text = file.lines[line - 1]
    return column if text.isascii() and column <= len(text) else len(text[:column].encode())


def _characters(file: FileSyntax, line: int, column: int) -> int:
    text = file.lines[line - 1]
    return column if text.isascii() else len(text.encode()[:column].decode(errors="replace"))
