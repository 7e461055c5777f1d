"""From an exception in the child to the :class:`Failure` the parent reads."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from openmodelatlas.capture.job import Failure
from openmodelatlas.errors import AtlasError, LimitError, MissingStandInError, ModelCodeError

PACKAGES_WITH_KERNELS = frozenset(
    {"fla", "flash_attn", "mamba_ssm", "causal_conv1d", "triton", "flash_linear_attention", "xformers", "apex"}
)


def own_frames(trace: TracebackType | None, root: Path) -> list[traceback.FrameSummary]:
    """Frames of the model's own code (files below ``root``), outermost first, with paths relative to it."""
    frames = []
    for frame in traceback.extract_tb(trace):
        try:
            relative = Path(frame.filename).relative_to(root)
        except ValueError:
            continue
        frames.append(traceback.FrameSummary(relative.as_posix(), frame.lineno, frame.name, line=frame.line))
    return frames


def place(error: BaseException, root: Path) -> str | None:
    """``file:line`` of the innermost frame of the model's own code, if there is one."""
    frames = own_frames(error.__traceback__, root)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else None


def failure_of(error: BaseException, root: Path, files: Mapping[str, str]) -> Failure:
    """Classify ``error``: our own errors keep their fields, everything else is the model's code failing."""
    text = "".join(traceback.format_list(own_frames(error.__traceback__, root)))
    where = place(error, root)
    if isinstance(error, AtlasError):
        return Failure(
            error=type(error).__name__, what=error.what, where=error.where or where, advice=error.advice, traceback=text
        )
    missing = missing_import(error)
    if missing is not None:
        return Failure(
            error=MissingStandInError.__name__,
            what=f"The code imports {missing}, which is not installed and has no stand-in.",
            where=where,
            advice=f"Install it with --with {missing.partition('.')[0]}==VERSION, or write a stand-in "
            "(docs/stand-ins.md).",
            traceback=text,
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


def missing_import(error: BaseException) -> str | None:
    """Name of the module whose absence caused ``error``, following causes; ``None`` if it is another error."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, ModuleNotFoundError) and seen.name:
            return seen.name
        seen = seen.__cause__ or seen.__context__
    return None
