"""What this machine can do for a capture, each check with what to do where it fails. Imports no torch."""

from __future__ import annotations

import os
import platform
import shutil
import socket
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import msgspec

from openmodelatlas.capture import overlay, process, reading, trial
from openmodelatlas.capture.job import JOB_FORMAT, Job, Limits
from openmodelatlas.capture.sandbox import Protection
from openmodelatlas.capture.temporary import temporary_folder
from openmodelatlas.capture.watch import size
from openmodelatlas.errors import INSTALL_CAPTURE, AtlasError

_ROOM_BYTES = 2 * 2**30


class DoctorCheck(msgspec.Struct, frozen=True, kw_only=True):
    """One line of ``oma doctor``.

    Attributes:
        name: what was looked at.
        ok: the verdict; ``None`` for a fact that is neither good nor bad.
        detail: what was found.
        advice: how to mend it; empty where nothing needs mending.
    """

    name: str
    ok: bool | None
    detail: str
    advice: str = ""


def checks(home: Path) -> list[DoctorCheck]:
    """Look at everything a capture needs. Takes some seconds, since torch is imported in a process of its own.

    Args:
        home: folder of this program's data.
    """
    return [
        DoctorCheck(name="Python", ok=True, detail=f"{platform.python_version()} on {platform.platform()}"),
        check_torch(),
        check_transformers(),
        check_pip(),
        check_overlays(home),
        *check_sandbox(),
        check_room(home),
    ]


def check_torch() -> DoctorCheck:
    """Whether torch can be imported; tried in a child process."""
    try:
        version = metadata.version("torch")
    except metadata.PackageNotFoundError:
        return DoctorCheck(
            name="torch", ok=False, detail="not installed: nothing can be captured", advice=INSTALL_CAPTURE
        )
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-c", "import torch; print(torch.__version__)"],
            capture_output=True, text=True, errors="replace", check=False, timeout=120,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        return DoctorCheck(name="torch", ok=False, detail=f"{version} cannot be tried: {error}", advice=INSTALL_CAPTURE)
    if done.returncode != 0:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        detail = f"{version} is installed but does not import: {reading.printable(last[0], 300)}"
        return DoctorCheck(name="torch", ok=False, detail=detail, advice=INSTALL_CAPTURE)
    return DoctorCheck(name="torch", ok=True, detail=done.stdout.strip())


def check_transformers() -> DoctorCheck:
    """Which version of transformers is installed."""
    try:
        return DoctorCheck(name="transformers", ok=True, detail=metadata.version("transformers"))
    except metadata.PackageNotFoundError:
        detail = "not installed: sources of the kind transformers: cannot be captured"
        return DoctorCheck(name="transformers", ok=False, detail=detail, advice=INSTALL_CAPTURE)


def check_pip() -> DoctorCheck:
    """Whether overlays can be installed."""
    command = overlay.pip_command()
    if command is None:
        detail = "missing: no overlay with another version of transformers can be made"
        return DoctorCheck(name="pip", ok=False, detail=detail, advice="Run python -m ensurepip.")
    done = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False, timeout=60)
    if done.returncode != 0:
        detail = reading.printable(done.stderr.strip()[-300:])
        return DoctorCheck(name="pip", ok=False, detail=detail, advice="Reinstall pip.")
    return DoctorCheck(name="pip", ok=True, detail=" ".join(done.stdout.split()[:2]))


def check_overlays(home: Path) -> DoctorCheck:
    """Which overlays are cached."""
    found = overlay.cached(home)
    detail = ", ".join(f"{name} ({size(length)})" for name, length in found) or "none yet"
    return DoctorCheck(name="overlays", ok=None, detail=detail)


def check_sandbox() -> list[DoctorCheck]:
    """Which protections are in force, and whether a child process that tries to get out is stopped."""
    try:
        protections, attempts = try_sandbox()
    except AtlasError as error:
        return [DoctorCheck(name="sandbox", ok=False, detail=str(error), advice="Do not run code you do not trust.")]
    found = [
        DoctorCheck(
            name=f"sandbox: {each.name}",
            ok=each.on or (None if each.name == "process limit" else False),
            detail=each.detail,
            advice="" if each.on else _advice(each),
        )
        for each in protections
    ]
    for attempt in attempts:
        advice = "" if attempt.refused else "Do not run code you do not trust on this machine."
        detail = attempt.answer if not attempt.refused else "refused"
        found.append(DoctorCheck(name=f"sandbox: {attempt.what}", ok=attempt.refused, detail=detail, advice=advice))
    return found


def _advice(protection: Protection) -> str:
    if protection.name == "own namespaces":
        return "Allow user namespaces (sysctl user.max_user_namespaces, kernel.apparmor_restrict_unprivileged_userns)."
    if protection.name == "files":
        return "Use Linux 5.13 or later with Landlock among its security modules (lsm=landlock,…)."
    if protection.name == "process limit":
        return "Run as an ordinary user, or use Linux 6.14 or later: model code run by root can fork without end."
    return "Run on Linux, or in a container or virtual machine, code you do not trust."


def try_sandbox() -> tuple[tuple[Protection, ...], list[trial.Attempt]]:
    """Run :mod:`openmodelatlas.capture.trial` in the sandbox.

    Raises:
        CaptureError: or a subclass: the child could not run at all.
    """
    with temporary_folder("doctor") as folder, socket.create_server(("127.0.0.1", 0)) as server:
        for part in ("source", "output", "outside"):
            (folder / part).mkdir()
        (folder / "secret").write_text("secret")
        given = {
            "outside": str(folder / "outside"),
            "secret": str(folder / "secret"),
            "parent": os.getpid(),
            "port": server.getsockname()[1],
        }
        output = (folder / "output").resolve()
        job = Job(
            format=JOB_FORMAT, kind="trial", repository="trial", entry="", configuration=given,
            root=str(folder / "source"), files={}, output=str(output),
        )  # fmt: skip
        limits = Limits(seconds=60, memory_bytes=2**30, output_bytes=2**20)
        protections = process.run(job, limits=limits, child_module=trial.__name__)
        content = reading.read_bytes(output, process.SUMMARY, largest=2**20)
        return protections, reading.decode(content, list[trial.Attempt], process.SUMMARY)


def check_room(home: Path) -> DoctorCheck:
    """Whether there is room for overlays and atlases under ``home``."""
    folder = home.absolute()
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    advice = "" if free >= _ROOM_BYTES else f"Free some space, or set OMA_HOME; {size(_ROOM_BYTES)} are comfortable."
    return DoctorCheck(name="disk space", ok=free >= _ROOM_BYTES, detail=f"{size(free)} free at {home}", advice=advice)
