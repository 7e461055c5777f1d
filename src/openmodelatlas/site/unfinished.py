"""Folders of exports that are not finished, beside the folder that they are for; a killed export leaves them there.

Two kinds of folder stand beside the target ``site`` for a while: ``.site-building-…``, which is being written, and
``.site-old-…``, an earlier export that is being replaced. The first is locked by its export, and the system lets go of
the lock however that ends; the second exists only while the export holds the lock of the folder around both. So whoever
holds that lock, and gets the lock of one of these folders as well, knows that nobody is at work there.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

_PATIENCE = 10.0
"""Seconds to wait for the lock of the folder around, which exports hold only to make, rename and remove folders."""

_OPEN_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0) | getattr(os, "O_NOFOLLOW", 0)


class Unfinished:
    """The new folder for ``target``, from the first file until it takes the target's place.

    Args:
        target: absolute path of the folder to write or to replace; what is around it is made if it is not there.

    Raises:
        OSError: the folder cannot be made.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        target.parent.mkdir(parents=True, exist_ok=True)
        with _held(target.parent) as alone:
            if alone:
                _remove_abandoned(target)
            self.folder = _beside(target, "building")
            self.folder.mkdir()
            self._lock: int | None = None
            with contextlib.suppress(OSError):
                self._lock = _lock(self.folder)

    def take_place(self) -> None:
        """Puts the finished folder in the place of the target; an earlier one is put back if that fails.

        Raises:
            OSError: it cannot be put there.
        """
        with _held(self._target.parent):
            if not self._target.exists():
                self.folder.rename(self._target)
                return
            aside = _beside(self._target, "old")
            self._target.rename(aside)
            try:
                self.folder.rename(self._target)
            except OSError:
                aside.rename(self._target)
                raise
            aside.rename(self.folder)  # from here on it is what :meth:`end` removes

    def end(self) -> None:
        """Removes what is left to remove, and lets go of the lock."""
        shutil.rmtree(self.folder, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _beside(target: Path, kind: str) -> Path:
    return target.with_name(f".{target.name}-{kind}-{os.urandom(4).hex()}")


def _remove_abandoned(target: Path) -> None:
    """Removes what killed exports left beside ``target``, or puts it back where one was killed between two renames."""
    ours = re.compile(rf"\.{re.escape(target.name)}-(building|old)-[0-9a-f]{{8}}")
    for entry in sorted(target.parent.iterdir()):
        found = ours.fullmatch(entry.name)
        if found is None or entry.is_symlink() or not entry.is_dir():
            continue
        with contextlib.suppress(OSError):
            lock = _lock(entry)
            if lock is None:
                continue
            try:
                if found[1] == "old" and not os.path.lexists(target):
                    entry.rename(target)
                else:
                    shutil.rmtree(entry, ignore_errors=True)
            finally:
                os.close(lock)


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[bool]:
    """Holds the lock of ``folder``, waiting a while for it; tells whether it does.

    Not all file systems have locks, and others than exports may hold this one: an export does without it then.
    """
    lock = None
    deadline = time.monotonic() + _PATIENCE
    with contextlib.suppress(OSError):
        lock = _lock(folder)
        while lock is None and sys.platform != "win32" and time.monotonic() < deadline:
            time.sleep(0.05)
            lock = _lock(folder)
    try:
        yield lock is not None
    finally:
        if lock is not None:
            os.close(lock)


def _lock(folder: Path) -> int | None:
    """The open descriptor that holds the lock of ``folder``; ``None`` if another holds it, or without folders to lock.

    Raises:
        OSError: the folder cannot be opened, or its file system has no locks.
    """
    if sys.platform == "win32":  # folders have no locks there, and what was left stays
        return None
    import fcntl

    descriptor = os.open(folder, _OPEN_FOLDER)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    except OSError:
        os.close(descriptor)
        raise
    return descriptor
