"""What model code tries is refused, by the kernel rather than by Python, and named with its line."""

from __future__ import annotations

import functools
import json
import sys
from pathlib import Path

import msgspec
import pytest

from openmodelatlas.capture import doctor, process, sandbox
from openmodelatlas.capture.job import Limits
from openmodelatlas.errors import CaptureError

from .conftest import CHILDREN, Run, job_for

WEAK = """
import sys
from openmodelatlas.capture import landlock, namespaces, seccomp, supervisor

def refuse(*_, **__):
    raise OSError("switched off")

if "namespaces" in {off!r}:
    namespaces.separate = refuse
if "landlock" in {off!r}:
    landlock.restrict = refuse
if "seccomp" in {off!r}:
    seccomp.refuse_sockets_and_escapes = refuse
supervisor.main(sys.argv[sys.argv.index(supervisor.__name__) + 1:])
"""


@pytest.fixture
def given(tmp_path: Path) -> dict[str, str]:
    outside = tmp_path / "outside"
    outside.mkdir(mode=0o755)
    secret = tmp_path / "secret"
    secret.write_text("secret")
    return {"outside": str(outside), "secret": str(secret)}


def without(tmp_path: Path, *off: str) -> str:
    """A Python whose supervisor finds that some protections do not exist on this machine."""
    program = tmp_path / "weak.py"
    program.write_text(WEAK.format(off=off))
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -P {program} "$@"\n')
    python.chmod(0o755)
    return str(python)


ALL: tuple[str, ...] = ()
WRITING = '"trace").write_text("x")'
EVERY_COMBINATION = [
    ALL,
    ("namespaces",),
    ("landlock",),
    ("landlock", "seccomp"),
    ("namespaces", "landlock", "seccomp"),
]


@pytest.mark.parametrize("off", EVERY_COMBINATION, ids="-".join)
def test_a_socket(run: Run, tmp_path: Path, off: tuple[str, ...]) -> None:
    with pytest.raises(CaptureError) as caught:
        run("opens_a_socket", python=without(tmp_path, *off))
    place = f"misbehaving.py:{line_of('socket.create_connection')}"
    assert f"{place}: The sandbox refused to look up the address of 192.0.2.1." in caught.value.what


@pytest.mark.parametrize("off", EVERY_COMBINATION, ids="-".join)
def test_a_file_outside(run: Run, tmp_path: Path, given: dict[str, str], off: tuple[str, ...]) -> None:
    with pytest.raises(CaptureError) as caught:
        run("writes_outside", given, python=without(tmp_path, *off))
    place = f"misbehaving.py:{line_of(WRITING)}"
    assert f"{place}: The sandbox refused to write" in caught.value.what
    assert list(Path(given["outside"]).iterdir()) == []


def line_of(text: str) -> int:
    lines = (CHILDREN / "misbehaving.py").read_text().splitlines()
    (number,) = [number for number, line in enumerate(lines, start=1) if text in line]
    return number


def test_the_kernel_refuses_sockets_below_python(run: Run) -> None:
    with pytest.raises(CaptureError, match="socket -1 errno 13"):
        run("opens_a_socket_below_python")


@pytest.mark.parametrize("off", [ALL, ("namespaces",), ("landlock",)], ids="-".join)
def test_the_kernel_refuses_files_below_python(
    run: Run, tmp_path: Path, given: dict[str, str], off: tuple[str, ...]
) -> None:
    with pytest.raises(CaptureError, match=r"shell ended with [12]"):
        run("writes_outside_below_python", given, python=without(tmp_path, *off))
    assert list(Path(given["outside"]).iterdir()) == []


def test_modes_of_files_outside(run: Run, given: dict[str, str]) -> None:
    with pytest.raises(CaptureError, match=r"The sandbox refused to write .* \(chmod\)"):
        run("changes_a_mode_outside", given)
    assert Path(given["outside"]).stat().st_mode & 0o777 == 0o755


def test_secrets_cannot_be_read(run: Run, given: dict[str, str]) -> None:
    with pytest.raises(CaptureError, match="The sandbox refused to read"):
        run("reads_a_secret", given)


def test_a_daemon_ends_without_namespaces_too(run: Run, tmp_path: Path, output: Path) -> None:
    run("sleeps_with_a_daemon", python=without(tmp_path, "namespaces"))
    number = (output / "daemon").read_text().split()[0]
    status = Path(f"/proc/{number}/stat")
    assert not status.exists() or status.read_text().split()[2] == "Z"


def test_the_environment_is_clean(run: Run, output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    run("shows_environment")
    environment = json.loads((output / "environment.json").read_text())
    assert not {"HF_TOKEN", "HTTPS_PROXY", "OMA_CONTROL", "OMA_STATUS"} & set(environment)
    assert environment["HOME"].endswith("/scratch")
    assert environment["HF_HUB_OFFLINE"] == environment["PYTHONDONTWRITEBYTECODE"] == "1"


def test_protections_that_are_missing_are_told(run: Run, tmp_path: Path) -> None:
    protections = {each.name: each for each in run("well", python=without(tmp_path, "namespaces", "landlock"))}
    assert not protections["own namespaces"].on
    assert protections["files"] == sandbox.Protection("files", False, "switched off")
    assert protections["audit hook"].on


def test_home_folders_are_not_readable_though_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home" / "user"
    (home / "code").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setattr(sys, "path", [str(home), str(home / "code"), str(home.parent), "/", *sys.path])
    policy = sandbox.Policy(
        parent=1,
        source_root=str(tmp_path / "source"),
        writable=(),
        memory_bytes=1,
        file_bytes=1,
        cpu_seconds=1,
        processes=1,
    )
    readable, listed = sandbox.readable_paths(policy)
    assert {str(home), str(home.parent), "/"} <= set(listed)
    assert not {str(home), str(home.parent), "/"} & set(readable)
    assert {str(home / "code"), str(tmp_path / "source")} <= set(readable)


def test_doctor_tries_to_get_out(tmp_path: Path) -> None:
    checks = {check.name: check for check in doctor.check_sandbox()}
    assert checks["sandbox: connecting to a network address"].ok
    assert checks["sandbox: writing outside its folder"].ok
    assert checks["sandbox: reading outside its source"].ok
    assert checks["sandbox: signalling the parent process"].ok
    assert all(check.ok or check.advice for check in checks.values())


def test_doctor_looks_at_the_machine(tmp_path: Path) -> None:
    checks = [
        doctor.check_transformers(),
        doctor.check_pip(),
        doctor.check_overlays(tmp_path),
        doctor.check_room(tmp_path),
    ]
    assert [check.name for check in checks] == ["transformers", "pip", "overlays", "disk space"]
    assert all(check.ok is not False or check.advice for check in checks)
    assert checks[2].detail == "none yet"


def test_files_of_the_source_may_be_links_to_a_cache(run: Run, tmp_path: Path, output: Path) -> None:
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "1234").write_text("content")
    (tmp_path / "blobs" / "5678").write_text("content of another source")
    root = tmp_path / "snapshot"
    root.mkdir()
    (root / "config.json").symlink_to("../blobs/1234")
    (root / "other.json").symlink_to("../blobs/5678")
    job = msgspec.structs.replace(
        job_for("reads_its_source", output, {"name": "config.json"}), root=str(root), files={"config.json": ""}
    )
    start = functools.partial(process.run, limits=Limits(), child_module="misbehaving", python_path=[CHILDREN])
    start(job)
    assert (output / "summary.json").read_text() == "content"
    with pytest.raises(CaptureError, match="The sandbox refused to read"):
        start(msgspec.structs.replace(job, configuration={"name": "other.json"}))
