"""Runs one job in a child process, under limits, and turns every way it can end into one clear error.

The child is ``python -m openmodelatlas.capture.supervisor POLICY MODULE JOB``: the supervisor enters the sandbox and
then runs ``MODULE`` (the capture child) with the job's path as its only argument, so that no code of the child runs
outside it. The module finds the descriptor of the progress pipe in the environment variable ``OMA_PROGRESS`` and
writes :class:`~openmodelatlas.capture.job.Progress` values to it, one JSON object a line. Its working directory and
``TMPDIR`` lie in a scratch folder; it writes results into ``job.output``, or ``failure.json`` there.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

import openmodelatlas
from openmodelatlas import errors
from openmodelatlas.capture import processes, reading
from openmodelatlas.capture.job import (
    CONTROL_VARIABLE,
    PROGRESS_VARIABLE,
    STATUS_VARIABLE,
    Failure,
    Job,
    Limits,
    Progress,
)
from openmodelatlas.capture.refusals import RefusedError
from openmodelatlas.capture.sandbox import Policy, Protection
from openmodelatlas.capture.temporary import temporary_folder
from openmodelatlas.capture.watch import Watch
from openmodelatlas.errors import AtlasError, CaptureError, SandboxError

CHILD_MODULE = "openmodelatlas.capture.child"
SUMMARY, FAILURE = "summary.json", "failure.json"
# Threads that torch, its libraries and the supervisor start by themselves.
OWN_TASKS = 32
_PASSED_ON = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SYSTEMROOT")


def ignore_progress(progress: Progress) -> None:
    """Report progress to nobody."""


def run(
    job: Job,
    *,
    limits: Limits,
    overlays: Sequence[Path] = (),
    progress: Callable[[Progress], None] = ignore_progress,
    python: str = sys.executable,
    child_module: str = CHILD_MODULE,
    python_path: Sequence[Path] = (),
    meanwhile: Callable[[], None] = lambda: None,
) -> tuple[Protection, ...]:
    """Run ``job`` and wait for its end. On return the output folder holds a ``summary.json``.

    Args:
        job: what to do; ``job.output`` is an existing folder of the parent's.
        limits: what the child may use.
        overlays: folders of packages, ahead of the installed ones.
        progress: is told how far the child is; what it receives is safe to print.
        python: interpreter to run, which has torch installed.
        child_module: module to run inside the sandbox.
        python_path: further folders for the path, after the overlays.
        meanwhile: is called once, when the child first tells how far it is: a processor is idle until the model's code
            is imported. It must be short, since the child goes unwatched meanwhile. What it raises ends the child.

    Returns:
        The protections of the child, in force or not.

    Raises:
        CaptureError: or a subclass, or whichever error of this package the child reports in ``failure.json``.
    """
    output = Path(job.output)
    with writable_temporary_folder("scratch") as made:
        folder = made.resolve()
        inherited = [Path(each) for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
        path = [*overlays, *python_path, Path(openmodelatlas.__file__).parent.parent, *inherited]
        readable = (folder / "job.json", *overlays, *python_path, *_files_of(job))
        policy = Policy(
            parent=os.getpid(),
            source_root=job.root,
            writable=(str(folder / "scratch"), str(output.resolve())),
            readable=tuple(map(str, readable)),
            memory_bytes=limits.memory_bytes,
            file_bytes=limits.output_bytes,
            cpu_seconds=int(limits.seconds * max(os.cpu_count() or 1, 1)) + 60,
            processes=limits.processes + OWN_TASKS,
        )
        try:
            (folder / "scratch" / "tmp").mkdir(parents=True)
            (folder / "job.json").write_bytes(msgspec.json.encode(job))
            (folder / "policy.json").write_bytes(msgspec.json.encode(policy))
        except OSError as error:
            raise CaptureError(
                f"The temporary folder cannot be written: {error.strerror}", where=str(folder)
            ) from error
        command = [
            python, "-P", "-s", "-B", "-m", "openmodelatlas.capture.supervisor",
            str(folder / "policy.json"), child_module, str(folder / "job.json"),
        ]  # fmt: skip
        scratch = folder / "scratch"
        pending = [meanwhile]

        def told(step: Progress) -> None:
            while pending:
                pending.pop()()
            progress(step)

        watch = _start(command, _environment(scratch, path), limits, (scratch, output), told)
        _judge(watch, output)
        while pending:
            pending.pop()()
        return watch.protections


@contextlib.contextmanager
def writable_temporary_folder(purpose: str) -> Iterator[Path]:
    """As :func:`.temporary.temporary_folder`. Raises CaptureError if none can be made."""
    with contextlib.ExitStack() as stack:
        try:
            folder = stack.enter_context(temporary_folder(purpose))
        except OSError as error:
            raise CaptureError(
                f"No temporary folder can be made: {error.strerror or error}.",
                where=error.filename,
                advice="Free some space, or set TMPDIR to a folder that can be written.",
            ) from error
        yield folder


def _files_of(job: Job) -> list[Path]:
    """Where the files of the source really lie: in the hub's cache they are links to a folder beside the source."""
    root = Path(job.root)
    return [(root / path).resolve() for path in job.files]


def _start(
    command: Sequence[str],
    environment: dict[str, str],
    limits: Limits,
    folders: tuple[Path, Path],
    progress: Callable[[Progress], None],
) -> Watch:
    pipes = {name: os.pipe() for name in ("control", "status", "progress")}
    control, status, told = pipes["control"], pipes["status"], pipes["progress"]
    environment[CONTROL_VARIABLE] = str(control[0])
    environment[STATUS_VARIABLE] = str(status[1])
    environment[PROGRESS_VARIABLE] = str(told[1])
    theirs = (control[0], status[1], told[1])
    ours = (control[1], status[0], told[0])
    try:
        try:
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folders[0],
                env=environment,
                pass_fds=theirs,
                start_new_session=True,
            )
        except OSError as error:
            raise CaptureError(f"The capture process could not be started: {error}", where=command[0]) from error
        finally:
            for descriptor in theirs:
                os.close(descriptor)
        watch = Watch(process, limits, OWN_TASKS, folders, progress)
        try:
            watch.until_end(status=status[0], progress=told[0])
        finally:
            processes.kill_tree(process.pid)
            process.wait()
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
    finally:
        for descriptor in ours:
            os.close(descriptor)
    return watch


def _environment(scratch: Path, path: Sequence[Path]) -> dict[str, str]:
    passed_on: Mapping[str, str] = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    one = dict.fromkeys(
        ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS", "RAYON_NUM_THREADS"), "1"
    )
    off = dict.fromkeys(("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_DISABLE_TELEMETRY"), "1")
    # Large tensors go back to the system when they are freed; glibc would come to keep gigabytes for Kimi K3.
    memory = {"MALLOC_MMAP_THRESHOLD_": str(4 * 2**20)}
    # Compilers rewrite the author's code into other operations, or hide it: it runs as it is written.
    as_written = {"TORCHDYNAMO_DISABLE": "1", "TORCH_COMPILE_DISABLE": "1", "PYTORCH_JIT": "0"}
    return {
        **passed_on,
        **one,
        **off,
        **as_written,
        **memory,
        "HOME": str(scratch),
        "TMPDIR": str(scratch / "tmp"),
        "XDG_CACHE_HOME": str(scratch / "cache"),
        "HF_HOME": str(scratch / "huggingface"),
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": os.pathsep.join(str(folder.absolute()) for folder in path),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "PYTHONNOUSERSITE": "1",
        "PYTHONUTF8": "1",
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "TOKENIZERS_PARALLELISM": "false",
        "CUDA_VISIBLE_DEVICES": "",
    }


def _judge(watch: Watch, output: Path) -> None:
    """Raise what the run deserves; nothing if it left a summary."""
    if watch.exceeded is not None:
        raise watch.exceeded
    _raise_failure(output)
    code = watch.exit_code
    last_words = watch.last_words()
    if code != 0:
        how = f"was killed by {signal_name(-code)}" if code < 0 else f"ended with exit code {code}"
        what = f"The capture process {how} without saying why.{last_words}"
        advice = "The system may have run out of memory, or the code may have killed its own process."
        raise _with_output(CaptureError(what, advice=advice if code == -signal.SIGKILL else None), watch)
    if not (output / SUMMARY).exists():
        what = f"The capture process ended with exit code 0 but without a result.{last_words}"
        advice = "The model's code may have ended the process itself (os._exit)."
        raise _with_output(CaptureError(what, advice=advice), watch)


def _with_output(error: CaptureError, watch: Watch) -> CaptureError:
    """``error`` with all that is left of what the child printed, which is shown on demand."""
    said = watch.output()
    if said:
        error.add_note(f"What the process printed:\n{said}")
    return error


def signal_name(number: int) -> str:
    """``SIGSEGV`` for 11; ``signal 99`` for a number without a name."""
    with contextlib.suppress(ValueError):
        return signal.Signals(number).name
    return f"signal {number}"


def _raise_failure(output: Path) -> None:
    try:
        content = reading.read_bytes(output, FAILURE, largest=2**20)
    except FileNotFoundError:
        return
    failure = reading.decode(content, Failure, FAILURE)
    # The child reports a refusal of the sandbox by the name of the class that the sandbox raises.
    known = SandboxError.__name__ if failure.error == RefusedError.__name__ else failure.error
    kind = getattr(errors, known, None)
    if not (isinstance(kind, type) and issubclass(kind, AtlasError)):
        kind = CaptureError
    where, advice = (
        None if text is None else reading.printable(text, 1000) for text in (failure.where, failure.advice)
    )  # fmt: skip
    error = kind(reading.printable(failure.what), where=where, advice=advice)
    if failure.traceback:
        error.add_note(f"The traceback of the model's code:\n{reading.printable(failure.traceback, 20_000)}")
    raise error
