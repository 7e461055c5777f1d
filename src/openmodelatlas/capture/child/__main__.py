"""``python -m openmodelatlas.capture.child JOB.json``: capture one model in a process of its own.

The process already stands in its sandbox when this module is imported (:mod:`openmodelatlas.capture.supervisor`).
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from openmodelatlas.capture.child import beside, imports, left_out
from openmodelatlas.capture.child.failures import bare_failure, failure_of
from openmodelatlas.capture.child.inspection import quick_inspection
from openmodelatlas.capture.job import JOB_FORMAT, PROGRESS_VARIABLE, Job, Progress

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW
_OF_LIBRARIES = frozenset({"transformers", "reference"})
"""Kinds of source whose code, and what it calls upon, we have seen. Others bring files of their own."""

_ENCODE, _OPEN, _WRITE = msgspec.json.encode, os.open, os.write


def main(arguments: list[str]) -> int:
    """Exit code 0 if the recordings were written, 1 if ``failure.json`` was."""
    started = time.perf_counter()
    job = msgspec.json.decode(Path(arguments[0]).read_bytes(), type=Job)
    try:
        if job.format != JOB_FORMAT:
            raise ValueError(f"job format {job.format}, expected {JOB_FORMAT}")
        _capture(job, started)
    except BaseException as error:  # everything the model's code can raise becomes failure.json, SystemExit too
        beside.end_stray_copy()
        return _fail(job, error)
    return 0


def _fail(job: Job, error: BaseException) -> int:
    """Write ``failure.json``, with functions that were taken before the model's code could replace them."""
    try:
        content = _ENCODE(failure_of(error, Path(job.root)))
    except BaseException:
        content = _ENCODE(bare_failure(error))
    descriptor = _OPEN(f"{job.output}/failure.json", _FLAGS, 0o600)
    _WRITE(descriptor, content)
    return 1


def _capture(job: Job, started: float) -> None:
    gc.disable()  # see prepare
    report = _progress()
    if job.kind in ("transformers", "hub", "folder"):
        imports.search_beside()
        imports.load_torch()
    report("Import PyTorch", 0, job.probes + 4)
    left_out.leave_out(kernels=job.kind in _OF_LIBRARIES and not left_out.asks_for_kernels(_texts(job)))
    prepare()
    install_standins(job)
    from openmodelatlas.capture.child.run import Capture, Clock

    clock = Clock({"torch": round(time.perf_counter() - started, 4)})
    Capture(job, clock, report).run()


def prepare() -> None:
    """Import torch and set up the process as every capture needs it."""
    _set_threads()
    warnings.simplefilter("ignore")  # what a library is going to rename concerns nobody who reads an atlas
    gc.disable()  # imports make millions of objects that live on: collecting in between costs 0.7 s of 2.6 (measured)
    with quick_inspection():
        import torch

    left_out.complete_torch()
    torch.set_num_threads(1)


def install_standins(job: Job) -> None:
    """Stand-ins for the kernel packages that the source's own files import.

    No others: libraries beside them (``transformers``) choose between a kernel and PyTorch of their own by what can be
    imported, and their own PyTorch shows more than one kernel call.
    """
    from openmodelatlas.capture import standins

    wanted: set[str] = set()
    for text in _texts(job) if job.kind not in _OF_LIBRARIES else ():
        with contextlib.suppress(SyntaxError, ValueError):
            wanted |= standins.imported_standins(text)
    standins.install(wanted)


def _texts(job: Job) -> Iterator[str]:
    """Of the source's Python files. What cannot be read the loader tells, and what cannot be parsed, with its place."""
    for path in job.files:
        if path.endswith(".py"):
            with contextlib.suppress(OSError):
                yield (Path(job.root) / path).read_text(encoding="utf-8", errors="replace")


def _set_threads() -> None:
    """One thread: probes are small, and starting threads costs more than they save (measured on two cores)."""
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    sys.dont_write_bytecode = True


def _progress() -> Any:
    descriptor = os.environ.get(PROGRESS_VARIABLE)
    if descriptor is None:
        return lambda stage, done, total: None
    number = int(descriptor)

    def report(stage: str, done: int, total: int) -> None:
        os.write(number, msgspec.json.encode(Progress(stage, done, total)) + b"\n")

    return report


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
