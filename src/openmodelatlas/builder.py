"""The one place that composes everything: source, capture, and the stages that follow it."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from openmodelatlas.bundle.home import home as default_home
from openmodelatlas.bundle.home import model_folder, name_for
from openmodelatlas.bundle.manifest import is_whole
from openmodelatlas.capture.collector import no_garbage_collection
from openmodelatlas.capture.job import Limits, Progress
from openmodelatlas.capture.run import capture
from openmodelatlas.errors import BundleError, UsageError
from openmodelatlas.sources.target import Target, find

if TYPE_CHECKING:
    from openmodelatlas.bundle.atlas import Atlas
    from openmodelatlas.stages import Stages

BUILD_LOCK_SECONDS = 3600.0
"""How long a build waits for another build of the same model."""

Report = Callable[[Progress], None]


def build(
    spec_or_model: str | Path,
    *,
    revision: str | None = None,
    configuration: str | Path | None = None,
    packages: Sequence[str] = (),
    trust: bool = False,
    force: bool = False,
    overrides: Mapping[str, int | list[int]] | None = None,
    limits: Limits | None = None,
    home: str | Path | None = None,
    progress: Report | None = None,
    held: list[object] | None = None,
) -> Atlas:
    """Builds the atlas of a model, or opens the one that is there if it is of the same source, settings and version.

    A build that fails, at whatever point, leaves the previous atlas as it was. Two builds of one model wait for each
    other.

    Args:
        spec_or_model: registered name, or a source as :func:`openmodelatlas.sources.resolve` takes it; a
            path is a folder.
        revision: branch, tag or hash of a hub source.
        configuration: JSON file to use instead of the published configuration.
        packages: further requirements for the process that runs the model's code (``accelerate==1.2.0``).
        trust: whether the code of a hub or folder may run.
        force: build even if the atlas is up to date.
        overrides: sizes of the probes by configuration key: one for all probes, or one for each.
        limits: what the model's code may use.
        home: folder of everything this program keeps; by default ``OMA_HOME`` or the platform's data folder.
        progress: is told how far the build is.
        held: gets what the atlas was made of: who ends the process afterwards saves the tenth of a second that letting
            go of it takes.

    Raises:
        UsageError: nothing is called that, or an argument does not fit.
        SourceError, TrustError, CaptureError, ShapeError, GraphError, CatalogueError, DrawingError, BundleError: see
            ``openmodelatlas.errors``.
    """
    _check_arguments(locals())
    report = progress or _report_nothing
    folder = default_home() if home is None else Path(home)
    spec = spec_or_model if isinstance(spec_or_model, str) else _spec_of(spec_or_model)
    given = None if configuration is None else Path(configuration)
    report(Progress(f"Finding the code of {spec}", 0, 0))
    target = find(spec, revision=revision, configuration=given, trust=trust)
    key = cache(lambda: _key(target, packages, overrides))  # once, when it is needed
    with _build_lock(folder, target, report) as model:
        target = replace(target, model=model)
        atlas = None if force else up_to_date(folder, target, key())
        if atlas is not None:
            # It says why sources were passed over when it was built, which need not be why they were now.
            told = msgspec.structs.replace(atlas.document.provenance, preferred=target.passed_over)
            atlas.document = msgspec.structs.replace(atlas.document, provenance=told)
            report(Progress(f"{target.title} is up to date", 1, 1))
            return atlas
        options = {"packages": packages, "overrides": dict(overrides or {}), "limits": limits}
        with no_garbage_collection():
            return _build(target, key, folder, report, options, held)


_EXPECTED: Mapping[str, tuple[Any, str]] = {
    "spec_or_model": ((str, Path), "the name of a model or a source"),
    "revision": (str, "a branch, tag or hash"),
    "configuration": ((str, Path), "the path of a JSON file"),
    "packages": ((list, tuple, set, frozenset), "a list of requirements"),
    "trust": (bool, "True or False"),
    "force": (bool, "True or False"),
    "overrides": (Mapping, "sizes by configuration key"),
    "limits": (Limits, "openmodelatlas.capture.job.Limits"),
    "home": ((str, Path), "the path of a folder"),
    "progress": (Callable, "something that can be called"),
}
"""What the arguments of :func:`build` are, in Python and in words."""

_OPTIONAL = ("revision", "configuration", "overrides", "limits", "home", "progress")


def _check_arguments(given: Mapping[str, Any]) -> None:
    """Refuses what would be taken for something else: ``trust="no"`` for a yes, ``packages="numpy"`` for five."""
    for name, (kinds, words) in _EXPECTED.items():
        value = given[name]
        if not isinstance(value, kinds) and not (value is None and name in _OPTIONAL):
            raise UsageError(f"{name} is {_shown(value)}, not {words}.")
    for package in given["packages"]:
        if not isinstance(package, str):
            raise UsageError(f"packages has {_shown(package)}, which is no requirement.")
    for key, sizes in (given["overrides"] or {}).items():
        every = sizes if isinstance(sizes, list | tuple) else [sizes]
        if not isinstance(key, str) or not every or not all(type(size) is int and size >= 0 for size in every):
            raise UsageError(
                f"overrides has {_shown(sizes)} for {_shown(key)}, not a size.",
                advice="Give a whole number for all probes, or a list with one for each.",
            )


def _shown(value: object) -> str:
    return ascii(value)[:100]


def _spec_of(path: Path) -> str:
    """A path as a source that is taken for nothing else."""
    return str(path) if path.is_absolute() or str(path).startswith((".", "~")) else f"./{path}"


def _build(
    target: Target,
    key: Callable[[], str],
    home: Path,
    report: Report,
    options: Mapping[str, Any],
    held: list[object] | None,
) -> Atlas:
    """Captures, makes and reads; a function of its own, so that a million objects are gone when the collector is on."""
    started = time.monotonic()
    stages: list[Stages] = []
    captured = capture(
        target.source,
        **options,
        home=home,
        progress=report,
        meanwhile=lambda: stages.append(_stages(target, key())),
        landed=lambda recording: stages[0].add(recording),  # noqa: PLW0108 - there are none yet
    )
    if held is not None:
        held += (stages, captured)
    with captured:
        return _read(stages[0].write(captured, started, home=home, report=report))


def _key(target: Target, packages: Sequence[str], overrides: Mapping[str, int | list[int]] | None) -> str:
    """Imported late, like :func:`_stages`: a forced build needs it then only."""
    from openmodelatlas.bundle.key import build_key

    return build_key(target.source, packages=packages, overrides=overrides)


def _stages(target: Target, key: str) -> Stages:
    """Imported late: while the model's process starts, there is time for it."""
    from openmodelatlas.stages import Stages

    return Stages(target, key)


def _read(folder: Path) -> Atlas:
    from openmodelatlas.bundle import store

    return store.read(folder)


def up_to_date(home: Path, target: Target, key: str) -> Atlas | None:
    """The atlas of ``target`` if it was built with ``key``, is whole, and its code is unchanged; else ``None``."""
    try:
        atlas = _read(model_folder(home, target.model))
        if atlas.manifest.key != key or not is_whole(atlas.folder, atlas.manifest):
            return None
    except BundleError:  # absent or damaged: it is built
        return None
    if target.source.kind == "factory":  # only the factory's own file is pinned, what it imports is known since it ran
        for file in atlas.document.files.values():
            if file.repository == target.source.repository and _hash(target.source.root / file.path) != file.sha256:
                return None
    return atlas


def _hash(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return None


def _report_nothing(_: Progress) -> None:
    """Report progress to nobody."""


@contextlib.contextmanager
def _build_lock(home: Path, target: Target, report: Report) -> Iterator[str]:
    """Holds the right to build ``target`` and gives its atlas' name; says so while another build holds it."""
    while True:
        model = name_for(home, target.model, target.origin)
        with _named_lock(home, model, target, report):
            # Another source may have been given that name while this one waited.
            if name_for(home, target.model, target.origin) == model:
                yield model
                return


@contextlib.contextmanager
def _named_lock(home: Path, model: str, target: Target, report: Report) -> Iterator[None]:
    import filelock

    folder = home / "locks"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(folder / f"{model}.lock")
        try:
            lock.acquire(timeout=0)
        except filelock.Timeout:
            report(Progress(f"Waiting for another build of {target.title}", 0, 0))
            lock.acquire(timeout=BUILD_LOCK_SECONDS)
    except filelock.Timeout as error:
        raise BundleError(
            f"Another build of {target.title} has been running for an hour.",
            where=str(folder),
            advice="Stop it, then build again.",
        ) from error
    except OSError as error:
        raise BundleError(
            f"The folder for atlases cannot be used: {error.strerror or error}.",
            where=str(home),
            advice="Set OMA_HOME to a folder that can be written.",
        ) from error
    try:
        yield
    finally:
        lock.release()
