"""Looks at, and ends, a process and everything it has started. Reads ``/proc`` on Linux, asks ``ps`` elsewhere."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

import msgspec

_PAGE = os.sysconf("SC_PAGE_SIZE")
_PROC = Path("/proc")


class Usage(msgspec.Struct, frozen=True):
    """What a process tree uses.

    Attributes:
        memory_bytes: resident memory in bytes; pages that several processes share count once for each.
        tasks: processes and threads.
        processes: process numbers.
    """

    memory_bytes: int
    tasks: int
    processes: tuple[int, ...]


def usage(root: int) -> Usage:
    """What the process ``root`` and all its descendants use; all zero once it has ended."""
    rows = _rows_from_proc() if (_PROC / "self/stat").exists() else _rows_from_ps()
    children: dict[int, list[int]] = {}
    for number, (parent, _, _) in rows.items():
        children.setdefault(parent, []).append(number)
    members: list[int] = []
    pending = [root] if root in rows else []
    while pending:
        number = pending.pop()
        members.append(number)
        pending.extend(children.get(number, ()))
    memory = sum(rows[number][1] for number in members)
    return Usage(memory, sum(rows[number][2] for number in members), tuple(members))


def proportional_memory(members: tuple[int, ...]) -> int | None:
    """Resident memory in bytes with shared pages divided among their users; ``None`` where it cannot be had."""
    total = 0
    for number in members:
        try:
            text = (_PROC / str(number) / "smaps_rollup").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        except OSError:
            return None
        for line in text.splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) * 1024
    return total


def _rows_from_proc() -> dict[int, tuple[int, int, int]]:
    rows = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - names are enough, and this runs ten times a second
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123 - hundreds of these, ten times a second
                text = file.read()
        except OSError:
            continue
        # The second field is the program's name in parentheses and may hold anything; see man 5 proc_pid_stat.
        fields = text[text.rindex(b")") + 2 :].split()
        rows[int(name)] = (int(fields[1]), int(fields[21]) * _PAGE, int(fields[17]))
    return rows


def _rows_from_ps() -> dict[int, tuple[int, int, int]]:
    import shutil  # late, like the next: a supervisor starts 4 ms sooner
    import subprocess

    program = shutil.which("ps")
    if program is None:
        return {}
    listing = subprocess.run(
        [program, "-A", "-o", "pid=,ppid=,rss="], capture_output=True, text=True, check=False, timeout=10
    )  # fmt: skip
    rows = {}
    for line in listing.stdout.splitlines():
        fields = line.split()
        if len(fields) == 3 and all(field.isdigit() for field in fields):
            rows[int(fields[0])] = (int(fields[1]), int(fields[2]) * 1024, 1)
    return rows


def kill_tree(root: int, *, itself: bool = True, seconds: float = 5.0) -> None:
    """End every descendant of ``root`` and, if ``itself``, ``root`` last.

    All are stopped before any is killed, so that none can start another one meanwhile. On return they are gone, or
    about to be if the system is very busy.
    """
    deadline = time.monotonic() + seconds
    stopped: set[int] = set()
    while time.monotonic() < deadline:
        found = set(usage(root).processes) - {root}
        if not found - stopped:
            break
        for number in found - stopped:
            _signal(number, signal.SIGSTOP)
        stopped |= found
    for number in stopped:
        _signal(number, signal.SIGKILL)
    if itself:
        _signal(root, signal.SIGKILL)
    while any(map(_runs, stopped)) and time.monotonic() < deadline:
        time.sleep(0.005)


def _runs(number: int) -> bool:
    """Whether a process exists and has not ended (state ``Z`` or ``X``); false where that is unknown."""
    try:
        text = (_PROC / str(number) / "stat").read_bytes()
    except OSError:
        return False
    return text[text.rindex(b")") + 2 :][:1] not in b"ZX"


def _signal(number: int, what: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(number, what)
