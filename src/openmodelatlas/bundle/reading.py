"""Reads files that others may have put there."""

from __future__ import annotations

import errno
import stat
from pathlib import Path


def read_file(path: Path) -> bytes:
    """The bytes of the regular file ``path``.

    Raises:
        OSError: it cannot be read, or it is none: reading a pipe waits for somebody to write, a device has no end.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise OSError(errno.EINVAL, "it is no regular file")
    return path.read_bytes()
