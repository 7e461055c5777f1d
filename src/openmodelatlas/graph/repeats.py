"""How often a loop goes round: as an expression, or as what the probes saw where it depends on values."""

from __future__ import annotations

from collections.abc import Sequence

from openmodelatlas.capture.recording import Phase
from openmodelatlas.graph.document import Repeat
from openmodelatlas.graph.hierarchy import Draft
from openmodelatlas.graph.sizes import Sizes
from openmodelatlas.graph.tree import Tree
from openmodelatlas.shapes.dimension import Constant, Symbolic


def repeat_of(draft: Draft, trees: Sequence[Tree], sizes: Sizes, phase: Phase) -> Repeat | None:
    """The rounds of a loop; ``None`` for everything else (the rounds of a layer group are its members)."""
    if draft.kind != "loop" or draft.loop is None:
        return None
    if not draft.loop.merged:
        rounds = len(draft.layers)
        return Repeat(observed=(rounds, rounds), expression=str(rounds), of=None, note=f"{rounds} times")
    probes = range(len(trees))
    counts = tuple(tuple(n for member in draft.loop.members for n in member.counts[probe]) for probe in probes)
    seen = [number for row in counts for number in row]
    observed = (min(seen), max(seen))
    dimension = sizes.count(phase, counts)
    if isinstance(dimension, Symbolic):
        text = dimension.expression if dimension.value is None else f"{dimension.expression} = {dimension.value:,}"
        return Repeat(observed=observed, expression=dimension.expression, of=None, note=f"{text} times")
    if isinstance(dimension, Constant):
        return Repeat(observed=observed, expression=str(dimension.value), of=None, note=f"{dimension.value} times")
    experts = sizes.experts()
    if experts is not None and "expert" in _texts(draft, trees):
        chosen, existing = experts
        note = f"{chosen[1]:,} of {existing[1]:,} per token; the probes reached {observed[0]} to {observed[1]}"
        return Repeat(observed=observed, expression=None, of=existing[0], note=note)
    return Repeat(
        observed=observed,
        expression=None,
        of=None,
        note=f"depends on values; {observed[0]} to {observed[1]} in the probes",
    )


def _texts(draft: Draft, trees: Sequence[Tree]) -> str:
    words: list[str] = []
    if draft.loop is not None and draft.loop.members[0].loop is not None:
        words.append(draft.loop.members[0].loop.text)
    for inner in draft.walk():
        if inner.site is not None:
            tree = trees[inner.site.probe]
            words.append(str(tree.keys.describe(inner.site.key)[2]))
            call = inner.site.event if inner.site.is_call else ~tree.operation(inner.site.event).call
            module = tree.recording.calls[~call].module
            words.append(tree.recording.modules[module].class_name if module >= 0 else "")
    return " ".join(words).lower()
