"""A second process beside the capture's own, for work that does not wait for its results.

It is forked, so that nothing has to be imported again, and it hands back bytes. Whatever goes wrong in it, the caller
does the work itself and meets the same error in the usual way; so a second process makes a capture faster and
changes nothing else.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Callable
from pathlib import Path

from openmodelatlas.capture import kernel

_READ_AT_ONCE = 2**20
_LOOK_EVERY = 0.1  # seconds; only a pipe that somebody else keeps open makes anybody wait for it
_OWN = [os.getpid()]
"""The one process that the capture knows here; a fork of :meth:`Beside.start` enters itself."""


def end_stray_copy() -> None:
    """End this process if the model's code forked it: such a copy goes on with the code of the capture as well.

    Two processes would write the same files, and the first error of either would end the capture.
    """
    if os.getpid() != _OWN[0]:
        os._exit(0)


class Beside:
    """A forked process that does one piece of work. Ask for its result once, or stop it."""

    def __init__(self, process: int, pipe: int) -> None:
        self._process = process
        self._pipe = pipe
        self._ended = False
        self._status: int | None = None

    @classmethod
    def start(cls, work: Callable[[], bytes]) -> Beside | None:
        """Start ``work`` in a second process.

        Returns:
            ``None`` where there is no second processor, where threads run (a fork would leave their locks locked),
            where forks are unknown, or where the system refuses another process.
        """
        if _processors() < 2 or _threads() != 1 or not hasattr(os, "fork"):
            return None
        reading, writing = os.pipe()
        try:
            process = os.fork()
        except OSError:  # the limit on processes
            os.close(reading)
            os.close(writing)
            return None
        if process == 0:
            os.close(reading)
            _work(work, writing)
        os.close(writing)
        return cls(process, reading)

    def result(self) -> bytes | None:
        """Wait for the end of the work; what it gave, or ``None`` if it failed.

        The end of the process is the end, not that of the pipe, which a process that the model's code forked may keep
        open.
        """
        end_stray_copy()
        parts: list[bytes] = []
        while not self._has_ended():
            if select.select([self._pipe], [], [], _LOOK_EVERY)[0]:
                part = os.read(self._pipe, _READ_AT_ONCE)
                if not part:
                    break
                parts.append(part)
        while select.select([self._pipe], [], [], 0)[0] and (part := os.read(self._pipe, _READ_AT_ONCE)):
            parts.append(part)
        return b"".join(parts) if self._end() == 0 else None

    def result_within(self, seconds: float) -> bytes | None:
        """As :meth:`result`, but ``None``, and an end to the work, if it takes longer than ``seconds`` from now."""
        end_stray_copy()
        if select.select([self._pipe], [], [], seconds)[0]:  # it hands over what it gives, or has ended
            return self.result()
        self.stop()
        return None

    def stop(self) -> None:
        """End the work, if it has not ended yet; nothing of it stays."""
        end_stray_copy()
        if not self._ended:
            if not self._has_ended():
                os.kill(self._process, signal.SIGKILL)
            self._end()

    def _has_ended(self) -> bool:
        return self._waited(os.WNOHANG) is not None

    def _waited(self, flags: int) -> int | None:
        if self._status is None:
            try:
                process, status = os.waitpid(self._process, flags)
            except ChildProcessError:  # the model's code waited for it: how it ended is unknown, so the work is redone
                process, status = self._process, 1
            self._status = status if process else None
        return self._status

    def _end(self) -> int:
        os.close(self._pipe)
        self._ended = True
        return self._waited(0) or 0


def _work(work: Callable[[], bytes], pipe: int) -> None:
    """The whole life of the second process; never returns into code of the first."""
    code = 1
    _OWN[0] = os.getpid()
    try:
        if kernel.is_linux():
            kernel.die_with_parent()
        rest = memoryview(work())
        end_stray_copy()
        while rest:
            rest = rest[os.write(pipe, rest) :]
        code = 0
    except BaseException:
        code = 1  # the first process does the work again, and tells the error
    finally:
        os._exit(code)


def _processors() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


def _threads() -> int:
    """Threads of this process, also those that Python does not know of; 0 where that cannot be told."""
    try:
        return len(list(Path("/proc/self/task").iterdir()))
    except OSError:
        return 0
