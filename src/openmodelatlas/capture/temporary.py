"""Temporary folders that do not stay when the process that made them is killed.

A folder is locked while its owner lives; the system lets go of the lock however the owner ends. Whoever makes the next
folder removes those that nobody holds. (A process number would not do: containers that share a temporary folder have
numbers of their own.)
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

_OURS = re.compile(r"oma-(?:capture|scratch|doctor|overlay)-[a-z0-9_]{8}")
_YOUNG = 120.0  # seconds; a folder is made a moment before it is locked


@contextlib.contextmanager
def temporary_folder(purpose: str, place: Path | None = None) -> Iterator[Path]:
    """An empty folder ``oma-PURPOSE-…`` that is removed at the end, here or by a later call.

    Args:
        purpose: ``capture``, ``scratch``, ``doctor`` or ``overlay``.
        place: folder to make it in, by default the system's for temporary files.

    Raises:
        OSError: there is no place for it.
    """
    place = place or Path(tempfile.gettempdir())
    remove_abandoned(place)
    made = tempfile.TemporaryDirectory(prefix=f"oma-{purpose}-", dir=place, ignore_cleanup_errors=True)
    with made as name, _held(Path(name)):
        yield Path(name)


def is_temporary(name: str) -> bool:
    """Whether a folder of this name was made here, and will not stay."""
    return _OURS.fullmatch(name) is not None


def remove_abandoned(place: Path) -> None:
    """Remove the folders in ``place`` that killed processes of this user have left. What cannot be removed stays."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(place):
            if is_temporary(entry.name) and entry.is_dir(follow_symlinks=False):
                _remove_if_abandoned(Path(entry.path))


def _remove_if_abandoned(folder: Path) -> None:
    with contextlib.suppress(OSError):
        status = folder.lstat()
        if status.st_uid != os.getuid() or time.time() - status.st_mtime < _YOUNG:
            return
        with _held(folder):
            shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Hold the lock of ``folder``. Raises OSError if somebody else does."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
