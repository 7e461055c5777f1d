"""A fault of ours in one node, level or rule costs that one, not the atlas; it is told, and in tests it is raised.

Annotation and drawing run after a long capture and on whatever strangers write, so that a mistake in them must not
cost what was captured. :func:`contained` stands around each piece that others do not need. What was lost is recorded
with its reason, and the build tells of it.
"""

from __future__ import annotations

import contextlib
import os
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path

from openmodelatlas.errors import AtlasError

STRICT = "OMA_STRICT"
"""Environment variable: if set to anything but ``0``, faults are raised where they happen."""

_PACKAGE = Path(__file__).parents[1]
FAULT = "a fault of openmodelatlas"
"""What every description of a fault begins with."""

_LONGEST = 200


@contextlib.contextmanager
def contained(lost: Callable[[str], object]) -> Iterator[None]:
    """Tells ``lost`` of an error raised inside, in a few words with its place in our code, and goes on after the block.

    Errors of :mod:`openmodelatlas.errors` go through: they speak of the atlas or the catalogue, not of our mistakes.

    Raises:
        AtlasError: as raised inside.
        Exception: any other, where the environment says ``OMA_STRICT``.
    """
    try:
        yield
    except AtlasError:
        raise
    except Exception as error:
        if is_strict():
            raise
        lost(described(error))


def is_strict() -> bool:
    """Whether faults are to be raised."""
    return os.environ.get(STRICT, "0") not in ("", "0")


def described(error: Exception) -> str:
    """A fault in a few words: what was raised, and the last place in our own code that it came through."""
    text = " ".join(str(error).split())
    if len(text) > _LONGEST:
        text = f"{text[: _LONGEST - 1]}…"
    said = f"{type(error).__name__}: {text}" if text else type(error).__name__
    frames = traceback.extract_tb(error.__traceback__)
    inner = [each for each in frames if Path(each.filename).is_relative_to(_PACKAGE) and each.filename != __file__]
    if not inner:
        return f"{FAULT} ({said})"
    place = Path(inner[-1].filename).relative_to(_PACKAGE).as_posix()
    return f"{FAULT} ({said}, at {place}:{inner[-1].lineno})"
