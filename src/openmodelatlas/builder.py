"""The one place that composes the stages: source, capture, graph, bundle."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

import msgspec

from openmodelatlas import __version__
from openmodelatlas.annotation.annotate import annotate
from openmodelatlas.annotation.faults import contained
from openmodelatlas.annotation.knowledge import Knowledge
from openmodelatlas.annotation.material import Material
from openmodelatlas.annotation.needs import check_needs
from openmodelatlas.annotation.roles.addresses import readdress
from openmodelatlas.bundle import store
from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.bundle.gaps import with_notes
from openmodelatlas.bundle.home import home as default_home
from openmodelatlas.bundle.home import model_folder
from openmodelatlas.bundle.kept import CapturedCode, with_values
from openmodelatlas.bundle.manifest import read_manifest
from openmodelatlas.capture.collector import no_garbage_collection
from openmodelatlas.capture.job import Limits, Progress
from openmodelatlas.capture.run import Capture, capture
from openmodelatlas.drawing.draw import draw
from openmodelatlas.drawing.engine import check_engine
from openmodelatlas.errors import BundleError, UsageError
from openmodelatlas.graph.build import Subject, build_document
from openmodelatlas.graph.document import Check, Document, Provenance
from openmodelatlas.graph.invariants import check as check_invariants
from openmodelatlas.graph.preparation import Preparation
from openmodelatlas.sources import FORMS, MODELS, RegisteredModel, Source, resolve, resolve_model
from openmodelatlas.sources import registry as model_registry
from openmodelatlas.sources.resolve import exists

BUILD_LOCK_SECONDS = 3600.0
"""How long a build waits for another build of the same model."""

Report = Callable[[Progress], None]


@dataclass(frozen=True)
class Target:
    """What is to be built, pinned.

    Attributes:
        model: identifier of the atlas: the registered name, or one made from the source's.
        title: display name.
        source: code and configuration.
        passed_over: one sentence for every preferred source that could not be used.
        registered: the registry's entry, for a model asked for by name.
        own_configuration: whether the user gave a configuration instead of the published one.
    """

    model: str
    title: str
    source: Source
    passed_over: tuple[str, ...] = ()
    registered: RegisteredModel | None = None
    own_configuration: bool = False


def build(
    spec_or_model: str,
    *,
    revision: str | None = None,
    configuration: Path | None = None,
    packages: Sequence[str] = (),
    trust: bool = False,
    force: bool = False,
    overrides: Mapping[str, int | list[int]] | None = None,
    limits: Limits | None = None,
    home: Path | None = None,
    progress: Report | None = None,
) -> Atlas:
    """Builds the atlas of a model, or opens the one that is there if it is of the same source, settings and version.

    A build that fails, at whatever point, leaves the previous atlas as it was. Two builds of one model wait for each
    other.

    Args:
        spec_or_model: registered name, or a source as :func:`openmodelatlas.sources.resolve` takes it.
        revision: branch, tag or hash of a hub source.
        configuration: JSON file to use instead of the published configuration.
        packages: further requirements for the process that runs the model's code (``accelerate==1.2.0``).
        trust: whether the code of a hub or folder may run.
        force: build even if the atlas is up to date.
        overrides: sizes of the probes by configuration key: one for all probes, or one for each.
        limits: what the model's code may use.
        home: folder of everything this program keeps; by default ``OMA_HOME`` or the platform's data folder.
        progress: is told how far the build is.

    Raises:
        UsageError: nothing is called that, or the options do not fit.
        SourceError, TrustError, CaptureError, ShapeError, GraphError, BundleError: see ``openmodelatlas.errors``.
    """
    report = progress or _report_nothing
    folder = default_home() if home is None else home
    report(Progress(f"Finding the code of {spec_or_model}", 0, 0))
    target = find(spec_or_model, revision=revision, configuration=configuration, trust=trust)
    key = build_key(target.source, packages=packages, overrides=overrides)
    with _build_lock(folder, target, report):
        atlas = None if force else up_to_date(folder, target, key)
        if atlas is not None:
            report(Progress(f"{target.title} is up to date", 1, 1))
            return atlas
        _check_needs(target)
        preparation = Preparation()
        captured = capture(
            target.source,
            packages=packages,
            overrides=dict(overrides or {}),
            limits=limits,
            home=folder,
            progress=report,
            landed=preparation.add,
        )
        with captured, no_garbage_collection():
            report(Progress("Solving shapes, folding layers", 0, 0))
            recordings = list(captured.recordings.values())
            document = build_document(subject(target), recordings, captured.summary, preparation)
            document = _with_published_count(document, target)
            texts = _texts(captured)
            report(Progress("Naming, evaluating formulas", 0, 0))
            knowledge = annotate(Material(document=document, code=CapturedCode(document, captured.values, texts)))
            document, knowledge = _readdressed(document, knowledge)
            check_invariants(document)
            report(Progress("Drawing diagrams, setting formulas", 0, 0))
            drawings = draw(document, knowledge)
            document, kept = with_values(with_notes(document, knowledge, drawings), captured.values)
            report(Progress("Writing the atlas", 0, 0))
            written = store.write(
                document,
                texts=texts,
                values=kept,
                home=folder,
                model=target.model,
                key=key,
                knowledge=knowledge,
                drawings=drawings,
            )
    return store.read(written)


def _check_needs(target: Target) -> None:
    """What the stages after the capture need, before it: a build must not fail after it has run a model for minutes.

    Raises:
        CaptureError, CatalogueError, DrawingError: see the stages.
    """
    check_needs(target.model)
    check_engine()


def _readdressed(document: Document, knowledge: Knowledge) -> tuple[Document, Knowledge]:
    """Addresses after the names that were found; as they were, with a note, where a mistake of ours prevents that."""
    told: list[str] = []
    found = (document, knowledge)
    with contained(told.append):
        found = readdress(document, knowledge)
    if not told:
        return found
    note = f"Addresses do not follow the names that were found: {told[0]}."
    return document, msgspec.structs.replace(knowledge, notes=(*knowledge.notes, note))


def find(
    spec_or_model: str, *, revision: str | None = None, configuration: Path | None = None, trust: bool = False
) -> Target:
    """The pinned source of a registered model or a source as the user writes it, and what its atlas is called.

    A registered name wins over a folder of the same name (write ``./name`` for that).

    Raises:
        UsageError: nothing is called that; the advice names what comes close.
        SourceError: no source can be used.
    """
    name = spec_or_model.strip().lower()
    if name in MODELS:
        resolved = resolve_model(name, revision=revision, configuration=configuration, trust=trust)
        return Target(
            model=resolved.model.name,
            title=resolved.model.display_name,
            source=resolved.source,
            passed_over=resolved.passed_over,
            registered=resolved.model,
            own_configuration=configuration is not None,
        )
    if re.fullmatch(r"[A-Za-z0-9][\w.-]*", spec_or_model) and not exists(spec_or_model):
        _refuse_unknown(spec_or_model)
    source = resolve(spec_or_model, revision=revision, configuration=configuration, trust=trust)
    return Target(
        model=identifier(source), title=title(source), source=source, own_configuration=configuration is not None
    )


def identifier(source: Source) -> str:
    """Identifier of the atlas of a source that no registered model names: ``owner-name``, ``module-factory``."""
    return _identifier(f"transformers {source.entry}" if source.kind == "transformers" else source.repository)


def identifier_of(spec: str) -> str:
    """The same from the text of a source, without looking whether there is one."""
    if spec.startswith((".", "/", "~")) or exists(spec):
        with contextlib.suppress(OSError, RuntimeError):
            return _identifier(Path(spec).expanduser().resolve().name)
    return _identifier(spec.partition("@")[0])


def _identifier(text: str) -> str:
    """Never equal to a registered name, since that stands for the registry's own choice of sources."""
    slug = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:100].strip("-") or "model"
    return f"{slug}-source" if slug in MODELS else slug


def title(source: Source) -> str:
    """Display name of a source that no registered model names."""
    if source.kind == "transformers":
        return f"{source.entry} of transformers"
    if source.kind == "reference":
        name = source.repository.partition(":")[2]
        known = MODELS.get(name)
        return f"{known.display_name if known else name}, reference model"
    if source.kind == "factory":
        return source.repository.partition(":")[2]
    return source.repository.rpartition("/")[2]


def subject(target: Target) -> Subject:
    """What the graph is told of the source."""
    source = target.source
    url = f"{source.url}/blob/{source.revision}/{{path}}#L{{first}}-L{{last}}" if source.kind == "hub" else None
    return Subject(
        model=target.model,
        title=target.title,
        repository=source.repository,
        revision=source.revision,
        url=url if source.url else None,
        provenance=Provenance(
            source=source.kind,
            repository=source.repository,
            revision=source.revision,
            requested_revision=source.requested_revision,
            entry=source.entry,
            configuration_origin=source.configuration_origin,
            preferred=target.passed_over,
            versions={"openmodelatlas": __version__},
            choices=(),
            probes=(),
        ),
    )


def build_key(
    source: Source, *, packages: Sequence[str] = (), overrides: Mapping[str, int | list[int]] | None = None
) -> str:
    """SHA-256, in hexadecimal, over everything that decides what an atlas says.

    That is the pinned files, the configuration, the packages the code runs on, the probe sizes asked for, and our own
    code (its bytes, so that a checkout that changes builds anew).
    """
    parts = {
        "source": msgspec.to_builtins(
            msgspec.structs.replace(source, root=Path(), trusted=True, notes=()), enc_hook=str
        ),
        "packages": sorted(packages),
        "overrides": dict(sorted((overrides or {}).items())),
        "installed": {name: _version(name) for name in ("torch", "transformers", "numpy")},
        "version": __version__,
        "code": _own_code(),
    }
    return hashlib.sha256(msgspec.json.encode(parts, enc_hook=str, order="sorted")).hexdigest()


def up_to_date(home: Path, target: Target, key: str) -> Atlas | None:
    """The atlas of ``target`` if it was built with ``key``, can be read, and its code is unchanged; else ``None``."""
    try:
        atlas = store.read(model_folder(home, target.model))
        if read_manifest(atlas.folder).key != key:
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


def _refuse_unknown(name: str) -> None:
    """Raises for a bare word that is neither registered nor a path, with names that come close."""
    try:
        model_registry.model(name)
    except UsageError as error:
        raise UsageError(error.what, advice=f"{error.advice} Or give a source: {FORMS}.") from None


def _report_nothing(_: Progress) -> None:
    """Report progress to nobody."""


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _own_code() -> str:
    folder = Path(__file__).parent
    digest = hashlib.sha256()
    parts = ("sources", "capture", "shapes", "graph", "catalogue", "annotation", "evidence", "drawing", "bundle")
    for part in parts:
        files = (path for path in (folder / part).rglob("*") if path.suffix in (".py", ".md", ".json", ".yaml"))
        for path in sorted(files):
            digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


@contextlib.contextmanager
def _build_lock(home: Path, target: Target, report: Report) -> Iterator[None]:
    """Holds the right to build ``target``; says so while another build holds it."""
    import filelock

    folder = home / "locks"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(folder / f"{target.model}.lock")
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


def _texts(captured: Capture) -> dict[str, str]:
    """Text of every file that ran, by the SHA-256 of its bytes."""
    return {file.sha256: file.text for recording in captured.recordings.values() for file in recording.files}


def _with_published_count(document: Document, target: Target) -> Document:
    """Adds the comparison with the count that the registry knows; none where the user chose the configuration."""
    if target.registered is None or target.own_configuration:
        return document
    counted = document.nodes[""].parameter_count
    check = published_count(target.registered, target.source, counted)
    return msgspec.structs.replace(document, checks=(*document.checks, check))


def published_count(entry: RegisteredModel, source: Source, counted: int) -> Check:
    """The verdict on ``counted`` parameters.

    It holds if they equal the published count (rounded as that is), or what this source's code is known to count where
    it leaves out, for a reason that the registry states, a part of what was published.
    """
    name, published = "parameters equal the published count", entry.parameters
    if published.agrees_with(counted):
        exact = "" if published.precision == 1 else f", which rounds to {published.total:,}"
        return Check(name=name, passed=True, detail=f"{counted:,}{exact} ({published.origin})")
    difference = counted - published.total
    relation = f"{abs(difference):,} {'more' if difference > 0 else 'fewer'} than the published {published.total:,}"
    known = any(each.measured_parameters == counted for each in entry.sources if _is_from(source, each.spec))
    reason = "as is known of this source" if known else "for a reason the registry does not know"
    detail = f"{counted:,}, {relation}, {reason}. Published: {published.counts} ({published.origin})"
    return Check(name=name, passed=known, detail=detail)


def _is_from(source: Source, spec: str) -> bool:
    if source.kind == "hub":
        return spec.partition("@")[0] == source.repository
    return spec == (f"transformers:{source.entry}" if source.kind == "transformers" else source.repository)
