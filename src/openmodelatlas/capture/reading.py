"""Reads files that the child process wrote. They are untrusted: sizes are capped, names are ours, links are refused."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import TypeVar

import msgspec

from openmodelatlas.errors import RecordingError

T = TypeVar("T")


def open_file(folder: Path, name: str, *, largest: int) -> int:
    """Descriptor, open for reading, of the regular file ``name`` in ``folder``.

    Args:
        folder: the child's output folder, made by the parent.
        name: a name that the parent chose.
        largest: size in bytes above which the file is refused.

    Raises:
        FileNotFoundError: there is no such file.
        RecordingError: it is a link, no regular file, or too large.
    """
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(folder / name, flags)
    except FileNotFoundError:
        raise
    except OSError as error:
        kind = "a symbolic link" if error.errno == errno.ELOOP else f"unreadable ({error.strerror})"
        raise RecordingError(f"What the child process left as {name} is {kind}.", where=name) from error
    status = os.fstat(descriptor)
    problem: str | None = None
    if not stat.S_ISREG(status.st_mode):
        problem = "is not a regular file"
    elif status.st_size > largest:
        problem = f"is {status.st_size:,} bytes long; at most {largest:,} are read"
    if problem is not None:
        os.close(descriptor)
        raise RecordingError(f"What the child process left as {name} {problem}.", where=name)
    return descriptor


def read_bytes(folder: Path, name: str, *, largest: int) -> bytes:
    """Content of a file as described at :func:`open_file`, which also tells what is raised."""
    with os.fdopen(open_file(folder, name, largest=largest), "rb") as file:
        content = file.read(largest + 1)
    if len(content) > largest:
        raise RecordingError(f"What the child process left as {name} grew while it was read.", where=name)
    return content


def decode(content: bytes, kind: type[T], name: str) -> T:
    """Decode JSON into ``kind``.

    Raises:
        RecordingError: it is no JSON, nested too deeply, or of another form.
    """
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
        raise RecordingError(f"What the child process wrote does not validate: {error}", where=name) from error


def printable(text: str, longest: int = 4000) -> str:
    """Text for a message or a progress bar: no control characters (they steer terminals), at most ``longest`` long."""
    kept = "".join(character if character.isprintable() or character in "\n\t" else "�" for character in text[:longest])
    return kept + "…" if len(text) > longest else kept
