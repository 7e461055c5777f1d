"""What killed exports leave beside their target is cleared by the next one, unless an export is at work there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from openmodelatlas.errors import BundleError
from openmodelatlas.site import export as module
from openmodelatlas.site import unfinished
from openmodelatlas.site.beside import Task
from openmodelatlas.site.export import MARKER, export
from openmodelatlas.site.unfinished import Unfinished
from tests.site.sample import build_sample

ROOT = Path(__file__).parents[2]
_EXPORT = """
import os, sys, time
from pathlib import Path
from openmodelatlas.bundle.store import read
from openmodelatlas.site import beside, export, unfinished

def wait():
    print("here", flush=True)
    time.sleep(60)

{change}
export.export([read(Path(sys.argv[1]))], Path(sys.argv[2]))
"""
_WAITS = {
    "before the first file": "export._write_site = lambda *_: wait()",
    "between the pages": "export.SiteWriter.write_files = lambda _: wait()",
    "between the two renames": """
rename = Path.rename
def first_only(self, target):
    rename(self, target)
    wait()
Path.rename = first_only
""",
    "before the earlier one is removed": "unfinished.shutil.rmtree = lambda *_, **__: wait()",
}


def _started(atlas: Path, target: Path, change: str) -> subprocess.Popen[str]:
    """An export that stands still where ``change`` says."""
    command = [sys.executable, "-c", _EXPORT.format(change=change), str(atlas), str(target)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    return process


def _kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("place", _WAITS)
def test_a_killed_export_is_cleared_by_the_next(samples: list[Any], tmp_path: Path, place: str) -> None:
    atlas, beside = build_sample(tmp_path / "home"), tmp_path / "beside"
    target = beside / "site"
    export(samples[:1], target)
    _kill(_started(atlas, target, _WAITS[place]))
    assert len(_names(beside)) > 1 or _names(beside) != ["site"], "the control: the kill left something behind"
    export(samples[:1], target)
    assert _names(beside) == ["site"]
    assert (target / MARKER).is_file()


def test_an_export_that_was_killed_between_the_renames_is_put_back(
    samples: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the next one fails: what was there before both is there again."""
    atlas, beside = build_sample(tmp_path / "home"), tmp_path / "beside"
    target = beside / "site"
    export(samples[:1], target)
    (target / "mine.txt").write_text("the earlier one")
    _kill(_started(atlas, target, _WAITS["between the two renames"]))
    assert not target.exists()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(module, "asset", full)
        with pytest.raises(BundleError, match="No space left"):
            export(samples[:1], target)
    assert (target / "mine.txt").read_text() == "the earlier one"
    assert _names(beside) == ["site"]


def test_an_export_at_work_is_left_alone(samples: list[Any], tmp_path: Path) -> None:
    atlas, beside = build_sample(tmp_path / "home"), tmp_path / "beside"
    other = _started(atlas, beside / "site", _WAITS["between the pages"])
    try:
        (building,) = beside.glob(".site-building-*")
        before = sum(path.is_file() for path in building.rglob("*"))
        assert before > 5
        export(samples[:1], beside / "site")
        assert sum(path.is_file() for path in building.rglob("*")) == before
    finally:
        _kill(other)
    export(samples[:1], beside / "site")
    assert _names(beside) == ["site"]


def test_only_folders_of_this_target_are_cleared(tmp_path: Path) -> None:
    kept = [
        ".site-building-1234567",
        ".site-building-0123456g",
        ".site-building-01234567-mine",
        ".site2-building-01234567",
        ".other-old-01234567",
        "site-building-01234567",
    ]
    for name in (*kept, ".site-building-01234567", ".site-old-89abcdef"):
        (tmp_path / name).mkdir()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "letter.txt").write_text("mine")
    (tmp_path / ".site-old-00000000").symlink_to(elsewhere)
    (tmp_path / ".site-building-00000000").write_text("a file")
    (tmp_path / "site").mkdir()
    made = Unfinished(tmp_path / "site")
    made.end()
    left = [*kept, "elsewhere", "site", ".site-old-00000000", ".site-building-00000000"]
    assert _names(tmp_path) == sorted(left)
    assert (elsewhere / "letter.txt").read_text() == "mine"


def test_without_locks_nothing_is_cleared_and_everything_is_written(
    samples: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".site-building-01234567").mkdir()

    def refuses(*_: object) -> None:
        raise OSError(37, "No locks available")

    with monkeypatch.context() as patch:
        patch.setattr("fcntl.flock", refuses)
        export(samples[:1], tmp_path / "site")
    assert _names(tmp_path) == [".site-building-01234567", "site"]


def test_a_lock_that_another_program_holds_delays_an_export_only(
    samples: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unfinished, "_PATIENCE", 0.1)
    lock = unfinished._lock(tmp_path)
    assert lock is not None
    try:
        export(samples[:1], tmp_path / "site")
    finally:
        os.close(lock)
    assert _names(tmp_path) == ["site"]


_SLOW = """
import time
from openmodelatlas.site import beside

def slow(path):
    print("here", flush=True)
    time.sleep(60)

beside.read = slow
beside.main()
"""


def test_the_second_process_ends_with_the_first(tmp_path: Path) -> None:
    """Else it would make the folder anew that the next export has cleared."""
    command = [sys.executable, "-c", _SLOW]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(msgspec.json.encode(Task(bundles=("somewhere",), folder=str(tmp_path))) + b"\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"here\n"
        process.stdin.close()  # as the system does for a process that was killed
        assert process.wait(timeout=10) == 1
