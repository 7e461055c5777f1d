"""Mutants of a reference: its function with one sign, number, comparison, part or function changed."""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

_OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
}
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.LtE: ast.Lt,
    ast.Lt: ast.LtE,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}
_FUNCTIONS = {
    "mean": "sum", "sum": "mean", "sqrt": "abs", "exp": "abs", "tanh": "abs", "repeat": "tile", "maximum": "minimum",
    "silu": "sigmoid", "sigmoid": "silu", "softmax": "sigmoid", "softplus": "sigmoid", "log1p": "abs",
    "argsort": "sort", "cumsum": "cumprod",
}  # fmt: skip


def reference_mutants(function: Callable[..., Any]) -> Iterator[tuple[str, Callable[..., Any]]]:
    """What was changed, and the changed function."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    places = [node for statement in definition.body for node in ast.walk(statement)]
    for number, node in enumerate(places):
        for what in _ways(node):
            changed = copy.deepcopy(tree)
            target = changed.body[0]
            assert isinstance(target, ast.FunctionDef)
            _change([one for statement in target.body for one in ast.walk(statement)][number], what)
            scope = dict(function.__globals__)
            exec(compile(ast.fix_missing_locations(changed), "<mutant>", "exec"), scope)
            line = getattr(node, "lineno", 0)
            yield f"line {line}, {ast.unparse(node)[:60]}: {what}", scope[function.__name__]


def _ways(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        yield "operator"
    elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        yield "first operand only"
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in _COMPARISONS:
        yield "comparison"
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.Invert):
        yield "sign"
    elif isinstance(node, ast.Constant) and isinstance(node.value, float):
        yield "number"
    elif isinstance(node, ast.Slice) and isinstance(node.step, ast.Constant) and node.step.value == 2:
        yield "other neighbours"
    elif isinstance(node, ast.Call) and _name(node.func) in _FUNCTIONS:
        yield "function"
    elif isinstance(node, ast.Call) and _name(node.func) in ("concatenate", "stack", "where"):
        yield "order"
    elif isinstance(node, ast.Tuple) and isinstance(node.ctx, ast.Load) and len(node.elts) == 2:
        yield "swap"
    elif isinstance(node, ast.Return) and node.value is not None and not _is_constant(node.value):
        yield "doubled"


def _change(node: ast.AST, what: str) -> None:
    match node, what:
        case ast.BinOp(), "operator":
            node.op = _OPERATORS[type(node.op)]()
        case ast.BinOp(), _:
            node.op, node.right = ast.Add(), ast.Constant(0.0)
        case ast.Compare(), _:
            node.ops[0] = _COMPARISONS[type(node.ops[0])]()
        case ast.UnaryOp(), _:
            node.op = ast.UAdd() if isinstance(node.op, ast.USub) else ast.Not()
        case ast.Constant(), _:
            assert isinstance(node.value, float)
            node.value = 2.0 * node.value + 1.0
        case ast.Slice(), _:
            start = node.lower.value if isinstance(node.lower, ast.Constant) else 0
            node.lower = ast.Constant(1 - int(start or 0))  # type: ignore[arg-type]
        case ast.Call(), "function":
            name = _FUNCTIONS[_name(node.func)]
            if isinstance(node.func, ast.Attribute):
                node.func.attr = name
            else:
                node.func = ast.Name(name, ast.Load())
        case ast.Call(), _:
            _reverse(node)
        case ast.Tuple(), _:
            node.elts = node.elts[::-1]
        case ast.Return(), _:
            node.value = _doubled(node.value)


def _reverse(call: ast.Call) -> None:
    if _name(call.func) == "where":
        call.args = [call.args[0], *call.args[:0:-1]]
    elif isinstance(call.args[0], ast.List | ast.Tuple):
        call.args[0].elts = call.args[0].elts[::-1]


def _doubled(value: ast.expr | None) -> ast.expr:
    assert value is not None
    if isinstance(value, ast.Tuple):
        return ast.Tuple([_doubled(element) for element in value.elts], ast.Load())
    one = ast.Constant(1.0)
    return ast.BinOp(value, ast.Add(), one)


def _is_constant(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant | ast.Name) and ast.unparse(value) in ("None", "NotImplemented")


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
