"""The process between the parent and the code of a model: ``python -m openmodelatlas.capture.supervisor``.

It makes the namespaces, starts the *worker*, which enters the sandbox and then runs a module, and cleans up: when the
worker ends, or the parent dies, nothing that was started here stays alive. It imports no torch and reads nothing that
the worker wrote.

Arguments: the policy file, the module to run, and the module's own arguments. The environment names two file
descriptors: ``OMA_CONTROL`` (end of file there means that the parent has died) and ``OMA_STATUS`` (the worker writes
the protections in force to it, as one JSON array, before the module runs).
"""

from __future__ import annotations

import contextlib
import os
import runpy
import select
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import msgspec

from openmodelatlas.capture import kernel, namespaces, processes, sandbox
from openmodelatlas.capture.job import CONTROL_VARIABLE, STATUS_VARIABLE


def main(arguments: Sequence[str]) -> NoReturn:
    """Supervise one worker; ends the way the worker ended (same exit code or signal)."""
    policy = msgspec.json.decode(Path(arguments[0]).read_bytes(), type=sandbox.Policy)
    control, status = int(os.environ.pop(CONTROL_VARIABLE)), int(os.environ.pop(STATUS_VARIABLE))
    if kernel.is_linux():
        kernel.die_with_parent()
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        if os.getppid() != policy.parent:  # it died before the line above
            os._exit(1)
    separated: str | None = None
    first = -1
    try:
        namespaces.separate()
    except OSError as error:
        separated = str(error)
    else:
        kernel.die_with_parent()  # entering a user namespace may have cleared it
        first = os.fork()
        if first == 0:
            namespaces.run_first_process()
    worker = os.fork()
    if worker == 0:
        os.close(control)
        _work(policy, separated, status, arguments[1:])
    os.close(status)
    outcome = _wait(worker, control)
    if first > 0:
        os.kill(first, signal.SIGKILL)  # and with it, everything in its namespace
    else:
        # Never with a namespace: the /proc seen here may then list numbers of another namespace.
        processes.kill_tree(os.getpid(), itself=False)
    _end_like(outcome)


def _work(policy: sandbox.Policy, separated: str | None, status: int, arguments: Sequence[str]) -> NoReturn:
    code = 1
    try:
        if kernel.is_linux():
            kernel.die_with_parent()
        protections = sandbox.enter(policy, separated)
        if kernel.is_linux():
            kernel.die_with_parent()  # again: giving up privileges may have cleared it
        os.write(status, msgspec.json.encode(protections))
        os.close(status)
        sys.argv = list(arguments)
        runpy.run_module(arguments[0], run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if isinstance(end.code, str):
            print(end.code, file=sys.stderr)
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        # Taking torch and a model apart would cost a third of a second and change nothing.
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        os._exit(code & 0xFF)


def _wait(worker: int, control: int) -> int:
    """Wait status of the worker; it is killed if the parent dies first."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    os.set_blocking(reading, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    while True:
        process, outcome = os.waitpid(worker, os.WNOHANG)
        if process == worker:
            return outcome
        ready, _, _ = select.select([control, reading], [], [], 1.0)
        if reading in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(reading, 4096)
        if control in ready:
            os.kill(worker, signal.SIGKILL)


def _end_like(outcome: int) -> NoReturn:
    if os.WIFSIGNALED(outcome):
        number = os.WTERMSIG(outcome)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        signal.pause()
    os._exit(os.WEXITSTATUS(outcome))


if __name__ == "__main__":
    main(sys.argv[1:])
