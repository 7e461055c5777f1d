"""How code and labels are written on one line."""

from __future__ import annotations

import pytest

from openmodelatlas.site.words import duration_text, one_line, split_condition, varied_text


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("f(\n    a,\n    b=1,\n)", "f(a, b=1)"),
        ("f(  # why\n    x,\n)", "f(x)"),
        ("f('a  # b', \"( c )\")", "f('a  # b', \"( c )\")"),
        ("x[\n  0\n]", "x[0]"),
        ("a if b\nelse c", "a if b else c"),
    ],
)
def test_code_on_one_line(text: str, line: str) -> None:
    assert one_line(text) == line


@pytest.mark.parametrize(
    ("values", "members", "text"),
    [
        (("silu", "gelu"), (1, 2), "silu, gelu"),
        (("0.5", "1"), (1, 2), "0.5, 1"),
        (("0", "1", "2"), (1, 2, 3), "0–2 (layers counted from 0)"),
        (("3", "7", "11", "15", "19", "20"), (4, 8, 12, 16, 20, 21), "3, 7, 11, …, 19, 20 (layers counted from 0)"),
        (("64", "128"), (1, 2), "64, 128"),
    ],
)
def test_what_varies_in_short(values: tuple[str, ...], members: tuple[int, ...], text: str) -> None:
    assert varied_text(values, members) == text


def test_a_tuple_of_one_stays_a_tuple() -> None:
    assert one_line("view((a,))") == "view((a,))"


def test_long_code_is_cut() -> None:
    assert one_line("abcdefgh", 5) == "abcd…"


def test_conditions_of_layer_groups() -> None:
    assert split_condition("61 layers, unless self.a, b") == ("61 layers", "self.a, b", False)
    assert split_condition("7 layers, where x") == ("7 layers", "x", True)
    assert split_condition("60 MoE blocks") == ("60 MoE blocks", "", None)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.0 s"),
        (7.04, "7.0 s"),
        (59.94, "59.9 s"),
        (59.96, "1 min"),
        (65.2, "1 min 5 s"),
        (3599.4, "59 min 59 s"),
        (3599.6, "1 h"),
        (7380.0, "2 h 3 min"),
    ],
)
def test_durations(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text
