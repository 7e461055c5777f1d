"""No character of a name or of code steers the terminal, wherever a page is shown."""

from __future__ import annotations

import io

from hypothesis import given
from hypothesis import strategies as st
from rich.syntax import Syntax
from rich.text import Text

from openmodelatlas.cli.console import output
from openmodelatlas.site.visible import visible


@given(st.text())
def test_nothing_unseen_is_left_and_columns_stay(text: str) -> None:
    shown = visible(text)
    assert len(shown) == len(text)
    assert not {character for character in shown if ord(character) < 32 or 127 <= ord(character) < 160} - {"\t", "\n"}
    assert visible(shown) == shown


def test_what_is_seen_stays() -> None:
    assert visible("a\tb\nc é 漢 <b> ␛") == "a\tb\nc é 漢 <b> ␛"
    assert visible("\x1b[31m\x7f\x9b\u202e") == "␛[31m␡��"


def test_the_terminal_gets_no_control_characters() -> None:
    console = output(80)
    console.file = io.StringIO()
    console.print(Text("name\x1b]0;title\x07"), Syntax("x = 1  # \x1b[2J\u202e", "python"))
    written = console.file.getvalue()
    assert "\x1b" not in written
    assert "␛]0;title" in written
    assert "# ␛[2J�" in written
