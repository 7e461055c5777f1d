"""Every way a child can end gives one clear error."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from openmodelatlas.capture import process, processes, watch
from openmodelatlas.capture.job import Limits, Progress
from openmodelatlas.errors import CaptureError, LimitError, ModelCodeError, RecordingError, SandboxError

from .conftest import CHILDREN, Run, job_for


def test_a_child_that_ends_well(run: Run, output: Path) -> None:
    protections = run("well")
    assert (output / "summary.json").is_file()
    assert {each.name for each in protections} >= {"no sockets", "files", "own namespaces"}


def test_progress_is_passed_on_without_control_characters(output: Path) -> None:
    told: list[Progress] = []
    process.run(
        job_for("well", output, {}),
        limits=Limits(),
        child_module="misbehaving",
        python_path=[CHILDREN],
        progress=told.append,
    )
    assert told == [Progress("Half �[31mway", 1, 2)]


def test_an_exception_nobody_reported(run: Run) -> None:
    with pytest.raises(CaptureError, match="exit code 1") as caught:
        run("raises")
    assert caught.value.what.endswith("without saying why. It last said: ValueError: wrong on purpose")
    assert "Traceback" in caught.value.__notes__[0]


def test_an_endless_loop(run: Run) -> None:
    started = time.monotonic()
    with pytest.raises(LimitError, match=r"longer than 0\.5 s\."):
        run("loops", seconds=0.5)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("entry", ["eats_memory", "eats_memory_in_two"])
def test_memory(run: Run, entry: str) -> None:
    with pytest.raises(LimitError, match="more than 300 MiB of memory"):
        run(entry)


def test_one_allocation_beyond_all_memory_fails_where_it_is_made(run: Run) -> None:
    with pytest.raises(CaptureError, match="MemoryError"):
        run("asks_for_much_memory")


def test_a_child_that_ends_itself(run: Run) -> None:
    with pytest.raises(CaptureError, match="exit code 0 but without a result") as caught:
        run("exits_with_nothing")
    assert caught.value.advice is not None
    assert "os._exit" in caught.value.advice
    with pytest.raises(CaptureError, match="exit code 3") as caught:
        run("exits_with_three")
    assert "last words" in caught.value.what


@pytest.mark.parametrize(("entry", "name"), [("crashes", "SIGSEGV"), ("kills_itself", "SIGKILL")])
def test_a_child_that_dies_of_a_signal(run: Run, entry: str, name: str) -> None:
    with pytest.raises(CaptureError, match=f"killed by {name}"):
        run(entry)


@pytest.mark.parametrize("entry", ["prints_gigabytes", "prints_to_the_progress_pipe"])
def test_prints_gigabytes(run: Run, entry: str) -> None:
    with pytest.raises(LimitError, match="printed more than 20 MiB"):
        run(entry)


def test_writes_gigabytes(run: Run) -> None:
    with pytest.raises(LimitError, match="wrote more than 20 MiB of files"):
        run("writes_gigabytes")


def test_writes_one_file_without_end(run: Run) -> None:
    with pytest.raises(CaptureError, match="File too large"):
        run("writes_one_large_file")


def test_writes_many_files(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "_MOST_FILES", 2_000)
    with pytest.raises(LimitError, match="wrote more than 2,000 files"):
        run("writes_many_files")


@pytest.mark.parametrize("entry", ["forks_a_lot", "starts_threads"])
def test_starts_many(run: Run, entry: str) -> None:
    with pytest.raises((LimitError, CaptureError), match=r"more than 8 processes and|unavailable|start new thread"):
        run(entry, processes=8)


def test_forks_without_end(run: Run) -> None:
    started = time.monotonic()
    with pytest.raises(LimitError, match="more than 8 processes and"):
        run("forks_without_end", processes=8)
    assert time.monotonic() - started < 20


def test_a_grandchild_does_not_outlive_the_run(
    run: Run, output: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    run("sleeps_with_a_daemon")
    assert (output / "daemon").exists()
    assert not alive_below(tmp_path)


def test_killing_the_parent_kills_the_child(tmp_path: Path) -> None:
    output = tmp_path / "output"
    output.mkdir()
    program = (
        "import sys; from pathlib import Path\n"
        "from openmodelatlas.capture import process\n"
        "from openmodelatlas.capture.job import Limits\n"
        "from tests.capture.process.conftest import CHILDREN, job_for\n"
        "process.run(job_for('says_it_runs', Path(sys.argv[1]), {}), limits=Limits(),\n"
        "            child_module='misbehaving', python_path=[CHILDREN])\n"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    parent = subprocess.Popen(
        [sys.executable, "-c", program, str(output)], cwd=Path(__file__).parents[3], env=environment
    )
    wait_for((output / "running").exists)
    assert alive_below(tmp_path)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    wait_for(lambda: not alive_below(tmp_path))


def alive_below(folder: Path) -> list[str]:
    """Supervisors and workers whose scratch folder lies in ``folder``."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if "openmodelatlas.capture.supervisor" in words and any(word.startswith(str(folder)) for word in words):
            found.append(path.parent.name)
    return found


def wait_for(condition: Callable[[], object], seconds: float = 15.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_reported_failure_becomes_its_error(run: Run) -> None:
    failure = {
        "error": "ModelCodeError",
        "what": "It raised.\u001b[2J",
        "where": "modeling.py:3",
        "advice": None,
        "traceback": "frames",
    }
    with pytest.raises(ModelCodeError) as caught:
        run("fails", failure)
    assert (caught.value.what, caught.value.where) == ("It raised.�[2J", "modeling.py:3")
    assert caught.value.__notes__ == ["The traceback of the model's code:\nframes"]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("RefusedError", SandboxError), ("KeyboardInterrupt", CaptureError), ("annotations", CaptureError)],
)
def test_only_errors_of_this_package_are_raised(run: Run, name: str, kind: type[CaptureError]) -> None:
    failure = {"error": name, "what": "It raised.", "where": None, "advice": None, "traceback": ""}
    with pytest.raises(kind) as caught:
        run("fails", failure)
    assert type(caught.value) is kind


@pytest.mark.parametrize("entry", ["links_its_failure", "garbles_its_failure"])
def test_a_failure_that_does_not_validate(run: Run, entry: str) -> None:
    with pytest.raises(RecordingError, match=r"failure\.json"):
        run(entry)


def test_an_interpreter_that_is_missing(run: Run, tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="could not be started"):
        run("well", python=str(tmp_path / "python"))


def test_ctrl_c_ends_the_child(output: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def interrupt(progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        process.run(
            job_for("tells_and_sleeps", output, {}),
            limits=Limits(),
            child_module="misbehaving",
            python_path=[CHILDREN],
            progress=interrupt,
        )
    assert not alive_below(tmp_path)


def test_ps_tells_what_proc_tells() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        ours = processes.usage(os.getpid())
        rows = processes._rows_from_ps()
        assert child.pid in ours.processes
        assert rows[child.pid][0] == os.getpid()
        assert rows[os.getpid()][1] == pytest.approx(processes._rows_from_proc()[os.getpid()][1], rel=0.1)
    finally:
        child.communicate(b"\n")


def test_a_full_disk(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", refuse)
    with pytest.raises(CaptureError, match="temporary folder cannot be written: No space left"):
        process.run(job_for("well", output, {}), limits=Limits())
