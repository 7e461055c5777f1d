"""The second process: what it hands back, and that nothing it does can harm the first."""

from __future__ import annotations

import os
import signal

import pytest

from openmodelatlas.capture.child import beside
from openmodelatlas.capture.child.beside import Beside


@pytest.fixture(autouse=True)
def two_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beside, "_processors", lambda: 2)
    monkeypatch.setattr(beside, "_threads", lambda: 1)  # the tests' own threads hold no lock that matters here


def _started(work: object) -> Beside:
    part = Beside.start(work)  # type: ignore[arg-type]
    assert part is not None
    return part


@pytest.mark.parametrize("size", [0, 1, 3_000_000])
def test_hands_back_bytes_of_any_length(size: int) -> None:
    assert _started(lambda: b"x" * size).result() == b"x" * size


def test_runs_in_another_process_and_leaves_this_one_alone() -> None:
    seen: list[int] = []

    def work() -> bytes:
        seen.append(1)
        return str(os.getpid()).encode()

    result = _started(work).result()
    assert result is not None
    assert int(result) != os.getpid()
    assert seen == []


def _raise() -> bytes:
    raise RuntimeError("model code")


def _exit() -> bytes:
    raise SystemExit(0)


def _kill() -> bytes:
    os.kill(os.getpid(), signal.SIGKILL)
    return b"never"


@pytest.mark.parametrize("work", [_raise, _exit, _kill])
def test_a_failure_is_no_result(work: object) -> None:
    assert _started(work).result() is None


def _for_ever() -> bytes:
    while True:
        signal.pause()


def test_work_that_is_stopped_leaves_no_process() -> None:
    part = _started(_for_ever)
    part.stop()
    part.stop()
    with pytest.raises(ChildProcessError):
        os.waitpid(part._process, os.WNOHANG)


@pytest.mark.parametrize(("processors", "threads"), [(1, 1), (2, 2), (2, 0)])
def test_no_second_process_without_processor_or_beside_threads(
    monkeypatch: pytest.MonkeyPatch, processors: int, threads: int
) -> None:
    monkeypatch.setattr(beside, "_processors", lambda: processors)
    monkeypatch.setattr(beside, "_threads", lambda: threads)
    assert Beside.start(lambda: b"") is None


def test_a_refused_fork_is_no_second_process(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> int:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(os, "fork", refuse)
    assert Beside.start(lambda: b"") is None
