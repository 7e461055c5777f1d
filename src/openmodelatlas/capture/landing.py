"""Reads the recordings of a running child as they land, so that little is left to do when it ends.

It is a short cut and nothing more: what the child left in the end decides. A recording that was read early counts only
if its file is still the same one, and every error, here or in what is done with the recording, is left to the reading
at the end, which meets it again.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from openmodelatlas.capture import reading, validate
from openmodelatlas.capture.recording import Recording, link
from openmodelatlas.errors import RecordingError

LARGEST_RECORDING = 512 * 2**20
RECORDING_NAME = re.compile(r"recording-([a-z0-9][a-z0-9-]{0,31})\.json")
MOST_PROBES = 32

_LARGEST_EARLY = 64 * 2**20
"""Bytes; decoding holds the interpreter's lock, and the child must not go unwatched for long."""

_LOOK_EVERY = 0.005  # seconds

Landed = Callable[[Recording], None]
_Identity = tuple[int, ...]


def read_recording(folder: Path, name: str, *, largest: int = LARGEST_RECORDING) -> Recording:
    """The recording in the file ``name`` of the child's output ``folder``, validated and linked.

    Raises:
        FileNotFoundError: there is no such file.
        RecordingError: it does not validate, or is longer than ``largest`` bytes.
    """
    recording = reading.decode(reading.read_bytes(folder, name, largest=largest), Recording, name)
    validate.validate(recording)
    if name != f"recording-{recording.probe.name}.json":
        raise RecordingError(f"The recording says that it is of probe {recording.probe.name!r}.", where=name)
    return link(recording)


class Landing:
    """Reads recordings in a thread while the ``with`` block runs.

    Args:
        folder: the child's output folder.
        landed: is told of every recording, in that thread.
    """

    def __init__(self, folder: Path, landed: Landed) -> None:
        self._folder = folder
        self._landed = landed
        self._read: dict[str, tuple[_Identity, Recording]] = {}
        self._tried: set[str] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="recordings", daemon=True)

    def __enter__(self) -> Landing:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def recording(self, name: str) -> Recording | None:
        """The recording in the file ``name``, if it was read and the file has not changed since."""
        identity, recording = self._read.get(name, ((), None))
        return recording if recording is not None and _identity(self._folder / name) == identity else None

    def _run(self) -> None:
        while not self._ended.wait(_LOOK_EVERY):
            with contextlib.suppress(OSError):
                for name in sorted(os.listdir(self._folder)):  # noqa: PTH208 - names are enough
                    if RECORDING_NAME.fullmatch(name) and name not in self._tried and len(self._tried) < MOST_PROBES:
                        self._tried.add(name)
                        self._take(name)

    def _take(self, name: str) -> None:
        with contextlib.suppress(Exception):  # whatever it is, it comes again where it is reported
            identity = _identity(self._folder / name)
            recording = read_recording(self._folder, name, largest=_LARGEST_EARLY)
            self._read[name] = (identity, recording)
            self._landed(recording)


def _identity(path: Path) -> _Identity:
    """What changes when a file is written or replaced. Raises OSError if there is none, or no regular one."""
    status = os.lstat(path)
    if not stat.S_ISREG(status.st_mode):
        raise OSError(f"{path} is no regular file")
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
