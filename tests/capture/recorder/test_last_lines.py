"""Where a function's text ends: told without reading its tokens wherever that is certain."""

from __future__ import annotations

import argparse
import ast
import inspect
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, ModuleType

import pytest

from openmodelatlas.capture.child import spans


def functions(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            if constant.co_flags & inspect.CO_NEWLOCALS and not constant.co_name.startswith("<"):
                yield constant
            yield from functions(constant)


@pytest.mark.parametrize("module", [argparse, ast, inspect, textwrap])
def test_the_short_way_says_what_all_tokens_say(module: ModuleType) -> None:
    file = str(module.__file__)
    found = list(functions(compile(Path(file).read_text(), file, "exec")))
    assert len(found) > 5
    for code in found:
        whole = max(spans._last_instruction_line(code), spans._block_end(file, code.co_firstlineno))
        assert spans.last_line(code) == whole


@pytest.mark.parametrize(
    ("body", "lines"),
    [
        ("    return x\n", 2),
        ("    return x\n    # and a comment\n", 3),
        ("    return (\n        x\n    )\n", 4),
        ("    x = (\n        x\n)\n", 4),
        ('    """Only\n    words."""\n', 3),
        ("    return x\n    return 2 * x\n", 3),
        ("    if x:\n        return x\n    pass\n", 4),
        ("    def inner():\n        return x\n    return inner\n", 4),
        ("    return x\n# a comment outside\n", 2),
    ],
)
@pytest.mark.parametrize("after", ["", "\n\ny = 1\n", "def g():\n    pass\n"])
def test_every_end_of_a_function(tmp_path: Path, body: str, lines: int, after: str) -> None:
    file = tmp_path / "module.py"
    file.write_text(f"def f(x):\n{body}{after}")
    code = next(functions(compile(file.read_text(), str(file), "exec")))
    assert spans.last_line(code) == lines
