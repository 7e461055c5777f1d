"""A second process that writes its share of the pages of a large site.

``python -m openmodelatlas.site.beside`` reads a :class:`Task` as a line of JSON and writes one byte for every page.
Whatever goes wrong in it, the caller writes that share itself and meets the same error in the usual way. Its input
stays open as long as the caller lives: where that ends, this process ends too, and writes nothing more.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.bundle.store import read
from openmodelatlas.site.writing import SiteWriter

SHARES = 2
WORTH_IT = 1_500
"""Pages from which on a second process saves more than it costs to start."""


class Task(msgspec.Struct, frozen=True):
    """What the second process does: bundles in the order of the site, root of the site."""

    bundles: tuple[str, ...]
    folder: str


class Beside:
    """The second process, or none where it would not help."""

    def __init__(self, atlases: Sequence[Atlas], folder: Path) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        if sum(len(atlas) for atlas in atlases) < WORTH_IT or (os.cpu_count() or 1) < SHARES or os.name == "nt":
            return
        task = Task(bundles=tuple(str(atlas.folder) for atlas in atlases), folder=str(folder))
        with contextlib.suppress(OSError):
            self._process = subprocess.Popen(
                [sys.executable, "-m", "openmodelatlas.site.beside"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.write(msgspec.json.encode(task) + b"\n")
                self._process.stdin.flush()
            if self._process.stdout is not None:
                os.set_blocking(self._process.stdout.fileno(), False)

    @property
    def runs(self) -> bool:
        """Whether there is a second process."""
        return self._process is not None

    def written(self) -> int:
        """How many pages it has written since this was last asked."""
        if self._process is None or self._process.stdout is None:
            return 0
        return len(self._process.stdout.read() or b"")

    def finish(self, told: Callable[[int], None]) -> bool:
        """Waits until it has ended; tells whether its share is written. ``told`` is called with pages written."""
        if self._process is None or self._process.stdout is None:
            return False
        os.set_blocking(self._process.stdout.fileno(), True)
        while data := self._process.stdout.read1(4096):  # type: ignore[attr-defined]
            told(len(data))
        done = self._process.wait() == 0
        self.end()
        return done

    def end(self) -> None:
        """Ends it, finished or not."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()
            self._process = None


def main() -> None:
    """Writes the second share."""
    task = msgspec.json.decode(sys.stdin.buffer.readline(), type=Task)
    threading.Thread(target=_end_with_the_caller, daemon=True).start()
    atlases = [read(Path(bundle)) for bundle in task.bundles]

    def told() -> None:
        sys.stdout.buffer.write(b".")
        sys.stdout.buffer.flush()

    SiteWriter(atlases, Path(task.folder)).write_pages(told, share=1, shares=SHARES)


def _end_with_the_caller() -> None:
    """Waits for the end of the input, and ends this process wherever it is."""
    os.read(sys.stdin.fileno(), 1)
    os._exit(1)


if __name__ == "__main__":
    main()
