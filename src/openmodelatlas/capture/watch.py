"""Watches a running child: takes in what it says, and ends it when it exceeds a limit."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

import msgspec

from openmodelatlas.capture import processes, reading
from openmodelatlas.capture.job import Limits, Progress
from openmodelatlas.capture.sandbox import Protection
from openmodelatlas.errors import LimitError

_LOOK_EVERY = 0.1  # seconds between two looks at memory and processes
_MEASURE_EVERY = 1.0  # seconds between two walks through the folders
_TAIL_BYTES = 16_384
_LINE_BYTES = 65_536
_STATUS_BYTES = 65_536
_MOST_FILES = 20_000
_CHUNK = 1 << 20


class Watch:
    """One child under watch.

    Attributes:
        exceeded: the error for the limit it exceeded, ``None`` if none.
        protections: what its sandbox has in force, as it reported before any model code ran.
        exit_code: as in :attr:`subprocess.Popen.returncode`.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        limits: Limits,
        own_tasks: int,
        folders: tuple[Path, ...],
        progress: Callable[[Progress], None],
    ) -> None:
        self.exceeded: LimitError | None = None
        self.protections: tuple[Protection, ...] = ()
        self.exit_code = 0
        self._process = process
        self._limits = limits
        self._own_tasks = own_tasks
        self._folders = folders
        self._progress = progress
        self._tails = {"stdout": _Tail(), "stderr": _Tail()}
        self._said = 0
        self._line = b""
        self._status = b""
        self._started = time.monotonic()

    def until_end(self, *, status: int, progress: int) -> None:
        """Return when the child has ended or has exceeded a limit; ending it is the caller's part.

        Args:
            status: descriptor on which the supervisor reports the protections.
            progress: descriptor of the progress pipe.
        """
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        sources = {
            self._process.stdout.fileno(): self._tails["stdout"].add,
            self._process.stderr.fileno(): self._tails["stderr"].add,
            progress: self._take_progress,
            status: self._take_status,
        }
        with selectors.DefaultSelector() as selector:
            for descriptor, take in sources.items():
                os.set_blocking(descriptor, False)
                selector.register(descriptor, selectors.EVENT_READ, take)
            self._loop(selector)
            if self.exceeded is None:
                self._drain(selector)
                self._measure_folders()
        if self._status:
            self.protections = tuple(reading.decode(self._status, list[Protection], "sandbox report"))

    def _loop(self, selector: selectors.BaseSelector) -> None:
        next_look = next_measure = self._started
        while True:
            for key, _ in selector.select(0.05):
                self._take(selector, key)
            code = self._process.poll()
            if code is not None:
                self.exit_code = code
                return
            now = time.monotonic()
            if now >= next_look:
                next_look = now + _LOOK_EVERY
                self._look(now)
            if now >= next_measure:
                next_measure = now + _MEASURE_EVERY
                self._measure_folders()
            if self._said > self._limits.output_bytes:
                self._exceed(f"The model's code printed more than {size(self._limits.output_bytes)}.")
            if self.exceeded is not None:
                return

    def _drain(self, selector: selectors.BaseSelector) -> None:
        """Take in what the pipes still hold. A pipe holds little, so this ends even if somebody keeps writing."""
        for _ in range(64):
            ready = selector.select(0)
            if not ready:
                return
            for key, _ in ready:
                self._take(selector, key)

    def _take(self, selector: selectors.BaseSelector, key: selectors.SelectorKey) -> None:
        try:
            content = os.read(key.fd, _CHUNK)
        except BlockingIOError:
            return
        if not content:
            selector.unregister(key.fd)
            return
        self._said += len(content)
        key.data(content)

    def _take_status(self, content: bytes) -> None:
        self._status = (self._status + content)[:_STATUS_BYTES]

    def _take_progress(self, content: bytes) -> None:
        *lines, rest = (self._line + content).split(b"\n")
        self._line = rest[:_LINE_BYTES]
        latest: Progress | None = None
        for line in lines:
            try:
                latest = msgspec.json.decode(line, type=Progress)
            except (msgspec.DecodeError, RecursionError):
                continue  # model code may write to this pipe too; a broken line only costs a step of the bar
        if latest is not None:
            total = min(max(latest.total, 0), 10**9)
            stage = reading.printable(latest.stage, 200).replace("\n", " ")
            self._progress(Progress(stage, min(max(latest.done, 0), total), total))

    def _look(self, now: float) -> None:
        limits = self._limits
        if now - self._started > limits.seconds:
            self._exceed(f"The model's code ran longer than {limits.seconds:g} s.")
            return
        used = processes.usage(self._process.pid)
        if used.tasks > limits.processes + self._own_tasks:
            self._exceed(f"The model's code started more than {limits.processes} processes and threads.")
            return  # at once: measuring memory exactly takes longer the more of them there are
        if used.memory_bytes > limits.memory_bytes:
            exact = processes.proportional_memory(used.processes) if len(used.processes) > 1 else None
            if exact is None or exact > limits.memory_bytes:
                self._exceed(f"The model's code used more than {size(limits.memory_bytes)} of memory.")

    def _measure_folders(self) -> None:
        total = files = 0
        for folder in self._folders:
            for where, _, names in os.walk(folder):
                for name in names:
                    files += 1
                    try:
                        total += os.lstat(os.path.join(where, name)).st_blocks * 512  # noqa: PTH118 - a hot loop
                    except OSError:
                        continue
                if files > _MOST_FILES or total > self._limits.output_bytes:
                    break
        if files > _MOST_FILES:
            self._exceed(f"The model's code wrote more than {_MOST_FILES:,} files.")
        elif total > self._limits.output_bytes:
            self._exceed(f"The model's code wrote more than {size(self._limits.output_bytes)} of files.")

    def _exceed(self, what: str) -> None:
        if self.exceeded is None:
            advice = "If the model really needs that much, raise the limit; otherwise look for a fault in its code."
            self.exceeded = LimitError(what, advice=advice)

    def last_words(self) -> str:
        """The last line of standard error (of output, if there is no error), led by a sentence; empty if none."""
        for stream in ("stderr", "stdout"):
            lines = self._tails[stream].text().split("\n")
            last = next((line.strip() for line in reversed(lines) if line.strip()), "")
            if last:
                return f" It last said: {reading.printable(last, 300)}"
        return ""

    def output(self) -> str:
        """The end of both streams, printable; empty if nothing was said."""
        texts = {name: tail.text().strip() for name, tail in self._tails.items()}
        return "\n".join(f"{name}:\n{reading.printable(text, 20_000)}" for name, text in texts.items() if text)


class _Tail:
    """Keeps the end of a stream."""

    def __init__(self) -> None:
        self._parts: deque[bytes] = deque()
        self._length = 0

    def add(self, content: bytes) -> None:
        self._parts.append(content[-_TAIL_BYTES:])
        self._length += len(self._parts[-1])
        while self._length - len(self._parts[0]) >= _TAIL_BYTES:
            self._length -= len(self._parts.popleft())

    def text(self) -> str:
        return b"".join(self._parts)[-_TAIL_BYTES:].decode("utf-8", "replace")


def size(count: int) -> str:
    """``12 GiB`` for 12884901888 bytes."""
    units = ("bytes", "KiB", "MiB", "GiB", "TiB")
    step = 0
    while count >= 1024 ** (step + 1) and step < len(units) - 1:
        step += 1
    return f"{count / 1024**step:.4g} {units[step]}"
