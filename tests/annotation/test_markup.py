"""What texts and formulas are split into."""

from __future__ import annotations

import pytest

from openmodelatlas.annotation.markup import split, without_marks


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("a $x_n$ b", [("text", "a "), ("latex", "x_n"), ("text", " b")]),
        ("costs $5 or $10", [("text", "costs $5 or $10")]),
        ("`$x$` $y$", [("code", "$x$"), ("text", " "), ("latex", "y")]),
        ("odd ` tick $z$", [("text", "odd ` tick "), ("latex", "z")]),
        (r"a \$x$ b$", [("text", r"a \$x$ b$")]),
    ],
)
def test_texts_are_split_into_what_they_hold(text: str, parts: list[tuple[str, str]]) -> None:
    assert list(split(text)) == parts


def test_marks_are_taken_off_and_braces_stay() -> None:
    assert without_marks(r"{\htmlData{light=a b}{s'_n}}=\bar{s}_n") == r"{{s'_n}}=\bar{s}_n"
