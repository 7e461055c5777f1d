"""How often a loop goes round: as an expression, or as what the probes saw where it depends on values."""

from __future__ import annotations

from collections.abc import Sequence

from openmodelatlas.capture.recording import Phase
from openmodelatlas.graph.document import Repeat
from openmodelatlas.graph.fold import VariantFold, direct_sites
from openmodelatlas.graph.hierarchy import Draft
from openmodelatlas.graph.naming import member_ranges
from openmodelatlas.graph.sizes import Sizes
from openmodelatlas.graph.tree import Tree
from openmodelatlas.shapes.dimension import Constant, DataDependent, Symbolic, Unresolved
from openmodelatlas.shapes.display import short
from openmodelatlas.shapes.expression import Name
from openmodelatlas.shapes.parsing import parse


def repeat_of(draft: Draft, trees: Sequence[Tree], sizes: Sizes, phase: Phase) -> Repeat | None:
    """The rounds of a loop; ``None`` for everything else (the rounds of a layer group are its members)."""
    if draft.kind != "loop" or draft.loop is None:
        return None
    if not draft.loop.merged:
        rounds = len(draft.variant.rounds) if draft.variant is not None else len(draft.loop.members[0].rounds)
        note = _which(draft, trees) if draft.rounds else _times(str(rounds))
        return Repeat(observed=(rounds, rounds), expression=str(rounds), of=None, note=note)
    probes = [index for index in range(len(trees)) if index != sizes.roles.true_size]
    seen = [number for member in draft.loop.members for index in probes for number in member.counts[index]]
    observed = (min(seen), max(seen))
    range_seen = f"{observed[0]} to {observed[1]} in the probes"
    dimension = sizes.count(phase, draft.loop.members)
    if isinstance(dimension, Symbolic):
        text = _written(dimension.expression)
        text = text if dimension.value is None else f"{text} = {dimension.value:,}"
        return Repeat(observed=observed, expression=dimension.expression, of=None, note=_times(text))
    if isinstance(dimension, Constant):
        return Repeat(observed=observed, expression=str(dimension.value), of=None, note=_times(str(dimension.value)))
    if not isinstance(dimension, DataDependent):
        reason = dimension.reason if isinstance(dimension, Unresolved) else "no expression was found"
        return Repeat(observed=observed, expression=None, of=None, note=f"{range_seen}; not resolved: {reason}")
    experts = sizes.experts()
    if experts is not None and "expert" in _texts(draft, trees):
        chosen, existing = experts
        note = f"{chosen[1]:,} of {existing[1]:,} per token; the probes reached {observed[0]} to {observed[1]}"
        return Repeat(observed=observed, expression=None, of=existing[0], note=note)
    return Repeat(observed=observed, expression=None, of=None, note=f"depends on values; {range_seen}")


def _which(draft: Draft, trees: Sequence[Tree]) -> str:
    """``round 2 of 4``, with the word that this round alone hands to what it calls: ``round 1 of 2; for "sliding"``."""
    assert draft.loop is not None
    total = len(draft.loop.members[0].rounds)
    note = f"round{'s' if len(draft.rounds) > 1 else ''} {member_ranges(draft.rounds)} of {total}"
    words = {id(variant): _handed_words(variant, trees) for variant in draft.loop.variants}
    own = words.pop(id(draft.variant)).difference(*words.values())
    return f'{note}; for "{own.pop()}"' if len(own) == 1 else note


def _handed_words(variant: VariantFold, trees: Sequence[Tree]) -> set[str]:
    calls = [site for part in variant.rounds for site in direct_sites(part) if site.is_call]
    given = (trees[site.probe].recording.calls[~site.event].arguments.values() for site in calls)
    return {value for values in given for value in values if isinstance(value, str)}


def _written(expression: str) -> str:
    """An expression that is more than a configuration key, in symbols: ``⌈T / 64⌉``."""
    node = parse(expression)
    return expression if isinstance(node, Name) else short(node)


def _times(text: str) -> str:
    return "once" if text == "1" else f"{text} times"


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
