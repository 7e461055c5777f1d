"""From an exception in the child to the :class:`Failure` the parent reads."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from types import TracebackType

from openmodelatlas import errors
from openmodelatlas.capture.child.source_package import PACKAGE
from openmodelatlas.capture.job import Failure
from openmodelatlas.errors import AtlasError, CaptureError, LimitError, ModelCodeError, SourceNotFoundError

_OURS = Path(__file__).resolve().parents[1]
"""The capture package, which lies below the root of a reference model."""


_LIBRARIES = frozenset({"torch", "numpy", "einops", "safetensors"})
"""Packages that lie beside the model's code where the root is a ``site-packages`` folder."""


def own_frames(trace: TracebackType | None, root: Path) -> list[traceback.FrameSummary]:
    """Frames of the model's own code (files below ``root``), outermost first, with paths relative to it."""
    frames = []
    for frame in traceback.extract_tb(trace):
        if Path(frame.filename).is_relative_to(_OURS):
            continue
        try:
            relative = Path(frame.filename).relative_to(root)
        except ValueError:
            continue
        if relative.parts[0] in _LIBRARIES and (root / relative.parts[0] / "__init__.py").exists():
            continue
        frames.append(traceback.FrameSummary(relative.as_posix(), frame.lineno, frame.name, line=frame.line))
    return frames


def place(error: BaseException, root: Path) -> str | None:
    """``file:line`` of the innermost frame of the model's own code, if there is one."""
    frames = own_frames(error.__traceback__, root)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else None


def message_of(error: BaseException, longest: int = 300) -> str:
    """What ``error`` says, on one line of at most ``longest`` characters.

    An exception is an object of the model's code too: its ``__str__`` may raise, give no text, or give a gigabyte.
    """
    try:
        text = str(error)[: 4 * longest]
    except Exception as second:
        return f"(its message cannot be had: __str__ raised {type(second).__name__})"
    line = " ".join(text.encode(errors="replace").decode().split())
    return line if len(line) <= longest else f"{line[:longest]}…"


def failure_of(error: BaseException, root: Path) -> Failure:
    """Classify ``error``: our own errors keep their fields, everything else is the model's code failing.

    What is raised with no line of the model's code on the way is said to be so: it may be of a library that was called
    for the model, or of this program.
    """
    frames = own_frames(error.__traceback__, root)
    text = "".join(traceback.format_list(frames))
    where = place(error, root)
    if isinstance(error, ImportError):
        error = _explained(error)
    if isinstance(error, AtlasError):
        stated = _relative(error.where, root)
        return Failure(
            error=_known_class(error), what=error.what, where=stated or where, advice=error.advice, traceback=text
        )
    if isinstance(error, MemoryError):
        return Failure(
            error=LimitError.__name__,
            what="The model's code ran out of memory.",
            where=where,
            advice="Make the probe smaller with an override.",
            traceback=text,
        )
    if isinstance(error, SystemExit):
        return _of_model(f"The model's code called sys.exit({_shown(error.code)}).", where, text)
    message = message_of(error)
    raised = f"{type(error).__name__}{': ' + message if message else ''}."
    if frames:
        return _of_model(f"The model's code raised {raised}", where, text)
    innermost = traceback.extract_tb(error.__traceback__)[-1:]
    return Failure(
        error=CaptureError.__name__,
        what=f"Running the model raised, outside of its own code, {raised}",
        where=_relative(f"{innermost[0].filename}:{innermost[0].lineno}", root) if innermost else None,
        advice="If the model is not to blame, report it with the traceback, which --verbose shows.",
        traceback="".join(traceback.format_tb(error.__traceback__)),
    )


def bare_failure(error: BaseException) -> Failure:
    """The least that can be said, for code that has replaced what :func:`failure_of` works with."""
    return _of_model(
        f"The model's code raised {type(error).__name__}, and changed Python so that no more is known.", None, ""
    )


def _of_model(what: str, where: str | None, text: str) -> Failure:
    return Failure(error=ModelCodeError.__name__, what=what, where=where, advice=None, traceback=text)


def _shown(value: object) -> str:
    try:
        return repr(value)[:200]
    except Exception:
        return type(value).__name__


def _explained(error: ImportError) -> AtlasError:
    package, _, path = (error.name or "").partition(".")
    if isinstance(error, ModuleNotFoundError) and package == PACKAGE and path:
        file = f"{path.replace('.', '/')}.py"
        return SourceNotFoundError(f"The code imports {file}, which its source does not hold.").with_traceback(
            error.__traceback__
        )
    from openmodelatlas.capture.standins import explain_missing  # late: torch's libraries are loaded 10 ms sooner

    explained = explain_missing(error)
    return explained.with_traceback(error.__traceback__)


def _known_class(error: AtlasError) -> str:
    """Name of the nearest class that the parent knows."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == errors.__name__)


def _relative(where: str | None, root: Path) -> str | None:
    """The place without this machine's folders: the parent's user knows the source's paths only."""
    if where is None or not where.startswith("/"):
        return where
    for folder in (root, root.resolve(), *map(Path, sorted(sys.path, key=len, reverse=True))):
        if str(folder) not in ("", ".", "/") and where.startswith(f"{folder}/"):
            return where[len(str(folder)) + 1 :]
    return where.rpartition("/")[2]
