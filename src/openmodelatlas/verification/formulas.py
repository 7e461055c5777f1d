"""Formulas and names: annotated anew from what the bundle holds, and compared with what it says."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from openmodelatlas.annotation.annotate import annotate
from openmodelatlas.annotation.knowledge import Formula, NodeKnowledge
from openmodelatlas.annotation.material import Material
from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.bundle.tensors import TensorValue
from openmodelatlas.errors import BundleError
from openmodelatlas.graph.document import Document
from openmodelatlas.verification.drift import Drift

_ERROR_DIGITS = 3


class AtlasCode:
    """Values and code of a built atlas, as annotation takes them."""

    def __init__(self, atlas: Atlas) -> None:
        self._atlas = atlas

    def value(self, key: str) -> TensorValue | None:
        """The value with this key; ``None`` if the bundle does not hold it."""
        try:
            return self._atlas.value(key)
        except BundleError:
            return None

    def lines_of(self, file: str) -> Sequence[str]:
        """The lines of a cited file."""
        return self._atlas.lines_of(file)


def verify_formulas(atlas: Atlas, found: list[Drift], absent: list[str]) -> int:
    """Annotates anew from what the bundle holds, and compares names, formulas and verdicts."""
    stored = atlas.knowledge
    anew = annotate(Material(document=atlas.document, code=AtlasCode(atlas)))
    unseen = _without_values(atlas.document)
    count = 0
    for address in dict.fromkeys((*stored.nodes, *anew.nodes)):
        before, after = stored.nodes.get(address), anew.nodes.get(address)
        if before is None or after is None:
            found.append(Drift(kind="knowledge", where=address, text="is known of only in one of the two"))
            continue
        count += sum(each.check.verdict == "checked" for each in after.formulas)
        differences = [*_texts(before, after), *_verdicts(before, after)]
        lacking = differences and all(kind == "formula" for kind, _ in differences) and _lacks_a_value(before, after)
        if differences and (address in unseen or lacking):
            absent.append(f"values of {address}, which the bundle leaves out")
            continue
        found += [Drift(kind=kind, where=address, text=text) for kind, text in differences]
    return count


def _lacks_a_value(before: NodeKnowledge, after: NodeKnowledge) -> bool:
    """Whether the formulas are the same but for some that the bundle has no values for any more."""
    pairs = list(zip(before.formulas, after.formulas, strict=False))
    same = [each.latex for each in before.formulas] == [each.latex for each in after.formulas]
    gone = [new for old, new in pairs if new.check.verdict == "not checked" and old.check.verdict == "checked"]
    others = [(old, new) for old, new in pairs if new not in gone]
    return (
        same
        and bool(gone)
        and all(new.check.missing for new in gone)
        and all(old.check.verdict == new.check.verdict and _close(old, new) for old, new in others)
    )


def _without_values(document: Document) -> set[str]:
    """Nodes that read, give or enclose a tensor whose value the bundle leaves out."""
    found: set[str] = set()
    for address, node in document.nodes.items():
        if node.tensor is None or node.tensor.value is not None:
            continue
        for reached in (address, node.tensor.producer, *node.tensor.consumers):
            current = reached
            while current is not None and current not in found:
                found.add(current)
                current = document.nodes[current].parent if current in document.nodes else None
    return found


def _texts(before: NodeKnowledge, after: NodeKnowledge) -> Iterator[tuple[str, str]]:
    for name in ("title", "label", "sentence", "role", "family", "mechanism", "mechanisms", "explanation", "claims"):
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            yield "knowledge", f"{name} was {_short(old)}, is now {_short(new)}"


def _verdicts(before: NodeKnowledge, after: NodeKnowledge) -> Iterator[tuple[str, str]]:
    if [each.latex for each in before.formulas] != [each.latex for each in after.formulas]:
        yield "formula", f"{len(before.formulas)} formulas, now {len(after.formulas)} or others"
        return
    for old, new in zip(before.formulas, after.formulas, strict=True):
        if old.check.verdict != new.check.verdict or not _close(old, new):
            yield (
                "formula",
                f"was {old.check.verdict} ({old.check.detail}), is now {new.check.verdict} ({new.check.detail})",
            )


def _close(old: Formula, new: Formula) -> bool:
    first, second = old.check.error, new.check.error
    if first is None or second is None:
        return first == second
    return math.isclose(first, second, rel_tol=10.0**-_ERROR_DIGITS, abs_tol=1e-12)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 120 else f"{text[:119]}…"
