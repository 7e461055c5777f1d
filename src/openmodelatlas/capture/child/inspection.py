"""Makes Python's ``inspect`` quick for those who ask it where they are, thousands of modules being there."""

from __future__ import annotations

import contextlib
import inspect
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any


@contextlib.contextmanager
def quick_inspection() -> Iterator[None]:
    """Within, in this thread, a frame's module is the one that its globals name, and its lines of text are not read.

    torch asks for the module and line of everything that registers an operator (``torch/library.py`` and
    ``torch/_library/utils.py``, 2.13), a hundred times while it is imported; ``inspect`` compares the real paths of all
    modules' files for that, and reads the file, which nobody looks at: 0.04 s (measured).
    """
    with _LOCK:
        if not _THREADS:
            _PLAIN[:] = inspect.getmodule, inspect.getframeinfo
            inspect.getmodule, inspect.getframeinfo = _getmodule, _getframeinfo  # type: ignore[assignment]
        _THREADS.append(threading.get_ident())
    try:
        yield
    finally:
        with _LOCK:
            _THREADS.remove(threading.get_ident())
            if not _THREADS:
                inspect.getmodule, inspect.getframeinfo = _PLAIN


_LOCK = threading.Lock()

_THREADS: list[int] = []
"""Those that are within, each as often as it is."""

_PLAIN: list[Any] = [inspect.getmodule, inspect.getframeinfo]
"""What others are given, as it was when the first thread came in."""


def _getmodule(value: Any, *rest: Any, **named: Any) -> Any:
    if isinstance(value, FrameType) and threading.get_ident() in _THREADS:
        return sys.modules.get(value.f_globals.get("__name__", ""))
    return _PLAIN[0](value, *rest, **named)


def _getframeinfo(frame: Any, context: int = 1) -> inspect.Traceback:
    found: inspect.Traceback = _PLAIN[1](frame, context=0 if threading.get_ident() in _THREADS else context)
    return found
