"""What the text of a source file says about the places that ran: loops, conditions, names, operands.

Positions follow the recordings: lines are 1-based, columns count UTF-8 bytes from 0, end columns are exclusive;
Python's ``ast`` uses the same convention, so that a recorded span finds its node by equality.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from dataclasses import dataclass, field
from functools import cached_property
from weakref import WeakValueDictionary

from openmodelatlas.capture.text import lines_of
from openmodelatlas.graph.excerpts import parse_function

Position = tuple[int, int, int, int]
"""Line, column, end line, end column."""


@dataclass(frozen=True, slots=True)
class Loop:
    """A ``for`` or ``while`` statement.

    Attributes:
        header: line of the ``for`` or ``while`` keyword; the interpreter reports it once per iteration.
        first, last: lines of the body (for ``while`` the header is included, since its test runs every time).
        text: the header's text, ``for expert_idx in expert_hit``.
    """

    header: int
    first: int
    last: int
    text: str


@dataclass(frozen=True, slots=True)
class Condition:
    """An ``if`` statement whose arms lie on lines of their own.

    Attributes:
        first, last: lines of the whole statement (an ``elif`` is a statement of its own inside the ``else``).
        test: text of the condition.
        body, orelse: lines of the two arms, inclusive; ``orelse`` is ``None`` where there is no ``else``.
        targets: variables assigned in both arms or, where there are none, in either.
        column, end_column: columns of the statement's first and last character.
    """

    first: int
    last: int
    test: str
    body: tuple[int, int]
    orelse: tuple[int, int] | None
    targets: tuple[str, ...]
    column: int
    end_column: int


@dataclass(frozen=True, slots=True)
class FunctionSyntax:
    """The statements of one function body, those of functions nested in it left out."""

    first: int
    last: int
    loops: tuple[Loop, ...]
    conditions: tuple[Condition, ...]
    statements: tuple[tuple[int, int], ...]
    """First line and last line (of the header, for compound statements) of each statement that compiles to code."""


def position(node: ast.AST) -> Position:
    """Where ``node`` stands; only for nodes that carry positions."""
    return (node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]


class _Block:
    """Positions and parents of the nodes of one top-level statement.

    Attributes:
        nodes: the outermost expression or statement at each position.
        parents: the node around each node.
    """

    def __init__(self, statement: ast.stmt) -> None:
        self.nodes: dict[Position, ast.AST] = {}
        if not isinstance(statement, ast.Expr):
            self.nodes[position(statement)] = statement
        self.parents: dict[ast.AST, ast.AST] = {}
        stack: list[ast.AST] = [statement]
        while stack:
            node = stack.pop()
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr_context | ast.operator | ast.cmpop | ast.unaryop | ast.boolop):
                    continue  # singletons without a place
                self.parents[child] = node
                stack.append(child)
                if isinstance(child, ast.expr | ast.stmt) and not isinstance(child, ast.Expr):
                    self.nodes.setdefault(position(child), child)
                if isinstance(child, ast.Call) and isinstance(child.func, ast.Attribute):
                    self.nodes.setdefault(_method_position(child, child.func), child)


def _method_position(call: ast.Call, method: ast.Attribute) -> Position:
    """Where the interpreter says a method call stands whose receiver begins on an earlier line: at the method's name.

    See ``update_start_location_to_match_attr`` in CPython's ``Python/compile.c``.
    """
    line, column = method.end_lineno or method.lineno, (method.end_col_offset or 0) - len(method.attr)
    return (line, column, call.end_lineno or line, call.end_col_offset or 0)


@dataclass
class FileSyntax:
    """One parsed source file.

    Attributes:
        text: the file's text; a file that does not parse has positions but no nodes.
    """

    text: str
    _functions: dict[tuple[int, int], FunctionSyntax] = field(default_factory=dict)
    _blocks: dict[int, _Block] = field(default_factory=dict)

    @cached_property
    def lines(self) -> list[str]:
        """The lines, without their ends."""
        return lines_of(self.text)

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree; empty if the text does not parse."""
        try:
            return ast.parse("\n".join(self.lines))
        except (SyntaxError, ValueError, RecursionError, MemoryError):  # zero bytes, or nested too deeply
            return ast.Module(body=[], type_ignores=[])

    @cached_property
    def assignments(self) -> list[ast.Assign]:
        """All assignment statements, in the order of lines."""
        found = [statement for statement in self._statements if isinstance(statement, ast.Assign)]
        return sorted(found, key=lambda node: node.lineno)

    @cached_property
    def _definitions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        return [s for s in self._statements if isinstance(s, ast.FunctionDef | ast.AsyncFunctionDef)]

    @cached_property
    def _statements(self) -> list[ast.stmt]:
        found: list[ast.stmt] = list(self.tree.body)
        for statement in found:  # grows while it is walked
            found.extend(_statements_in(statement))
        return found

    def _block(self, line: int) -> _Block | None:
        """The index of the top-level statement around a line, made when the first line in it is asked for."""
        place = bisect_right(self._block_ends, line - 1)
        if place == len(self._block_ends):
            return None
        if place not in self._blocks:
            self._blocks[place] = _Block(self.tree.body[place])
        return self._blocks[place]

    @cached_property
    def _block_ends(self) -> list[int]:
        return [statement.end_lineno or statement.lineno for statement in self.tree.body]

    def at(self, where: Position) -> ast.AST | None:
        """The outermost expression or statement that stands exactly at ``where``."""
        block = self._block(where[0])
        return block.nodes.get(where) if block is not None else None

    def whole(self, where: Position) -> Position:
        """Where the whole expression stands that a recorded position names; see :func:`_method_position`."""
        line, column = where[:2]
        if self.lines[line - 1].encode()[:column].endswith(b"."):
            node = self.at(where)
            return position(node) if node is not None else where
        return where

    def parent(self, node: ast.AST) -> ast.AST | None:
        """The node that encloses ``node``."""
        block = self._block(position(node)[0])
        return block.parents.get(node) if block is not None else None

    def segment(self, where: Position) -> str:
        """The characters at ``where``, unchanged (columns are bytes)."""
        line, column, end_line, end_column = where
        rows = self.lines[line - 1 : end_line]
        if not rows:
            return ""
        encoded = [row.encode() for row in rows]
        encoded[-1] = encoded[-1][:end_column]
        encoded[0] = encoded[0][column:]
        return b"\n".join(encoded).decode(errors="replace")

    def character_column(self, line: int, column: int) -> int:
        """The column in characters of a column in bytes."""
        if not 1 <= line <= len(self.lines):
            return column
        return len(self.lines[line - 1].encode()[:column].decode(errors="replace"))

    def definition(self, first_line: int, name: str) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
        """The function statement that a code object with this first line (decorators included) was made from."""
        short = name.rpartition(".")[2]
        if not short.isidentifier():  # a comprehension
            return None
        if "tree" not in self.__dict__ and (alone := parse_function(self.lines, first_line, short)) is not None:
            return alone  # nothing else of the file may ever be asked for
        for node in self._definitions:
            start = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            if start == first_line and node.name == short:
                return node
        return None

    def class_lines(self, qualified_name: str) -> tuple[int, int] | None:
        """First and last line of a top-level class."""
        for node in self.tree.body:
            if isinstance(node, ast.ClassDef) and node.name == qualified_name:
                return node.lineno, node.end_lineno or node.lineno
        return None

    def function(self, first_line: int, name: str) -> FunctionSyntax | None:
        """Loops, conditions and statements of a function; ``None`` for lambdas, comprehensions and unparsed files."""
        node = self.definition(first_line, name)
        if node is None:
            return None
        key = (node.lineno, node.col_offset)
        if key not in self._functions:
            self._functions[key] = _function_syntax(self, node)
        return self._functions[key]


_IN_USE: WeakValueDictionary[str, FileSyntax] = WeakValueDictionary()


def parsed(text: str) -> FileSyntax:
    """The syntax of a file's text: the same object for the same text while anyone keeps it, so that it is read once."""
    found = _IN_USE.get(text)
    if found is None:
        found = _IN_USE[text] = FileSyntax(text)
    return found


def _function_syntax(file: FileSyntax, node: ast.FunctionDef | ast.AsyncFunctionDef) -> FunctionSyntax:
    loops: list[Loop] = []
    conditions: list[Condition] = []
    statements: list[tuple[int, int]] = []
    stack: list[ast.stmt] = list(reversed(node.body))
    while stack:
        statement = stack.pop()
        if _compiles_to_nothing(statement):
            continue
        inner = _statements_in(statement)
        header_end = inner[0].lineno - 1 if inner else statement.end_lineno or statement.lineno
        statements.append((statement.lineno, max(statement.lineno, header_end)))
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if isinstance(statement, ast.For | ast.AsyncFor | ast.While):
            loops.append(_loop(file, statement))
        if isinstance(statement, ast.If):
            condition = _condition(file, statement)
            if condition is not None:
                conditions.append(condition)
        stack.extend(reversed(inner))
    conditions.sort(key=lambda item: (item.first, -item.last))
    return FunctionSyntax(
        first=node.lineno,
        last=node.end_lineno or node.lineno,
        loops=tuple(sorted(loops, key=lambda loop: (loop.first, -loop.last))),
        conditions=tuple(conditions),
        statements=tuple(sorted(set(statements))),
    )


def _compiles_to_nothing(statement: ast.stmt) -> bool:
    """Docstrings and other constants, declarations, and annotations without a value leave no code to be reached."""
    if isinstance(statement, ast.Expr):
        return isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.AnnAssign):
        return statement.value is None
    return isinstance(statement, ast.Global | ast.Nonlocal)


def _statements_in(statement: ast.stmt) -> list[ast.stmt]:
    inner: list[ast.stmt] = []
    for name in ("body", "orelse", "finalbody"):
        inner.extend(getattr(statement, name, []))
    for handler in getattr(statement, "handlers", []):
        inner.extend(handler.body)
    for case in getattr(statement, "cases", []):
        inner.extend(case.body)
    return inner


def _loop(file: FileSyntax, node: ast.For | ast.AsyncFor | ast.While) -> Loop:
    last = node.body[-1].end_lineno or node.body[-1].lineno
    if isinstance(node, ast.While):
        return Loop(node.lineno, node.lineno, last, f"while {file.segment(position(node.test))}")
    target, iterable = file.segment(position(node.target)), file.segment(position(node.iter))
    return Loop(node.lineno, node.body[0].lineno, last, f"for {target} in {iterable}")


def _condition(file: FileSyntax, node: ast.If) -> Condition | None:
    body = (node.body[0].lineno, node.body[-1].end_lineno or node.body[-1].lineno)
    if body[0] <= (node.test.end_lineno or node.test.lineno):
        return None
    orelse = (node.orelse[0].lineno, node.orelse[-1].end_lineno or node.lineno) if node.orelse else None
    arms = [
        {name.id: None for statement in arm for name in assigned_names(statement)} for arm in (node.body, node.orelse)
    ]
    both = [name for name in arms[0] if name in arms[1]]
    targets = both or list(arms[0] | arms[1])
    return Condition(
        first=node.lineno,
        last=node.end_lineno or node.lineno,
        test=file.segment(position(node.test)),
        body=body,
        orelse=orelse,
        targets=tuple(targets),
        column=node.col_offset,
        end_column=node.end_col_offset or 0,
    )


def assigned_names(statement: ast.stmt) -> list[ast.Name]:
    """Names that a simple assignment binds, in order; empty for other statements."""
    if isinstance(statement, ast.Assign):
        targets: list[ast.expr] = list(statement.targets)
    elif isinstance(statement, ast.AugAssign | ast.AnnAssign):
        targets = [statement.target]
    else:
        return []
    names: list[ast.Name] = []
    for target in targets:
        elements = target.elts if isinstance(target, ast.Tuple | ast.List) else [target]
        names.extend(element for element in elements if isinstance(element, ast.Name))
    return names


def result_names(file: FileSyntax, where: Position) -> list[str | None]:
    """Variables that the value of the expression at ``where`` is bound to, one for each element of a tuple target.

    Empty where the value is not assigned as a whole (it is part of a larger expression, or returned).
    """
    node = file.at(where)
    if node is None:
        return []
    if isinstance(node, ast.AugAssign):
        return [_target_text(file, node.target)]
    parent = file.parent(node)
    if isinstance(parent, ast.Assign) and parent.value is node:
        target = parent.targets[0]
        if isinstance(target, ast.Tuple | ast.List):
            return [_target_text(file, element) for element in target.elts]
        return [_target_text(file, target)]
    if isinstance(parent, ast.AugAssign | ast.AnnAssign | ast.NamedExpr) and parent.value is node:
        # ``x += y`` is itself the operation, so y keeps no name of its own.
        return [] if isinstance(parent, ast.AugAssign) else [_target_text(file, parent.target)]
    if isinstance(parent, ast.Tuple):
        return _element_name(file, parent, node)
    return []


def _element_name(file: FileSyntax, values: ast.Tuple, node: ast.AST) -> list[str | None]:
    """The variable of one element where a tuple is assigned to a tuple: ``q1, q2 = q[::2], q[1::2]``."""
    assignment = file.parent(values)
    if not isinstance(assignment, ast.Assign) or assignment.value is not values:
        return []
    target = assignment.targets[0]
    if not isinstance(target, ast.Tuple | ast.List) or len(target.elts) != len(values.elts):
        return []
    if any(isinstance(element, ast.Starred) for element in (*target.elts, *values.elts)):
        return []
    return [
        _target_text(file, element) for element, value in zip(target.elts, values.elts, strict=True) if value is node
    ]


def _target_text(file: FileSyntax, node: ast.expr) -> str | None:
    """The variable; ``None`` for ``_``, which says that the value is not used."""
    if isinstance(node, ast.Name) and node.id == "_":
        return None
    if isinstance(node, ast.Name | ast.Attribute):
        return file.segment(position(node))
    if isinstance(node, ast.Subscript):
        return file.segment(position(node.value))
    return None


def count_before(positions: list[int], step: int) -> int:
    """How many of the sorted ``positions`` are below ``step``."""
    return bisect_right(positions, step - 1)
