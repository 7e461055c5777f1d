"""Folders of packages in the versions that a model's code was written for, put ahead of the installed ones.

An overlay holds the packages named and everything they need, except torch, NumPy and what only torch needs: those stay
the installed ones, so that one torch serves every overlay. It is built once, in a folder of its own that is renamed
when it is complete, under a lock.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path

import msgspec
from filelock import FileLock

from openmodelatlas.capture.job import Progress
from openmodelatlas.capture.temporary import is_temporary, temporary_folder
from openmodelatlas.errors import OverlayError, UsageError

_REQUIREMENT = re.compile(
    r"([A-Za-z0-9][A-Za-z0-9._-]*)(\[[A-Za-z0-9._, -]*\])?\s*((?:===?|~=|!=|<=?|>=?)\s*[A-Za-z0-9.*+!_-]+"
    r"(?:\s*,\s*(?:===?|~=|!=|<=?|>=?)\s*[A-Za-z0-9.*+!_-]+)*)?"
)
_KEPT = ("torch", "numpy")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_SECONDS = 1800
_SIGNS_OF_NO_NETWORK = ("NewConnectionError", "Max retries", "ConnectTimeout", "Temporary failure in name")


class _Metadata(msgspec.Struct):
    name: str
    version: str
    requires_dist: list[str] = []


class _Item(msgspec.Struct):
    metadata: _Metadata


class _Report(msgspec.Struct):
    """The part of ``pip install --report`` that is used (https://pip.pypa.io/en/stable/reference/installation-report)."""

    install: list[_Item]


def project_name(requirement: str) -> str:
    """Normalised project name of a requirement (PEP 503): ``huggingface-hub`` for ``Huggingface_Hub>=0.3``.

    Raises:
        UsageError: it is no name with optional extras and version specifiers. Options of pip, paths and addresses
            are not accepted.
    """
    match = _REQUIREMENT.fullmatch(requirement.strip())
    if match is None:
        raise UsageError(
            f"{requirement!r} is no requirement that an overlay can hold.", advice="Write NAME or NAME==VERSION."
        )
    return _normalised(match.group(1))


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def is_installed(requirement: str) -> bool:
    """Whether exactly the version that ``NAME==VERSION`` asks for is installed already. Raises UsageError."""
    name = project_name(requirement)
    _, _, version = requirement.partition("==")
    installed = installed_version(name)
    return installed is not None and installed.split("+")[0] == version.strip()


def installed_version(name: str) -> str | None:
    """Version of an installed distribution, or ``None``."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def folder_of(requirements: Sequence[str], *, home: Path) -> Path:
    """Where the overlay for ``requirements`` lies, built or not: one for each Python, torch and NumPy."""
    names = sorted({re.sub(r"\s+", "", requirement) for requirement in requirements})
    kept = [f"{name}=={installed_version(name)}" for name in _KEPT]
    text = "\n".join([sys.implementation.cache_tag or "", sys.platform, *kept, *names])
    label = re.sub(r"[^A-Za-z0-9.]+", "-", names[0]) if names else "empty"
    return home / "overlays" / f"{label}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def ensure(requirements: Sequence[str], *, home: Path, progress: Callable[[Progress], None]) -> Path:
    """Folder with ``requirements`` and what they need, built if it does not exist yet.

    Args:
        requirements: such as ``transformers==4.48.3``.
        home: folder of this program's data.
        progress: is told what happens; steps are counted from 0 to 2.

    Returns:
        A folder to put ahead on Python's path.

    Raises:
        UsageError: a requirement is malformed, or names torch or NumPy.
        OverlayError: pip is missing, reaches no registry, finds no such version, or the disk is full.
    """
    for requirement in requirements:
        if project_name(requirement) in _KEPT:
            raise UsageError(
                f"An overlay cannot replace {project_name(requirement)}: all of them share the installed one.",
                advice=f"Install that version of {project_name(requirement)} in the environment itself.",
            )
    target = folder_of(requirements, home=home)
    if target.is_dir():
        return target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(f"{target}.lock"):
            if not target.is_dir():  # another build may have finished while this one waited
                _build(requirements, target, progress)
    except OSError as error:
        what = f"The overlay for {', '.join(requirements)} cannot be written: {error.strerror or error}"
        raise OverlayError(what, where=str(target.parent), advice="Free some space, or set OMA_HOME.") from error
    return target


def _build(requirements: Sequence[str], target: Path, progress: Callable[[Progress], None]) -> None:
    label = ", ".join(requirements)
    with temporary_folder("overlay", target.parent) as folder:
        constraints = folder / "constraints.txt"
        # A local label (2.13.0+cpu) is of this installation; registries know the public version only.
        pinned = {kept: version.split("+")[0] for kept in _KEPT if (version := installed_version(kept)) is not None}
        constraints.write_text("".join(f"{kept}=={version}\n" for kept, version in pinned.items()))
        progress(Progress(f"Resolving {label}", 0, 2))
        report = folder / "report.json"
        _pip(
            ["install", "--dry-run", "--ignore-installed", "--report", str(report), "--constraint", str(constraints)],
            requirements,
            label,
            report.parent,
        )
        chosen = _chosen(msgspec.json.decode(report.read_bytes(), type=_Report), requirements)
        progress(Progress(f"Installing {label}", 1, 2))
        packages = folder / "packages"
        exact = [f"{item.metadata.name}=={item.metadata.version}" for item in chosen]
        _pip(["install", "--no-deps", "--no-compile", "--target", str(packages)], exact, label, folder)
        _compile(packages)
        packages.rename(target)
        progress(Progress(f"Installed {label}", 2, 2))


def _chosen(report: _Report, requirements: Sequence[str]) -> list[_Item]:
    """Packages of the resolution that ``requirements`` lead to without passing through torch or NumPy."""
    found = {_normalised(item.metadata.name): item for item in report.install}
    reached: dict[str, _Item] = {}
    pending = [project_name(requirement) for requirement in requirements]
    while pending:
        name = pending.pop()
        if name in reached or name in _KEPT or name not in found:
            continue
        reached[name] = found[name]
        for dependency in found[name].metadata.requires_dist:
            match = _NAME.match(dependency)
            # What only an extra asks for is taken along if the resolution holds it anyway.
            if match is not None:
                pending.append(_normalised(match.group()))
    return [reached[name] for name in sorted(reached)]


def _compile(packages: Path) -> None:
    """Write the byte code that the child, which may write nothing here, would otherwise make anew in every run."""
    subprocess.run(
        [sys.executable, "-m", "compileall", "-q", "-j", "0", str(packages)], capture_output=True, check=False
    )  # fmt: skip


def pip_command() -> list[str] | None:
    """How to run pip: the installed one, else the one that Python carries along; ``None`` without either."""
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    ensurepip = importlib.util.find_spec("ensurepip")
    folders = [Path(ensurepip.origin).parent / "_bundled"] if ensurepip is not None and ensurepip.origin else []
    kept = sysconfig.get_config_var("WHEEL_PKG_DIR")  # Debian and Fedora keep ensurepip's wheels apart
    for folder in (*folders, *([Path(kept)] if kept else [])):
        for wheel in sorted(folder.glob("pip-*.whl")):
            return [sys.executable, f"{wheel}/pip"]
    return None


def _pip(arguments: Sequence[str], requirements: Sequence[str], label: str, folder: Path) -> None:
    command = pip_command()
    if command is None:
        raise OverlayError("This Python has no pip, which installs overlays.", advice="Run python -m ensurepip.")
    quiet = ["--quiet", "--disable-pip-version-check", "--no-input", "--prefer-binary", "--no-python-version-warning"]
    environment: Mapping[str, str] = {
        "PIP_RETRIES": "2",  # pip's own five take a quarter of a minute to notice that there is no network
        **os.environ,
        "PYTHONNOUSERSITE": "1",
        "TMPDIR": str(folder),
    }
    try:
        done = subprocess.run(
            [*command, *arguments, *quiet, "--", *requirements],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            env=environment,
            stdin=subprocess.DEVNULL,
            timeout=_SECONDS,
        )
    except subprocess.TimeoutExpired as error:
        raise OverlayError(f"pip did not finish installing {label} within {_SECONDS // 60} minutes.") from error
    if done.returncode != 0:
        raise _failure(label, done.stderr)


def _failure(label: str, said: str) -> OverlayError:
    lines = [line for line in said.splitlines() if line.startswith("ERROR")] or said.strip().splitlines()
    last = "\n".join(lines[-5:])
    if any(sign in said for sign in _SIGNS_OF_NO_NETWORK):
        what, advice = f"pip reaches no package registry to install {label}.", "Check the network and pip's settings."
    elif "No space left" in said:
        what, advice = f"The disk is full; {label} could not be installed.", "Free some space and try again."
    elif "(from versions: none)" in said:
        what = f"pip finds no version at all of a package among {label}."
        advice = "Check the name, the network and pip's settings."
    elif "No matching distribution" in said:
        what, advice = f"No registry has {label} for this Python.", "Name another version with --with NAME==VERSION."
    else:
        what, advice = f"pip could not install {label}.", "Name other versions with --with NAME==VERSION."
    return OverlayError(f"{what} It said:\n{last}\n", advice=advice)


def cached(home: Path) -> list[tuple[str, int]]:
    """Name and size in bytes of every overlay under ``home``."""
    folder = home / "overlays"
    if not folder.is_dir():
        return []
    overlays = [path for path in sorted(folder.iterdir()) if path.is_dir() and not is_temporary(path.name)]
    return [(path.name, sum(file.stat().st_size for file in path.rglob("*") if file.is_file())) for path in overlays]


def remove(name: str, *, home: Path) -> None:
    """Delete a cached overlay by the name that :func:`cached` gives. Raises UsageError if there is none."""
    if name not in dict(cached(home)):
        raise UsageError(f"There is no overlay named {name!r}.")
    shutil.rmtree(home / "overlays" / name)
