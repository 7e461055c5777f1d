"""Temporary folders of killed processes are removed by the next one; those of living processes are left alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from openmodelatlas.capture import process
from openmodelatlas.capture.job import Limits
from openmodelatlas.capture.temporary import remove_abandoned, temporary_folder
from openmodelatlas.errors import CaptureError

from .conftest import job_for

HOLD = """
import time
from openmodelatlas.capture.temporary import temporary_folder
with temporary_folder("capture") as folder:
    (folder / "content").write_text("x")
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def grow_old(folder: Path) -> None:
    an_hour_ago = time.time() - 3600
    os.utime(folder, (an_hour_ago, an_hour_ago))


def test_a_folder_is_removed_at_the_end(place: Path) -> None:
    with temporary_folder("scratch") as folder:
        assert folder.parent == place
        (folder / "file").write_text("x")
    assert list(place.iterdir()) == []


def test_the_folder_of_a_killed_process_goes_that_of_a_living_one_stays(place: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(place)}
    owners = [
        subprocess.Popen([sys.executable, "-c", HOLD], stdout=subprocess.PIPE, text=True, env=environment)
        for _ in range(2)
    ]
    try:
        killed, living = (Path(owner.stdout.readline().strip()) for owner in owners if owner.stdout)
        owners[0].send_signal(signal.SIGKILL)
        owners[0].wait()
        for folder in (killed, living):
            grow_old(folder)
        with temporary_folder("scratch"):
            assert not killed.exists()
            assert (living / "content").exists()
    finally:
        for owner in owners:
            owner.kill()
            owner.communicate()


def test_only_folders_of_ours_are_removed(place: Path) -> None:
    target = place / "target"
    target.mkdir()
    (target / "file").write_text("x")
    (place / "oma-capture-abcd1234").symlink_to(target)
    (place / "oma-capture-mine").mkdir()
    (place / "oma-scratch-young123").mkdir()
    (place / "oma-scratch-old12345").mkdir()
    for folder in (target, place / "oma-capture-mine", place / "oma-scratch-old12345"):
        grow_old(folder)
    remove_abandoned(place)
    remaining = {path.name for path in place.iterdir()}
    assert remaining == {"target", "oma-capture-abcd1234", "oma-capture-mine", "oma-scratch-young123"}
    assert (target / "file").exists()


def test_no_place_for_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    output = tmp_path / "output"
    output.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nothing"))
    with pytest.raises(CaptureError, match="No temporary folder can be made: No such file"):
        process.run(job_for("well", output, {}), limits=Limits())
