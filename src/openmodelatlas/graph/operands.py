"""What the code calls the tensors that an expression reads: the operand that each recorded argument was.

Recorded arguments follow the call, the source follows its own order: ``scale * x`` runs ``x.__rmul__(scale)``, and
``out.index_add_(0, rows, picked)`` has a number between its tensors. So operands are found by the argument's position
and name, never by counting tensors.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from openmodelatlas.capture.recording import Form
from openmodelatlas.graph.arguments import tensors_in
from openmodelatlas.graph.syntax import FileSyntax, Position, position
from openmodelatlas.graph.text import one_line

_LONGEST = 48
_REFLECTED = frozenset(
    f"__r{name}__"
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "div")
) | {"__rlshift__", "__rrshift__"}
_COMPARISONS = {
    ast.Lt: "__lt__",
    ast.LtE: "__le__",
    ast.Gt: "__gt__",
    ast.GtE: "__ge__",
    ast.Eq: "__eq__",
    ast.NotEq: "__ne__",
}

_READ = frozenset(["__bool__", "__int__", "__float__", "__index__", "__iter__", "__len__", "__contains__"])

Path = tuple[int | str, ...]
"""Position or name of an argument, then positions within it."""


def tensor_paths(form: Form) -> Iterator[Path]:
    """Where the tensors that an operation reads stand among its arguments, in the order of ``wiring``."""
    for index, value in enumerate(form.arguments):
        for path, _ in tensors_in(value, 2):
            yield index, *path
    for name, value in form.keywords.items():
        for path, _ in tensors_in(value, 2):
            yield name, *path


def operand_texts(file: FileSyntax, where: Position, form: Form) -> list[str | None]:
    """Texts of the tensors that an operation reads, in the order of :func:`tensor_paths`.

    ``None`` for long ones, and where the source does not say which operand it is.
    """
    return [_text(file, node) for node in operand_nodes(file, where, form, list(tensor_paths(form)))]


def operand_nodes(file: FileSyntax, where: Position, form: Form, paths: Sequence[Path]) -> list[ast.expr | None]:
    """The expressions that are the arguments of an operation at ``paths``; ``None`` where the source does not say."""
    node = file.at(where)
    positional, named = _operands(node, form.function.rpartition(".")[2], _is_method(form))
    if isinstance(node, ast.BinOp) and form.function.endswith(("__add__", "__mul__")):
        positional = _commuted(positional, form)
    written = file.parent(node) if isinstance(node, ast.Subscript) else None
    if isinstance(written, ast.Assign) and node in written.targets:
        positional.append(written.value)  # ``out[rows] = value`` stands at ``out[rows]``
    return [_operand(positional, named, path) for path in paths]


def handed_texts(file: FileSyntax, where: Position) -> list[str | None]:
    """Texts of what a call hands over, in order, lists opened; for modules, whose operation has other arguments."""
    return [_text(file, operand) for operand in handed_nodes(file, where)]


def handed_nodes(file: FileSyntax, where: Position) -> list[ast.expr]:
    """The expressions that a call hands over, in order, lists opened."""
    node = file.at(where)
    if not isinstance(node, ast.Call):
        return []
    handed: list[ast.expr] = []
    for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
        handed.extend(argument.elts if isinstance(argument, ast.List | ast.Tuple) else [argument])
    return handed


def _is_method(form: Form) -> bool:
    return form.function.startswith("torch.Tensor.")


def _operands(node: ast.AST | None, function: str, method: bool) -> tuple[list[ast.expr], dict[str, ast.expr]]:
    """Operands parallel to the recorded positional arguments, and those by keyword."""
    if function in _READ and isinstance(node, ast.expr):  # ``if a == b:`` reads the value of the whole expression
        return [node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) else node], {}
    match node:
        case ast.BinOp():
            sides = [node.left, node.right]
            return (sides[::-1] if function in _REFLECTED else sides), {}
        case ast.Compare() if len(node.ops) == 1:
            sides = [node.left, node.comparators[0]]
            direct = _COMPARISONS.get(type(node.ops[0]))
            return (sides if function == direct else sides[::-1]), {}
        case ast.UnaryOp():
            return [node.operand], {}
        case ast.AugAssign():
            return [node.target, node.value], {}
        case ast.Subscript():
            return [node.value, node.slice], {}
        case ast.Attribute():
            return [node.value], {}
        case ast.Call():
            receiver = [node.func.value] if method and isinstance(node.func, ast.Attribute) else []
            return [*receiver, *node.args], {k.arg: k.value for k in node.keywords if k.arg is not None}
        case _:
            return [], {}


def _commuted(sides: list[ast.expr], form: Form) -> list[ast.expr]:
    """Torch runs ``scale * x`` as ``x * scale``: with one tensor, which side it is shows only where they are unlike."""
    if len(list(tensor_paths(form))) != 1:
        return sides
    plain = [isinstance(side, ast.Constant | ast.Name | ast.Attribute) for side in sides]
    constant = [isinstance(side, ast.Constant) for side in sides]
    if constant[0] != constant[1]:
        return sides[::-1] if constant[0] else sides
    if plain[0] != plain[1]:
        return sides[::-1] if plain[0] else sides
    return [] if all(plain) else sides


def _operand(positional: list[ast.expr], named: dict[str, ast.expr], path: Path) -> ast.expr | None:
    first, *rest = path
    if isinstance(first, str):
        node = named.get(first)
    else:
        known = next((i for i, operand in enumerate(positional) if isinstance(operand, ast.Starred)), len(positional))
        node = positional[first] if first < known else None
    for step in rest:
        if not isinstance(node, ast.List | ast.Tuple) or any(isinstance(part, ast.Starred) for part in node.elts):
            return None
        node = node.elts[int(step)] if int(step) < len(node.elts) else None
    return node


def _text(file: FileSyntax, node: ast.expr | None) -> str | None:
    if node is None or isinstance(node, ast.Starred | ast.Constant):
        return None
    text = one_line(file.segment(position(node)))
    return text if isinstance(node, ast.Name | ast.Attribute) or len(text) <= _LONGEST else None
