"""Operands: which characters of the source each tensor argument is."""

from __future__ import annotations

import ast

import pytest

from openmodelatlas.capture.recording import Form
from openmodelatlas.graph.operands import handed_texts, operand_texts, tensor_paths
from openmodelatlas.graph.syntax import FileSyntax, position

X, Y, Z = {"tensor": 0}, {"tensor": 1}, {"tensor": 2}


def operation(function: str, arguments: list, keywords: dict | None = None) -> Form:
    return Form(function, 0, arguments, keywords or {})


@pytest.mark.parametrize(
    ("source", "function", "arguments", "keywords", "texts"),
    [
        ("x + y", "torch.Tensor.__add__", [X, Y], {}, ["x", "y"]),
        ("scale * x", "torch.Tensor.__rmul__", [X, 0.5], {}, ["x"]),
        ("x * 2", "torch.Tensor.__mul__", [X, 2], {}, ["x"]),
        ("2 * x", "torch.Tensor.__mul__", [X, 2], {}, ["x"]),
        ("scale * x.sin()", "torch.Tensor.__mul__", [X, 0.5], {}, ["x.sin()"]),
        ("(a @ b) * scale", "torch.Tensor.__mul__", [X, 0.5], {}, ["a @ b"]),
        ("scale * x", "torch.Tensor.__mul__", [X, 0.5], {}, [None]),
        ("y * x", "torch.Tensor.__mul__", [X, Y], {}, ["y", "x"]),
        ("1 - x", "torch.Tensor.__rsub__", [X, 1], {}, ["x"]),
        ("x >> y", "torch.Tensor.__rshift__", [X, Y], {}, ["x", "y"]),
        ("0 < x", "torch.Tensor.__gt__", [X, 0], {}, ["x"]),
        ("x < y", "torch.Tensor.__lt__", [X, Y], {}, ["x", "y"]),
        ("x == self.count", "torch.Tensor.__bool__", [X], {}, ["x == self.count"]),
        ("not x", "torch.Tensor.__bool__", [X], {}, ["x"]),
        ("rows", "torch.Tensor.__iter__", [X], {}, ["rows"]),
        ("-x", "torch.Tensor.__neg__", [X], {}, ["x"]),
        ("x.T", "torch.Tensor.T.__get__", [X], {}, ["x"]),
        ("x[rows]", "torch.Tensor.__getitem__", [X, Y], {}, ["x", "rows"]),
        (
            "x[i, rows, :, y]",
            "torch.Tensor.__getitem__",
            [X, {"list": [0, Y, {"slice": []}, Z]}],
            {},
            ["x", "rows", "y"],
        ),
        ("x[index]", "torch.Tensor.__getitem__", [X, {"list": [Y]}], {}, ["x", None]),
        ("out.index_add_(0, rows, f(x))", "torch.Tensor.index_add_", [X, 0, Y, Z], {}, ["out", "rows", "f(x)"]),
        ("torch.cat([x, *rest])", "torch.cat", [{"list": [X, Y]}], {}, [None, None]),
        ("torch.cat([x, y], dim=-1)", "torch.cat", [{"list": [X, Y]}], {"dim": -1}, ["x", "y"]),
        ("torch.cat(parts)", "torch.cat", [{"list": [X, Y]}], {}, [None, None]),
        ("torch.where(c, x, other=y)", "torch.where", [X, Y], {"other": Z}, ["c", "x", "y"]),
        ("torch.add(*pair)", "torch.add", [X, Y], {}, [None, None]),
        ("f", "torch.Tensor.view", [X], {}, [None]),
        ("größe.mean(-1)", "torch.Tensor.mean", [X, -1], {}, ["größe"]),
        (f"{'x' * 30} + {'f(' + 'y' * 60 + ')'}", "torch.Tensor.__add__", [X, Y], {}, ["x" * 30, None]),
    ],
)
def test_operands_follow_the_recorded_arguments(source, function, arguments, keywords, texts):
    file = FileSyntax(f"{source}\n")
    (statement,) = file.tree.body
    assert isinstance(statement, ast.Expr)
    recorded = operation(function, arguments, keywords)
    assert operand_texts(file, position(statement.value), recorded) == texts
    assert len(list(tensor_paths(recorded))) == len(texts)


def test_a_write_reads_what_it_writes_and_the_value():
    file = FileSyntax("out[rows, 0] = x[..., 1]\n")
    target = file.tree.body[0].targets[0]
    recorded = operation("torch.Tensor.__setitem__", [X, {"list": [Y, 0]}, Z])
    assert operand_texts(file, position(target), recorded) == ["out", "rows", "x[..., 1]"]


def test_augmented_assignment():
    file = FileSyntax("x += y\n")
    recorded = operation("torch.Tensor.__iadd__", [X, Y])
    assert operand_texts(file, position(file.tree.body[0]), recorded) == ["x", "y"]


def test_what_a_call_hands_over():
    file = FileSyntax("self.proj(x, [a, b], mask=m)\n")
    assert handed_texts(file, position(file.tree.body[0].value)) == ["x", "a", "b", "m"]
    assert handed_texts(file, (9, 0, 9, 1)) == []
