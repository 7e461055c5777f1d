"""Loops, conditions, names and operands out of source text."""

from __future__ import annotations

import ast
import textwrap

import pytest

from openmodelatlas.graph.syntax import FileSyntax, count_before, position, result_names

TEXT = textwrap.dedent('''
    """A module."""

    @wrapped
    def f(x, größe, flag):
        """Docstrings compile to nothing."""
        schlüssel = größe * x; y = x
        first, (second) = split(x, 2)
        self.cache[0] = torch.cat([x, größe], dim=-1)
        total += x.sum()
        if flag: x = x + 1
        if flag:
            x = x - 1
            z = x
        elif x is None:
            z = x * 2
        else:
            z = y
        for i, row in enumerate(
            x,
        ):
            while row.sum() > 0:
                row = row - 1
            def inner(a):
                for b in a:
                    pass
        else:
            done = True
        try:
            risky(x)
        except ValueError:
            mended(x)
        finally:
            closed(x)
        left, right = x[0:1], (x[1:2])
        kept, _ = pair(x)
        return (walrus := x.view(1, 2)).sum()

    class A:
        class B:
            def g(self): return 1
''').lstrip()


@pytest.fixture(scope="module")
def file() -> FileSyntax:
    return FileSyntax(TEXT)


def expression(file: FileSyntax, text: str) -> tuple[int, int, int, int]:
    """Position of the first expression or augmented assignment with this text."""
    for node in ast.walk(file.tree):
        if isinstance(node, ast.expr | ast.AugAssign) and ast.get_source_segment(TEXT, node) == text:
            return position(node)
    raise AssertionError(text)


def line(start: str) -> int:
    (found,) = (n for n, row in enumerate(TEXT.splitlines(), 1) if row.strip().startswith(start))
    return found


def test_loops_have_their_body_and_their_header(file):
    function = file.function(line("@wrapped"), "f")
    assert [(loop.text, loop.header) for loop in function.loops] == [
        ("for i, row in enumerate(\n        x,\n    )", line("for i, row")),
        ("while row.sum() > 0", line("while")),
    ]
    outer, inner = function.loops
    assert (outer.first, outer.last) == (line("while"), line("for b") + 1)
    assert (inner.first, inner.last) == (line("while"), line("row = row - 1"))
    assert all(not outer.first <= line("done") <= outer.last for outer in function.loops)


def test_loops_of_functions_inside_are_not_the_functions_own(file):
    assert all("for b" not in loop.text for loop in file.function(line("@wrapped"), "f").loops)
    assert [loop.text for loop in file.function(line("def inner"), "f.<locals>.inner").loops] == ["for b in a"]


def test_conditions_on_one_line_are_left_out_and_elif_is_inside_else(file):
    conditions = file.function(line("@wrapped"), "f").conditions
    assert [condition.test for condition in conditions] == ["flag", "x is None"]
    flag, none = conditions
    assert flag.body == (line("x = x - 1"), line("z = x") if False else line("x = x - 1") + 1)
    assert flag.orelse is not None
    assert flag.orelse[0] == none.first
    assert flag.last == none.last == line("z = y")
    assert none.targets == ("z",)


def test_targets_are_those_of_both_arms_or_of_either(file):
    flag = file.function(line("@wrapped"), "f").conditions[0]
    assert set(flag.targets) == {"x", "z"}  # the other arm is a condition of its own


def test_statements_know_what_compiles_to_nothing(file):
    firsts = [first for first, _ in file.function(line("@wrapped"), "f").statements]
    assert line('"""Docstrings') not in firsts
    assert line("schlüssel") in firsts
    assert line("mended(x)") in firsts
    assert line("closed(x)") in firsts
    assert line("def inner") in firsts
    assert line("for b") not in firsts


def test_functions_are_found_by_the_line_of_their_decorator(file):
    assert file.definition(line("@wrapped"), "f") is not None
    assert file.definition(line("@wrapped") + 1, "f") is None
    assert file.definition(line("@wrapped"), "other") is None
    assert file.definition(line("def g"), "A.B.g") is not None


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("größe * x", ["schlüssel"]),
        ("split(x, 2)", ["first", "second"]),
        ("torch.cat([x, größe], dim=-1)", ["self.cache"]),
        ("total += x.sum()", ["total"]),
        ("x.sum()", []),
        ("x.view(1, 2)", ["walrus"]),
        ("risky(x)", []),
        ("x[0:1]", ["left"]),
        ("x[1:2]", ["right"]),
        ("pair(x)", ["kept", None]),
    ],
)
def test_result_names(file, text, names):
    assert result_names(file, expression(file, text)) == names


def test_result_names_of_no_expression(file):
    assert result_names(file, (1, 0, 1, 1)) == []


def test_operands_of_bytes_positions(file):
    """Columns count bytes: the umlauts before an expression must not shift it."""
    where = expression(file, "größe * x")
    assert file.segment(where) == "größe * x"
    assert where[1] == len("    schlüssel = ".encode())
    assert file.character_column(where[0], where[1]) == len("    schlüssel = ")


def test_lines_outside_the_file_have_no_text(file):
    assert file.segment((10_000, 0, 10_000, 3)) == ""
    assert file.character_column(10_000, 7) == 7


def test_a_file_that_does_not_parse_has_positions_but_no_nodes():
    broken = FileSyntax("def f(:\n    x = 1\n")
    assert broken.segment((2, 4, 2, 9)) == "x = 1"
    assert broken.at((2, 4, 2, 9)) is None
    assert broken.function(1, "f") is None
    assert broken.class_lines("A") is None


def test_class_lines(file):
    assert file.class_lines("A") == (line("class A"), line("def g"))
    assert file.class_lines("B") is None


def test_count_before():
    assert [count_before([2, 5, 9], step) for step in (0, 2, 3, 5, 6, 10)] == [0, 0, 1, 1, 2, 3]
