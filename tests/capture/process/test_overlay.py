from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from openmodelatlas.capture import overlay, process
from openmodelatlas.errors import OverlayError, UsageError

REQUIREMENT = "six==1.16.0"
NO_REGISTRY = "reaches no package registry"


def ensure(home: Path, *requirements: str) -> Path:
    try:
        return overlay.ensure(requirements, home=home, progress=process.ignore_progress)
    except OverlayError as error:
        if NO_REGISTRY in error.what:
            pytest.skip("no package registry can be reached")
        raise


def test_two_builds_at_once_make_one_overlay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    builds = []
    build = overlay._build
    monkeypatch.setattr(overlay, "_build", lambda *arguments: (builds.append(arguments), build(*arguments)))
    folders: list[Path] = []
    ensure(tmp_path / "reachable", REQUIREMENT)
    builds.clear()
    threads = [threading.Thread(target=lambda: folders.append(ensure(tmp_path, REQUIREMENT))) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(builds) == 1
    assert folders[0] == folders[1] == overlay.folder_of([REQUIREMENT], home=tmp_path)
    program = f"import sys; sys.path.insert(0, {str(folders[0])!r}); import six; print(six.__version__, six.__file__)"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert shown.split() == ["1.16.0", str(folders[0] / "six.py")]
    assert [name for name, _ in overlay.cached(tmp_path)] == [folders[0].name]
    assert not list((tmp_path / "overlays").glob("oma-*"))
    overlay.remove(folders[0].name, home=tmp_path)
    assert overlay.cached(tmp_path) == []


def test_what_a_killed_install_left_goes_with_the_next_one(tmp_path: Path) -> None:
    left = tmp_path / "overlays" / "oma-overlay-abcd_123"
    (left / "packages").mkdir(parents=True)
    an_hour_ago = time.time() - 3600
    os.utime(left, (an_hour_ago, an_hour_ago))
    assert overlay.cached(tmp_path) == []
    with pytest.raises(OverlayError):
        overlay.ensure(["six==99.0"], home=tmp_path, progress=process.ignore_progress)
    assert not left.exists()


def test_a_version_that_does_not_exist(tmp_path: Path) -> None:
    ensure(tmp_path, REQUIREMENT)
    with pytest.raises(OverlayError, match=r"No registry has six==99\.0") as caught:
        overlay.ensure(["six==99.0"], home=tmp_path, progress=process.ignore_progress)
    assert "ERROR: No matching distribution found for six==99.0" in caught.value.what
    assert not list((tmp_path / "overlays").glob("six-99*/"))


def test_no_registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(OverlayError, match=NO_REGISTRY):
        overlay.ensure(["six==1.15.0"], home=tmp_path, progress=process.ignore_progress)


@pytest.mark.parametrize(
    "requirement", ["--index-url=x", "-r file", "six @ https://x", "./six", "six==1; x", "", "a b"]
)
def test_what_is_no_requirement(tmp_path: Path, requirement: str) -> None:
    with pytest.raises(UsageError, match="no requirement"):
        overlay.ensure([requirement], home=tmp_path, progress=process.ignore_progress)


@pytest.mark.parametrize("requirement", ["torch==2.0", "NumPy"])
def test_torch_stays_the_installed_one(tmp_path: Path, requirement: str) -> None:
    with pytest.raises(UsageError, match="cannot replace"):
        overlay.ensure([requirement], home=tmp_path, progress=process.ignore_progress)


def item(name: str, *requires: str) -> overlay._Item:
    return overlay._Item(overlay._Metadata(name, "1", list(requires)))


def test_what_only_torch_needs_is_left_out() -> None:
    report = overlay._Report([
        item("Asked_For", "torch>=2", "helper (>=1) ; python_version > '3'", "numpy", "absent; extra == 'x'"),
        item("torch", "nvidia-something", "sympy"),
        item("numpy"),
        item("nvidia-something"),
        item("sympy"),
        item("helper", "asked-for"),
    ])  # fmt: skip
    assert [each.metadata.name for each in overlay._chosen(report, ["asked.for==1"])] == ["Asked_For", "helper"]


def test_the_folder_depends_on_what_is_asked_for_only(tmp_path: Path) -> None:
    one = overlay.folder_of(["a==1", "b == 2"], home=tmp_path)
    assert one == overlay.folder_of(["b==2", "a==1"], home=tmp_path)
    assert one != overlay.folder_of(["a==1", "b==3"], home=tmp_path)
    assert one.parent == tmp_path / "overlays"


def test_what_is_installed_needs_no_overlay() -> None:
    assert overlay.is_installed(f"msgspec=={overlay.installed_version('msgspec')}")
    assert not overlay.is_installed("msgspec==0.0.1")
    assert not overlay.is_installed("not-a-package==1")


def test_pip_is_found_where_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    find = overlay.importlib.util.find_spec
    monkeypatch.setattr(overlay.importlib.util, "find_spec", lambda name: None if name == "pip" else find(name))
    command = overlay.pip_command()
    assert command is not None
    assert subprocess.run([*command, "--version"], capture_output=True, check=True).stdout.startswith(b"pip ")
