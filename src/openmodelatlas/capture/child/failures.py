"""From an exception in the child to the :class:`Failure` the parent reads."""

from __future__ import annotations

import sys
import traceback
from pathlib import Path
from types import TracebackType

from openmodelatlas import errors
from openmodelatlas.capture.job import Failure
from openmodelatlas.capture.standins import explain_missing
from openmodelatlas.errors import AtlasError, LimitError, MissingStandInError, ModelCodeError

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


def failure_of(error: BaseException, root: Path) -> Failure:
    """Classify ``error``: our own errors keep their fields, everything else is the model's code failing."""
    text = "".join(traceback.format_list(own_frames(error.__traceback__, root)))
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
    message = str(error).strip().splitlines()
    return Failure(
        error=ModelCodeError.__name__,
        what=f"The model's code raised {type(error).__name__}{': ' + message[0] if message else ''}.",
        where=where,
        advice=None,
        traceback=text,
    )


def _explained(error: ImportError) -> MissingStandInError:
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
