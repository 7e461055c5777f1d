"""Source text on one line."""

from __future__ import annotations

import pytest

from openmodelatlas.graph.text import one_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("f(  # why\n    x,  # and\n    y=1,\n)", "f( x, y=1, )"),
        ("f(\n    # a line of its own\n    x\n)", "f( x )"),
        ("f('a # b', x)  # c", "f('a # b', x)"),
        ("for x in f(  # why\n    y\n)", "for x in f( y )"),
        ("a\n  + b  # no brackets\n + c", "a + b + c"),
        ("broken ' # text", "broken ' # text"),
        ("never ( closed # text", "never ( closed # text"),
    ],
)
def test_comments_go_before_the_lines_are_joined(text: str, line: str) -> None:
    assert one_line(text) == line
