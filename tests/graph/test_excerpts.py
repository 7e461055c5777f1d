"""A function parsed alone is the one that the whole file has, or the whole file is asked."""

from __future__ import annotations

import ast
import inspect
import textwrap

import pytest

from openmodelatlas.graph import excerpts, syntax, tree
from openmodelatlas.graph.excerpts import parse_function
from openmodelatlas.graph.syntax import FileSyntax

TEXT = '''\
class Layer:
    @decorator(
        name="forward",
    )
    def forward(
        self,
        x,
    ) -> int:
        """A text
that is not indented.
        """
        # a comment

    # another one
        return x

    async def second(self): return [
        1,
    ]


def last(x):
    def inner(y):
        return y
    return inner(x)
x = last(1)
'''


def definitions(text: str):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]), node


@pytest.mark.parametrize(
    "text", [TEXT, *(inspect.getsource(module) for module in (ast, inspect, textwrap, excerpts, syntax, tree))]
)
def test_a_function_alone_is_as_in_its_file(text):
    alone = 0
    for first_line, node in definitions(text):
        found = parse_function(text.split("\n"), first_line, node.name)
        if found is not None:
            alone += 1
            assert ast.dump(found, include_attributes=True) == ast.dump(node, include_attributes=True)
    assert alone


def test_the_file_is_asked_where_the_excerpt_is_cut_or_another_function():
    lines = TEXT.split("\n")
    assert parse_function(lines, 2, "forward") is None  # its text is cut in two
    assert parse_function(lines, 17, "first") is None
    assert parse_function(lines, 1, "Layer") is None
    assert parse_function(["def f():", "\treturn 1"], 1, "f") is None
    assert FileSyntax(TEXT).definition(2, "Layer.forward") is not None
    assert FileSyntax(TEXT).definition(2, "<lambda>") is None
