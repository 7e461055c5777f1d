"""All mechanisms of the catalogue in one atlas: where they hold, and where only their structure fits."""

from __future__ import annotations

from dataclasses import dataclass, field

from openmodelatlas.annotation.material import Drafts
from openmodelatlas.annotation.mechanisms.evaluate import NotThis, Outcome, evaluate, tolerance
from openmodelatlas.annotation.mechanisms.fit import Fit, Place
from openmodelatlas.annotation.mechanisms.flow import Flow
from openmodelatlas.annotation.mechanisms.match import Matcher
from openmodelatlas.annotation.values import Arrays
from openmodelatlas.catalogue.entry import Mechanism
from openmodelatlas.catalogue.load import Catalogue


@dataclass(frozen=True)
class Differing:
    """A fit whose numbers are not those of the code.

    Attributes:
        mechanism: its identifier.
        fit: the fit that comes nearest.
        outcome: what its evaluation gave.
    """

    mechanism: str
    fit: Fit
    outcome: Outcome


@dataclass
class Findings:
    """What was found.

    Attributes:
        places: by mechanism.
        differing: fits that do not hold and that no other mechanism explains.
    """

    places: dict[str, list[Place]] = field(default_factory=dict)
    differing: list[Differing] = field(default_factory=list)


def find(flow: Flow, arrays: Arrays, catalogue: Catalogue, drafts: Drafts | None = None) -> Findings:
    """Every place of every mechanism, in the order in which mechanisms build on each other.

    A mechanism whose search or reference fails is noted in ``drafts``.
    """
    findings = Findings()
    drafts = drafts or Drafts(nodes={})
    for mechanism in catalogue.mechanisms.values():
        with drafts.spare_all(f"Places of {mechanism.front.title}"):
            _find_one(flow, arrays, catalogue, mechanism, findings)
    findings.differing = [one for one in findings.differing if not _explained(one, catalogue, findings)]
    return findings


def _find_one(flow: Flow, arrays: Arrays, catalogue: Catalogue, mechanism: Mechanism, findings: Findings) -> None:
    reference = None
    places: list[Place] = []
    matcher = Matcher(flow, mechanism, findings.places)
    roots = sorted(matcher.fits(), key=lambda root: -max(len(fit.operations) for fit in root[1]))
    taken = {place.fit.root for other in mechanism.front.recognise.unless for place in findings.places.get(other, ())}
    for root, fits in roots:
        if root in taken:
            continue
        if any(fit.operations < place.fit.operations for fit in fits[:1] for place in places):
            continue
        reference = reference or catalogue.reference(mechanism.id)
        best: tuple[Fit, Outcome] | None = None
        for fit in fits:
            try:
                outcome = evaluate(flow, arrays, mechanism, reference, fit)
            except NotThis:
                continue
            if best is None or _distance(outcome) < _distance(best[1]):
                best = (fit, outcome)
            if outcome.error is not None and outcome.error <= tolerance(mechanism):
                break
        if best is None:
            continue
        fit, outcome = best
        if outcome.error is None or outcome.error <= tolerance(mechanism):
            outputs = tuple(name for name in mechanism.outputs if name in fit.bound)
            places.append(Place(mechanism.id, fit, outputs, outcome.error, outcome.detail))
        elif not any(
            fit.operations < other.fit.operations for other in findings.differing if other.mechanism == mechanism.id
        ):
            findings.differing.append(Differing(mechanism.id, fit, outcome))
    findings.places[mechanism.id] = places


def _distance(outcome: Outcome) -> float:
    """Evaluated fits before those that lack a value, near ones first."""
    return 1e300 if outcome.error is None else outcome.error


def _explained(differing: Differing, catalogue: Catalogue, findings: Findings) -> bool:
    """Whether the same operations are a place of this mechanism after all, or of one of its rivals."""
    mechanism = catalogue.mechanisms[differing.mechanism]
    others = (differing.mechanism, *mechanism.front.recognise.rivals)
    return any(
        place.fit.root == differing.fit.root or differing.fit.operations & place.fit.operations
        for other in others
        for place in findings.places.get(other, ())
    )
