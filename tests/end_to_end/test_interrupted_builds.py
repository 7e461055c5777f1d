"""A full disk, a kill in the middle of a build, two builds at once: whatever happens, the old atlas stays whole."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import openmodelatlas
from openmodelatlas.bundle import store
from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.bundle.home import ORIGIN
from openmodelatlas.bundle.manifest import read_checked
from openmodelatlas.errors import BundleError
from tests.end_to_end.conftest import Build
from tests.end_to_end.pebble import MODELING, STARTED, pebble, put

NAME = "pebble"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return pebble(tmp_path / NAME)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The atlas of the model with 3 layers, built once."""
    folder = tmp_path_factory.mktemp("built")
    build(pebble(folder / NAME), folder / "home")
    (folder / "home" / "atlases" / NAME / ORIGIN).unlink()  # it is copied beside models that lie elsewhere
    return folder / "home" / "atlases"


def build(model: Path, home: Path) -> Atlas:
    return openmodelatlas.build(str(model), trust=True, home=home)


def assert_whole(home: Path, layers: int) -> Atlas:
    """The atlas can be read, every file has the hash that is written down, and it is the one with ``layers``."""
    atlas = store.read(home / "atlases" / NAME)
    for name in atlas.manifest.files:
        read_checked(atlas.folder, atlas.manifest, name)
    assert len(atlas["layers"].members) == layers
    return atlas


def change_depth(model: Path, layers: int) -> None:
    file = model / "config.json"
    text = file.read_text()
    assert '"num_hidden_layers": 3' in text
    file.write_text(text.replace('"num_hidden_layers": 3', f'"num_hidden_layers": {layers}'))


# A full disk ----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def small_disk(place: Path, kilobytes: int) -> Iterator[bool]:
    """A file system of its own at ``place``; gives ``False`` where this process may not mount one."""
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(place)]
    try:
        mounted = subprocess.run(command, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(place)], check=True)


def test_full_disk(model: Path, built: Path, tmp_path: Path, oma: Build, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "disk"
    with small_disk(home, 4096) as mounted:
        monkeypatch.setenv("OMA_HOME", str(home))
        shutil.copytree(built, home / "atlases")
        change_depth(model, 4)
        if not mounted:
            pytest.skip("this process may not mount a file system; the next test raises the same error")
        junk = home / "junk"
        with contextlib.suppress(OSError), junk.open("wb") as file:
            while file.write(b"x" * 4096):
                file.flush()
        done = oma("build", model, "--trust-remote-code")
        assert done.returncode == 7, done.stderr
        assert "No space left on device" in done.stderr
        assert "Traceback" not in done.stderr
        assert_whole(home, 3)
        junk.unlink()
        build(model, home)
        assert_whole(home, 4)


def test_disk_that_fills_up_while_the_atlas_is_written(
    model: Path, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(built, tmp_path / "atlases")
    change_depth(model, 4)
    write, written = store._write_durably, []

    def write_until_full(path: Path, data: bytes) -> None:
        if len(written) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        written.append(path)
        write(path, data)

    monkeypatch.setattr(store, "_write_durably", write_until_full)
    with pytest.raises(BundleError, match="No space left on device") as caught:
        build(model, tmp_path)
    assert "previous atlas" in (caught.value.advice or "")
    assert_whole(tmp_path, 3)
    assert not list((tmp_path / "atlases" / NAME).glob(".building-*"))


# A kill ---------------------------------------------------------------------------------------------------------------

KILLED_WHILE_WRITING = """
import sys, time
from openmodelatlas.bundle import store

flush = store._flush_folder

def wait(folder):
    flush(folder)
    print("writing", flush=True)
    time.sleep(60)

store._flush_folder = wait
import openmodelatlas
openmodelatlas.build(sys.argv[1], trust=True)
"""


def kill(process: subprocess.Popen[str]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL


def test_kill_while_the_atlas_is_written(
    model: Path, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMA_HOME", str(tmp_path))
    shutil.copytree(built, tmp_path / "atlases")
    change_depth(model, 4)
    command = [sys.executable, "-c", KILLED_WHILE_WRITING, str(model)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    kill(process)
    assert_whole(tmp_path, 3)
    build(model, tmp_path)
    assert_whole(tmp_path, 4)
    assert not list((tmp_path / "atlases" / NAME).glob(".building-*"))


def test_kill_while_the_code_runs(model: Path, built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMA_HOME", str(tmp_path))
    shutil.copytree(built, tmp_path / "atlases")
    good = (model / MODELING).read_text()
    put(model, STARTED, "import time", "time.sleep(600)")
    temporary = tmp_path / "temporary"  # a killed build cannot remove what it put there
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    command = [sys.executable, "-m", "openmodelatlas", "build", str(model), "--trust-remote-code"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    below = wait_for_children(process.pid)
    kill(process)
    deadline = time.monotonic() + 10
    while any(alive(pid) for pid in below) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(alive(pid) for pid in below), "what the build had started outlived it"
    assert_whole(tmp_path, 3)
    (model / MODELING).write_text(good)
    change_depth(model, 4)
    build(model, tmp_path)  # the lock of the dead build holds nobody up
    assert_whole(tmp_path, 4)


def wait_for_children(pid: int) -> list[int]:
    """Processes below ``pid``, once there are some that have had time to begin."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        found = descendants(pid)
        if found:
            time.sleep(1.5)
            return descendants(pid)
        time.sleep(0.05)
    raise AssertionError("the build started no process")


def descendants(pid: int) -> list[int]:
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += [int(child), *descendants(int(child))]
    return found


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


# Two at once ----------------------------------------------------------------------------------------------------------


def test_two_builds_of_one_model_at_once(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMA_HOME", str(tmp_path))
    command = [sys.executable, "-m", "openmodelatlas", "build", str(model), "--trust-remote-code"]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    ends = [process.communicate(timeout=120) for process in processes]
    assert [process.returncode for process in processes] == [0, 0], ends
    assert not any("Traceback" in err for _, err in ends)
    assert sum("Waiting for another build" in err for _, err in ends) == 1
    assert sum("up to date" in err for _, err in ends) == 1
    assert_whole(tmp_path, 3)
    generations = [path for path in (tmp_path / "atlases" / NAME).iterdir() if path.is_dir()]
    assert len(generations) == 1
