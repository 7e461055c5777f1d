"""What follows a capture: graph, annotation, drawing, bundle.

It is a module of its own because it is imported while the model's process starts, when a processor is idle.
"""

from __future__ import annotations

import time
from collections.abc import Callable
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
from openmodelatlas.bundle.gaps import with_notes
from openmodelatlas.bundle.kept import CapturedCode, with_values
from openmodelatlas.capture.job import Progress
from openmodelatlas.capture.recording import Recording
from openmodelatlas.capture.run import Capture
from openmodelatlas.drawing.draw import draw
from openmodelatlas.drawing.engine import check_engine
from openmodelatlas.drawing.formulas import every_latex, latex_of_nodes
from openmodelatlas.drawing.typesetter import Typesetter
from openmodelatlas.graph.build import Subject, build_document
from openmodelatlas.graph.document import Document, Provenance
from openmodelatlas.graph.invariants import check as check_invariants
from openmodelatlas.graph.preparation import Preparation
from openmodelatlas.graph.published_count import with_published_count
from openmodelatlas.sources.target import Target


class Stages:
    """The stages of one build, in their order.

    Making them looks for all that they need: a build must not fail for it after a model has run for minutes.

    Args:
        target: what is built.
        key: as in :func:`openmodelatlas.bundle.key.build_key`.

    Raises:
        CaptureError, CatalogueError, DrawingError: something that a stage needs is missing.
    """

    def __init__(self, target: Target, key: str) -> None:
        check_needs(target.model)
        check_engine()
        self._target = target
        self._key = key
        self._preparation = Preparation()

    def add(self, recording: Recording) -> None:
        """Does what can be done with one recording while others are being made."""
        self._preparation.add(recording)

    def write(self, captured: Capture, started: float, *, home: Path, report: Callable[[Progress], None]) -> Path:
        """Makes the atlas of what was captured, and puts it in the place of the one that was there.

        Args:
            captured: recordings and values.
            started: when the build began, by ``time.monotonic``: the bundle tells how long it took.
            home: folder of everything this program keeps.
            report: is told how far the build is.

        Returns:
            the folder of the bundle.

        Raises:
            ShapeError, GraphError, BundleError: see the stages.
        """
        with Typesetter() as typesetter:
            return self._write(captured, started, typesetter, home=home, report=report)

    def _write(
        self,
        captured: Capture,
        started: float,
        typesetter: Typesetter,
        *,
        home: Path,
        report: Callable[[Progress], None],
    ) -> Path:
        report(Progress("Solving shapes, folding layers", 0, 0))
        recordings = list(captured.recordings.values())
        document = build_document(subject(self._target), recordings, captured.summary, self._preparation)
        document = with_published_count(document, self._target)
        texts = _texts(captured)
        report(Progress("Naming, evaluating formulas", 0, 0))
        material = Material(document=document, code=CapturedCode(document, captured.values, texts))
        # Formulas are set beside what follows, until diagrams are drawn.
        knowledge = annotate(material, heard=lambda drafts: typesetter.set(latex_of_nodes(drafts)))
        typesetter.set(every_latex(knowledge))
        document, knowledge = _readdressed(document, knowledge)
        check_invariants(document)
        report(Progress("Drawing diagrams, setting formulas", 0, 0))
        drawings = draw(document, knowledge, typesetter)
        document, kept = with_values(with_notes(document, knowledge, drawings), captured.values)
        report(Progress("Writing the atlas", 0, 0))
        return store.write(
            document,
            texts=texts,
            values=kept,
            home=home,
            model=self._target.model,
            key=self._key,
            knowledge=knowledge,
            drawings=drawings,
            seconds=time.monotonic() - started,
            origin=self._target.origin,
        )


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


def _texts(captured: Capture) -> dict[str, str]:
    """Text of every file that ran, by the SHA-256 of its bytes."""
    return {file.sha256: file.text for recording in captured.recordings.values() for file in recording.files}
