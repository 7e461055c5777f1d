"""Where commands print what is laid out by rich."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def output(plain_width: int) -> Console:
    """Standard output, in the width of the terminal; ``plain_width`` characters wide where it is none."""
    from rich import console, segment

    from openmodelatlas.site.visible import visible

    class Output(console.Console):
        """Shows control characters of names and code, and leaves it to the caller what happens when the reader goes."""

        def render(
            self, renderable: console.RenderableType, options: console.ConsoleOptions | None = None
        ) -> Iterable[segment.Segment]:
            for part in super().render(renderable, options):
                yield part if part.control else part._replace(text=visible(part.text))

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Output(highlight=False, width=None if sys.stdout.isatty() else plain_width)
