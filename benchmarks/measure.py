"""Whole processes, measured: time, processor time, and memory of everything they start."""

from __future__ import annotations

import os
import statistics
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

SAMPLE_EVERY = 0.02
"""Seconds between two looks at memory."""


@dataclass(frozen=True)
class Run:
    """One run of a command with all the processes it started.

    Attributes:
        seconds: wall-clock time from start to end of the first process.
        processor_seconds: user and system time of all its processes.
        peak_bytes: largest sum of the resident memory of all processes at one moment (pages that two of them share
            count twice).
        peak_by_process: largest resident memory of each process, in bytes, by its place among those seen and what it
            ran (the last argument that names a module or file).
        exit_code: as in :attr:`subprocess.Popen.returncode`.
        output: standard output.
        errors: standard error.
    """

    seconds: float
    processor_seconds: float
    peak_bytes: int
    peak_by_process: dict[str, int]
    exit_code: int
    output: str
    errors: str


@dataclass
class _Sampler:
    process: int
    peak: int = 0
    peaks: dict[int, int] = field(default_factory=dict)
    names: dict[int, str] = field(default_factory=dict)

    def run(self, ended: threading.Event) -> None:
        while not ended.wait(SAMPLE_EVERY):
            self.look()

    def look(self) -> None:
        total = 0
        for number in tree(self.process):
            memory = resident(number)
            total += memory
            self.peaks[number] = max(self.peaks.get(number, 0), memory)
            if self.names.get(number, "python") == "python":
                self.names[number] = _what_it_runs(number)
        self.peak = max(self.peak, total)


def run(
    command: Sequence[str], environment: Mapping[str, str], *, memory: bool = False, timeout: float = 1800.0
) -> Run:
    """Runs ``command`` and measures it; it is killed after ``timeout`` seconds, which shows as its exit code.

    Looking at ``memory`` takes a fiftieth of a processor, which a process that uses them all would lack: times and
    memory are taken from different runs. Without it the peaks are 0 and empty.
    """
    started = time.perf_counter()
    process = subprocess.Popen(
        command, env=dict(environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    sampler, ended = _Sampler(process.pid), threading.Event()
    watching = threading.Thread(target=sampler.run, args=(ended,))
    if memory:
        watching.start()
    assert process.stdout is not None
    assert process.stderr is not None
    texts: dict[str, bytes] = {}
    readers = [
        threading.Thread(target=lambda name=name, stream=stream: texts.update({name: stream.read()}))
        for name, stream in (("output", process.stdout), ("errors", process.stderr))
    ]
    timer = threading.Timer(timeout, process.kill)
    for thread in (*readers, timer):
        thread.start()
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    timer.cancel()
    ended.set()
    for thread in (*readers, *((watching,) if memory else ())):
        thread.join()
    peaks = {f"{place} {sampler.names[number]}": peak for place, (number, peak) in enumerate(sampler.peaks.items(), 1)}
    return Run(
        seconds=seconds,
        processor_seconds=usage.ru_utime + usage.ru_stime,
        peak_bytes=sampler.peak,
        peak_by_process=peaks,
        exit_code=process.returncode,
        output=texts["output"].decode("utf-8", "replace"),
        errors=texts["errors"].decode("utf-8", "replace"),
    )


def tree(root: int) -> list[int]:
    """``root`` and all processes below it that run now (Linux: ``/proc/PID/task/TID/children``)."""
    found, waiting = [], [root]
    while waiting:
        number = waiting.pop()
        found.append(number)
        try:
            for task in os.listdir(f"/proc/{number}/task"):  # noqa: PTH208 - many times a second
                children = Path(f"/proc/{number}/task/{task}/children").read_text()
                waiting.extend(map(int, children.split()))
        except OSError:  # it has ended
            continue
    return found


def resident(number: int) -> int:
    """Resident memory of a process in bytes, 0 if it has ended."""
    try:
        pages = int(Path(f"/proc/{number}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _what_it_runs(number: int) -> str:
    try:
        words = Path(f"/proc/{number}/cmdline").read_bytes().decode("utf-8", "replace").split("\0")
    except OSError:
        return "python"
    named = [Path(word).name for word in words[1:] if word and not word.startswith("-")]
    return next((name for name in named if name.endswith(".py") or "openmodelatlas" in name), (named or ["python"])[0])


def median(values: Sequence[float]) -> float:
    """Median."""
    return statistics.median(values)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, columns aligned for reading as text."""
    widths = [max(len(row[place]) for row in (head, *rows)) for place in range(len(head))]
    lines = [" | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in (head, *rows)]
    lines.insert(1, " | ".join("-" * width for width in widths))
    return "\n".join(f"| {line} |" for line in lines)


def megabytes(count: float) -> str:
    """``1,234 MB`` (10^6 bytes)."""
    return f"{count / 1e6:,.1f} MB"


def environment(home: Path) -> dict[str, str]:
    """Environment of a measured process: no hub, one thread, its own data folder."""
    return {
        **os.environ,
        "OMA_HOME": str(home),
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "PYTHONHASHSEED": "0",
        "TOKENIZERS_PARALLELISM": "false",
    }
