"""Makes Python's ``inspect`` quick for those who ask it where they are, thousands of modules being there."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any


@contextlib.contextmanager
def quick_inspection() -> Iterator[None]:
    """Within, a frame's module is the one that its globals name, and nobody gets the lines of text around a frame.

    torch asks for the module and line of everything that registers an operator (``torch/library.py`` and
    ``torch/_library/utils.py``, 2.13), a hundred times while it is imported; ``inspect`` compares the real paths of all
    modules' files for that, and reads the file, which nobody looks at: 0.04 s (measured).
    """
    getmodule, getframeinfo = inspect.getmodule, inspect.getframeinfo

    def module_of(value: Any, *rest: Any, **named: Any) -> Any:
        if isinstance(value, FrameType):
            return sys.modules.get(value.f_globals.get("__name__", ""))
        return getmodule(value, *rest, **named)

    def place_of(frame: Any, context: int = 1) -> inspect.Traceback:
        return getframeinfo(frame, context=0)

    inspect.getmodule, inspect.getframeinfo = module_of, place_of  # type: ignore[assignment]
    try:
        yield
    finally:
        inspect.getmodule, inspect.getframeinfo = getmodule, getframeinfo
