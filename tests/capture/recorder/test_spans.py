"""The recorded expression is the one that ran: expected spans come from the functions' own code objects."""

# ruff: noqa: B007, C416, PLC3002, RUF059 - code under test is written as models are written
from __future__ import annotations

import ast
import contextlib
import functools
import inspect
import math
import textwrap
from pathlib import Path

import pytest
import torch
from torch import nn

from openmodelatlas.capture.child.spans import is_of_its_file

from .recording_of import check_invariants, parses, record


class Expressions(nn.Module):
    def forward(self, x, y):
        total = {"ä€𝛼": x + y * 2}["ä€𝛼"]
        largest = torch.maximum(
            x,
            y - 1,
        )
        head, tail = total[..., :1], -largest
        parts = [part.exp() for part in (head, tail)]
        doubled = (lambda value: value * 2.5)(parts[0])
        for row in total:
            doubled = doubled + row.sum()
        doubled /= 3
        return torch.cat([doubled, parts[1]], dim=-1)


def test_expressions_are_those_of_the_code():
    seen = record(Expressions(), torch.rand(2, 3), torch.rand(2, 3))
    check_invariants(seen.recording)
    source = textwrap.dedent(inspect.getsource(Expressions.forward))
    tree = ast.parse(source)
    expressions = {ast.get_source_segment(source, node) for node in ast.walk(tree) if isinstance(node, ast.expr)}
    statements = {ast.get_source_segment(source, node) for node in ast.walk(tree) if isinstance(node, ast.AugAssign)}
    expected = {textwrap.dedent(text) for text in expressions | statements if text}
    normal = {" ".join(text.split()) for text in expected}
    texts = [seen.text(o.span) for o in seen.recording.operations]
    assert texts
    for text in texts:
        assert parses(text), text
        assert " ".join(text.split()) in normal, text
    assert "y * 2" in texts  # behind characters of two, three and four bytes
    assert any(text.startswith("torch.maximum(") and "\n" in text for text in texts)


def test_positions_equal_those_of_the_code_object():
    seen = record(Expressions(), torch.rand(2, 3), torch.rand(2, 3))
    positions = set(Expressions.forward.__code__.co_positions())
    nested = [c for c in Expressions.forward.__code__.co_consts if inspect.iscode(c)]
    positions.update(p for code in nested for p in code.co_positions())
    for span in seen.recording.spans:
        place = (span.line, span.end_line, span.column, span.end_column)
        if "test_spans" in seen.recording.files[span.file].path:
            assert place in positions


def test_codes_end_where_their_functions_end():
    seen = record(Expressions(), torch.rand(2, 3), torch.rand(2, 3))
    lines, first = inspect.getsourcelines(Expressions.forward)
    (code,) = (c for c in seen.recording.codes if c.name == "Expressions.forward")
    assert (code.first_line, code.last_line) == (first, first + len(lines) - 1)
    names = [c.name.rsplit(".", 1)[-1] for c in seen.recording.codes]
    assert names in (["forward", "<listcomp>", "<lambda>"], ["forward", "<lambda>"])  # inlined from 3.12 on


def test_module_lines_are_those_of_the_class():
    seen = record(Expressions(), torch.rand(2, 3), torch.rand(2, 3))
    lines, first = inspect.getsourcelines(Expressions)
    (module,) = seen.recording.modules
    assert (module.first_line, module.last_line) == (first, first + len(lines) - 1)
    assert seen.recording.files[module.file].path == "test_spans.py"
    assert seen.recording.files[module.file].origin == "source"


PURE = {name: getattr(math, name) for name in ("pi",)} | {"torch": torch}


class Pure(nn.Module):
    def forward(self, x, y):
        a = (x * y - 3).relu() + torch.sin(y / 2)
        b = a.reshape(-1, 2).transpose(0, 1)
        c = torch.softmax(b @ b.mT, dim=-1)
        d = c[:, None].square().mean(-1, keepdim=True) ** 0.5
        self.kept = dict(locals())
        return d


def test_reevaluating_a_pure_expression_gives_the_recorded_value():
    model = Pure()
    seen = record(model, torch.rand(2, 3), torch.rand(2, 3))
    operations = [o for o in seen.recording.operations if o.outputs]
    assert len(operations) > 12
    for operation in operations:
        text = seen.text(operation.span)
        value = eval(text, PURE, model.kept)
        assert torch.equal(value, seen.value(operation.outputs[0])), text


def doubling(function):
    @functools.wraps(function)
    def doubled(self, *args, **kwargs):
        return function(self, *args, **kwargs) * 2

    return doubled


class Decorated(nn.Module):
    @doubling
    @torch.no_grad()
    def forward(self, x):
        return x.exp()


def test_decorators_are_calls_around_the_module():
    seen = record(Decorated(), torch.rand(2))
    wrapper, module = seen.recording.calls
    assert (wrapper.kind, wrapper.name, wrapper.parent) == ("function", "doubled", -1)
    assert (module.kind, module.parent) == ("module", 0)
    assert seen.text(seen.operation("exp").span) == "x.exp()"
    assert seen.operation("exp").call == 1
    assert seen.operation("__mul__").call == 0
    first = Decorated.forward.__wrapped__.__wrapped__.__code__.co_firstlineno
    assert [c.first_line for c in seen.recording.codes if c.name == "Decorated.forward"] == [first]


class Statements(nn.Module):
    @contextlib.contextmanager
    def scaled(self, x):
        self.inside = x.exp()
        yield
        self.inside = x.log()

    def forward(self, x, flag):
        first, second = x.T
        for row in enumerate(x[1:].T):
            x = x + row[1].sum()
        for left, right in x.mT[None]:
            x = x * left.sum()
        while flag[0] and not flag[1]:
            flag = ~flag
        if flag[1]:
            x = x - 1 if flag[0] else x + 1
        with torch.no_grad(), self.scaled(x[0]):
            x = x.sin()
        return [part for part in x.mT]


def test_statements_that_use_a_value_have_the_expression_of_the_value():
    seen = record(Statements(), torch.rand(2, 2), torch.tensor([True, False]))
    check_invariants(seen.recording)
    texts = ["".join(seen.text(o.span).split()) for o in seen.operations("unbind")]
    assert texts == ["x.T", "enumerate(x[1:].T)", "x.mT[None]", "x.mT[None]", "x.mT"]
    tests = [seen.text(o.span) for o in seen.operations("__bool__")]
    assert tests == ["flag[0]", "flag[1]", "flag[0]", "flag[1]", "flag[0]"]
    (scaled,) = seen.calls("scaled")
    assert seen.text(scaled.site) == "self.scaled(x[0])"
    assert all(parses(seen.text(o.span)) for o in seen.recording.operations)


WRITTEN = """
class Model:
    @property
    @functools.cache
    def scaled(self):
        return self.__scale * 2

    async def wait(self, x, /, *rest, key=None):
        first, *others = [part.value for part in rest if part.__name__ not in {"é": x.ä}]  # ü
        é = x.größe.cos() if key else "ß" + x.sin(
        ).tan()
        del first, others[0]
        async with x.lock as held, self.other(é):
            try:
                x[1:key].value += held.value
            except ValueError as error:
                raise TypeError(error.args) from error
            finally:
                import os.path as path
        return lambda y, z=(lambda: x): (
            y.real,
            path.join(z.imag),
        )

    def \\
            broken(self): return self.x.y

    def long(self):
        return MANY
""".replace("MANY", "[" + ", ".join(f"self.name_{index}" for index in range(300)) + "]")


def codes_of(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, type(code)):
            yield from codes_of(constant)


def claimed(folder, text, other) -> list[tuple[str, bool]]:
    """Whether functions of ``other`` that name a file with ``text`` are taken for its own."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{len(list(folder.iterdir()))}.py"
    path.write_text(text)
    return [
        (code.co_name, is_of_its_file(code))
        for code in codes_of(compile(other, str(path), "exec"))
        if code.co_name != "<module>"
    ]


def test_code_of_a_file_is_known_as_such(tmp_path):
    found = claimed(tmp_path, WRITTEN, WRITTEN)
    assert len(found) == 8
    assert {own for _, own in found} == {True}
    for module in (contextlib, functools, inspect, torch.nn.functional, torch.nn.modules.rnn):
        text = Path(module.__file__).read_text()
        assert {own for _, own in claimed(tmp_path, text, text)} == {True}


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("def step(x):\n    return x.sin() * 3\n", "def step(x):\n    return x.cos() * 3\n"),
        ("def step(x):\n    return 2 * x.cos()\n", "def step(x):\n    return x.cos() * 2\n"),
        ("SOURCE = 1\n\n\ndef step(x):\n    return x\n", "def step(x):\n    return x\n"),
        ("'''def step(x):\n    return y\n'''\nimport a", "def step(x):\n    return x\n"),
        ("def stop(x):\n    return x\n", "def step(x):\n    return x\n"),
        ("step = 2\nother = 3\n", "step = lambda x: x\n"),
        ("# step\n@other\nclass A: pass\n\n", "@step\ndef step(x):\n    return x.cos()\n"),
        ("def step(x):\n    return [y for y in x.b]\n", "def step(x):\n    return [y.a for y in x]\n"),
        ("def step(x):\n    return x\n", "def step(x):\n    return x\n\n\n\n\ndef late(x):\n    return x\n"),
    ],
)
def test_other_text_under_the_name_of_a_file_is_known_as_such(tmp_path, text, other):
    assert not all(own for _, own in claimed(tmp_path, text, other))


def test_what_a_tool_adds_to_the_text_of_a_file_does_not_make_it_another(tmp_path):
    text = "def step(x):\n    x = x.sin()\n    return x\n"
    tree = ast.parse(text)
    body = tree.body[0].body
    added = ast.parse("if not tool.check(x): raise tool.Error(locals().x, tool.names.first)").body[0]
    for node in ast.walk(added):
        ast.copy_location(node, body[0])
    body.insert(0, added)
    assert claimed(tmp_path, text, tree) == [("step", True)]
