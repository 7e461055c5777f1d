"""Where commands print what is laid out by rich."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def output(plain_width: int) -> Console:
    """Standard output, in the width of the terminal; ``plain_width`` characters wide where it is none."""
    from rich import console

    class Output(console.Console):
        """Leaves it to the caller of the command what happens when the reader has gone away."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Output(highlight=False, width=None if sys.stdout.isatty() else plain_width)
