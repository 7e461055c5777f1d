"""Captures a source: picks the environment, runs the child, and brings back validated data."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from openmodelatlas.capture import overlay, process, reading, validate, values
from openmodelatlas.capture.collector import no_garbage_collection
from openmodelatlas.capture.job import JOB_FORMAT, Job, Limits, Progress
from openmodelatlas.capture.landing import (
    LARGEST_RECORDING,
    MOST_PROBES,
    RECORDING_NAME,
    Landed,
    Landing,
    read_recording,
)
from openmodelatlas.capture.recording import Recording, Summary
from openmodelatlas.capture.sandbox import Protection
from openmodelatlas.errors import INSTALL_CAPTURE, CaptureError, ConfigurationError, RecordingError, TrustError
from openmodelatlas.sources.source import Source

_DEVELOPMENT_VERSION = re.compile(r"(\d+\.\d+\.\d+)\.dev\d*")
_VERSION = re.compile(r"\d+(\.\d+){0,3}((a|b|rc|\.post|\.dev)\d+)?(\+[A-Za-z0-9.]+)?")
_DTYPE_KEYS = ("dtype", "torch_dtype")


@dataclass(frozen=True)
class Capture:
    """What a run of a model's code brought back. Close it, or use it as a context manager.

    Attributes:
        recordings: one per probe, by the probe's name, in the order of names.
        summary: what concerns the whole capture; its notes name every protection that was not in force.
        values: tensors of the first solving probe; ``None`` if the child wrote none.
        protections: the sandbox as it was.
    """

    recordings: dict[str, Recording]
    summary: Summary
    values: values.Values | None
    protections: tuple[Protection, ...]

    def close(self) -> None:
        """Let go of the file of values."""
        if self.values is not None:
            self.values.close()

    def __enter__(self) -> Capture:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def capture(
    source: Source,
    *,
    packages: Sequence[str] = (),
    overrides: dict[str, int | list[int]] | None = None,
    limits: Limits | None = None,
    home: Path,
    progress: Callable[[Progress], None] = process.ignore_progress,
    probes: int = 3,
    child_module: str = process.CHILD_MODULE,
    python_path: Sequence[Path] = (),
    meanwhile: Callable[[], None] = lambda: None,
    landed: Landed = lambda _: None,
) -> Capture:
    """Run the code of ``source`` on its probes.

    Args:
        source: pinned code and configuration.
        packages: further requirements for the child (``accelerate==1.2.0``).
        overrides: sizes the user fixed, by configuration key; one for all probes, or one for each.
        limits: what the code may use; the default limits if ``None``.
        home: folder of this program's data; overlays are cached in it.
        progress: is told how far the capture is.
        probes: number of solving probes.
        child_module: module that runs inside the sandbox.
        python_path: further folders for the child's path.
        meanwhile: is called once, when the child first tells how far it is; what it raises ends the child.
        landed: is told of recordings while the child still runs, in another thread: those of them that are among the
            capture's in the end can be worked on already. It may be told of none.

    Raises:
        TrustError: nobody has said that this code may run.
        CaptureError: or a subclass: see :func:`openmodelatlas.capture.process.run`.
        OverlayError: the packages cannot be installed.
        RecordingError: what came back does not validate.
        ConfigurationError: it asks for a version of transformers that is no version.
    """
    if not source.trusted:
        raise TrustError(
            f"The code of {source.repository} would run on this machine, and nobody has said to trust it.",
            advice="Read it, then add --trust-remote-code.",
        )
    if overlay.installed_version("torch") is None:
        raise CaptureError("PyTorch is not installed, so no model can run here.", advice=INSTALL_CAPTURE)
    limits = limits or Limits()
    wanted, notes = requirements(source, packages)
    overlays = [overlay.ensure(wanted, home=home, progress=progress)] if wanted else []
    # A million objects that stay alive: collecting among them would double the time.
    with process.writable_temporary_folder("capture") as output, no_garbage_collection():
        job = job_of(source, output, overrides=overrides, probes=probes)
        with Landing(output, landed) as landing:
            protections = process.run(
                job,
                limits=limits,
                overlays=overlays,
                progress=progress,
                child_module=child_module,
                python_path=python_path,
                meanwhile=meanwhile,
            )
        progress(Progress("Checking what was recorded", 0, 0))
        recordings = read_recordings(output, landing)
        summary = _read_summary(output, [*notes, *_missing_protections(protections)])
        held = values.open_values(output, first_solving(recordings), largest=limits.output_bytes)
    return Capture(recordings, summary, held, protections)


def job_of(
    source: Source, output: Path, *, overrides: dict[str, int | list[int]] | None = None, probes: int = 3
) -> Job:
    """What the child is told: capture ``source`` and write into ``output``; see :func:`capture` for the rest."""
    return Job(
        format=JOB_FORMAT,
        kind=source.kind,
        repository=source.repository,
        entry=source.entry,
        configuration=source.configuration,
        root=str(source.root.absolute()),
        files={file.path: file.sha256 for file in source.files},
        output=str(output.resolve()),
        overrides=overrides or {},
        probes=probes,
        dtype=published_dtype(source.configuration),
    )


def requirements(source: Source, packages: Sequence[str]) -> tuple[list[str], list[str]]:
    """What the child needs beyond the installed packages, and notes on how that was chosen.

    The version of transformers that a configuration names is that of the code in the same repository. Code from the
    installed package, a factory or a reference model runs on what is installed.

    Raises:
        UsageError: one of ``packages`` is no requirement.
        ConfigurationError: the configuration names no version of transformers where it should.
    """
    wanted = [package for package in packages if not overlay.is_installed(package)]
    notes: list[str] = []
    named = any(overlay.project_name(package) == "transformers" for package in packages)
    version = source.transformers_version
    if version is None or named or source.kind not in ("hub", "folder"):
        return wanted, notes
    development = _DEVELOPMENT_VERSION.fullmatch(version)
    if development is not None:
        notes.append(
            f"The configuration asks for transformers {version}, which was never published; "
            f"{development.group(1)} was used instead."
        )
        version = development.group(1)
    if _VERSION.fullmatch(version) is None:
        raise ConfigurationError(
            f"{version!r} is no version of transformers.",
            where="config.json, transformers_version",
            advice="Name one with --with transformers==VERSION.",
        )
    requirement = f"transformers=={version}"
    if not overlay.is_installed(requirement):
        wanted.insert(0, requirement)
    return wanted, notes


def published_dtype(configuration: dict[str, Any]) -> str | None:
    """Floating-point type of the published weights, as the configuration or its ``text_config`` names it."""
    for part in (configuration, configuration.get("text_config")):
        if isinstance(part, dict):
            for key in _DTYPE_KEYS:
                if isinstance(part.get(key), str):
                    return str(part[key]).removeprefix("torch.")
    return None


def read_recordings(folder: Path, landing: Landing | None = None) -> dict[str, Recording]:
    """All recordings in the child's output ``folder``, validated, by probe name; from ``landing`` those read already.

    Raises:
        RecordingError: there is none, or one does not validate.
    """
    names = sorted(path.name for path in folder.iterdir() if RECORDING_NAME.fullmatch(path.name))
    if not names:
        raise RecordingError("The capture process ended well but left no recording.")
    if len(names) > MOST_PROBES:
        raise RecordingError(f"The capture process left {len(names)} recordings; at most {MOST_PROBES} are read.")
    recordings: dict[str, Recording] = {}
    for name in names:
        recording = landing.recording(name) if landing is not None else None
        recording = recording or read_recording(folder, name)
        recordings[recording.probe.name] = recording
    gc.freeze()  # nor look through them at every later collection; counting references still frees them
    return recordings


def first_solving(recordings: dict[str, Recording]) -> Recording:
    """The probe whose values are kept: the first solving one. Raises RecordingError if none is."""
    for recording in recordings.values():
        if recording.probe.role == "solve":
            return recording
    raise RecordingError("The capture process left no recording of a solving probe.")


def _read_summary(folder: Path, notes: Sequence[str]) -> Summary:
    content = reading.read_bytes(folder, process.SUMMARY, largest=LARGEST_RECORDING)
    summary = reading.decode(content, Summary, process.SUMMARY)
    validate.validate_summary(summary)
    return msgspec.structs.replace(summary, notes=[*summary.notes, *notes])


def _missing_protections(protections: Sequence[Protection]) -> list[str]:
    missing = [each for each in protections if not each.on]
    return [f"The model's code ran without the protection “{each.name}”: {each.detail}." for each in missing]
