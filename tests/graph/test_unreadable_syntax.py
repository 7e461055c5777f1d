"""A file that this Python cannot parse has no statements; it is no fault."""

from __future__ import annotations

import pytest

from openmodelatlas.graph.syntax import FileSyntax


@pytest.mark.parametrize("text", ["def f(:", "x = '\0'", f"x = {'(' * 300}1{')' * 300}", f"x = {'-' * 100_000}1"])
def test_what_does_not_parse_is_empty(text: str) -> None:
    assert FileSyntax(text).tree.body == []
