"""Everything of an atlas that can be checked without running the model again."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from openmodelatlas.annotation.needs import check_needs
from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.capture.job import Progress
from openmodelatlas.verification.drawings import verify_drawings
from openmodelatlas.verification.drift import Drift, told
from openmodelatlas.verification.files import verify_claims, verify_files
from openmodelatlas.verification.formulas import verify_formulas
from openmodelatlas.verification.shapes import verify_shapes

Report = Callable[[Progress], None]


class Verification(msgspec.Struct, frozen=True, kw_only=True):
    """What was looked at, and what differs.

    Attributes:
        model: identifier.
        drifts: empty if everything holds.
        files, claims, shapes, formulas, diagrams: how many were checked.
        not_at_hand: files whose original is not on this machine, so that only the atlas' own copy was checked, and
            formulas whose values the bundle leaves out.
    """

    model: str
    drifts: tuple[Drift, ...]
    files: int
    claims: int
    shapes: int
    formulas: int
    diagrams: int
    not_at_hand: tuple[str, ...]


def verify(atlas: Atlas, progress: Report | None = None) -> Verification:
    """Everything of ``atlas`` that can be checked without running the model again.

    Raises:
        BundleError: the atlas cannot be read at all.
        CaptureError: NumPy is not installed.
    """
    check_needs(atlas.document.model)
    report = progress or (lambda _: None)
    found: list[Drift] = []
    absent: list[str] = []
    report(Progress("Reading files", 0, 0))
    files = verify_files(atlas, found, absent)
    report(Progress("Evaluating shapes", 0, 0))
    shapes = verify_shapes(atlas, found)
    report(Progress("Evaluating formulas", 0, 0))
    claims = verify_claims(atlas, found)
    report(Progress("Drawing diagrams", 0, 0))
    diagrams = verify_drawings(atlas, found)
    formulas = 0
    with told(found, "formula", ""):  # code that is altered cannot be annotated
        formulas = verify_formulas(atlas, found, absent)
    return Verification(
        model=atlas.document.model,
        drifts=tuple(found),
        files=files,
        claims=claims,
        shapes=shapes,
        formulas=formulas,
        diagrams=diagrams,
        not_at_hand=tuple(absent),
    )
