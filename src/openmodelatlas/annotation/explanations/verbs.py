"""Titles as verbs: ``Add attention update`` becomes ``adds attention update`` or ``added attention update``."""

from __future__ import annotations

import re

# Base form: third person, past. Titles that begin with any other word are nouns.
VERBS: dict[str, tuple[str, str]] = {
    base: (third, past)
    for base, third, past in (
        line.split()
        for line in """
        accumulate accumulates accumulated
        add adds added
        advance advances advanced
        align aligns aligned
        append appends appended
        apply applies applied
        average averages averaged
        bend bends bent
        bound bounds bounded
        branch branches branched
        broadcast broadcasts broadcast
        build builds built
        cast casts cast
        choose chooses chose
        clamp clamps clamped
        clear clears cleared
        collect collects collected
        combine combines combined
        compare compares compared
        compute computes computed
        concatenate concatenates concatenated
        convert converts converted
        copy copies copied
        correct corrects corrected
        count counts counted
        cut cuts cut
        decay decays decayed
        dispatch dispatches dispatched
        divide divides divided
        draw draws drew
        drop drops dropped
        evaluate evaluates evaluated
        expand expands expanded
        exponentiate exponentiates exponentiated
        fill fills filled
        find finds found
        flatten flattens flattened
        gate gates gated
        gather gathers gathered
        give gives gave
        hide hides hid
        index indexes indexed
        insert inserts inserted
        interleave interleaves interleaved
        invert inverts inverted
        join joins joined
        keep keeps kept
        limit limits limited
        look looks looked
        make makes made
        mark marks marked
        mask masks masked
        mean averages averaged
        merge merges merged
        mix mixes mixed
        move moves moved
        multiply multiplies multiplied
        negate negates negated
        normalise normalises normalised
        number numbers numbered
        offset offsets offset
        order orders ordered
        pad pads padded
        pair pairs paired
        pass passes passed
        pick picks picked
        project projects projected
        put puts put
        raise raises raised
        rank ranks ranked
        read reads read
        regroup regroups regrouped
        remove removes removed
        renormalise renormalises renormalised
        repeat repeats repeated
        replace replaces replaced
        reshape reshapes reshaped
        restore restores restored
        retrieve retrieves retrieved
        return returns returned
        rotate rotates rotated
        round rounds rounded
        route routes routed
        run runs ran
        scale scales scaled
        scatter scatters scattered
        select selects selected
        send sends sent
        shift shifts shifted
        skip skips skipped
        sort sorts sorted
        split splits split
        square squares squared
        squeeze squeezes squeezed
        stack stacks stacked
        start starts started
        store stores stored
        subtract subtracts subtracted
        sum sums summed
        swap swaps swapped
        take takes took
        transpose transposes transposed
        turn turns turned
        unpack unpacks unpacked
        update updates updated
        use uses used
        weigh weighs weighed
        weight weights weighted
        widen widens widened
        wrap wraps wrapped
        write writes wrote
        zero zeroes zeroed
        """.strip().splitlines()
    )
}
# Words that are also nouns in titles (`Mean square`, `Gate projection`, `Scale`) count as verbs only before an article.
_AMBIGUOUS = frozenset(
    {
        "mean",
        "gate",
        "scale",
        "mask",
        "sum",
        "mix",
        "square",
        "update",
        "weight",
        "rank",
        "order",
        "index",
        "run",
        "return",
        "pair",
        "limit",
        "decay",
        "number",
        "count",
        "copy",
        "cut",
        "read",
        "score",
        "start",
        "store",
        "write",
    }
)
_DETERMINERS = frozenset({"the", "a", "an", "each", "every", "all", "its", "by", "into", "with", "heads", "over"})
_ARTICLES = frozenset({"the", "a", "an"})
_NO_VERBS = frozenset(
    {
        "where",
        "what",
        "which",
        "how",
        "all",
        "both",
        "of",
        "for",
        "by",
        "with",
        "in",
        "on",
        "at",
        "from",
        "to",
        "per",
        "over",
    }
)
_BARE = frozenset({"no", "each", "every", "all", "the", "a", "an", "room", "what", "softmax", "ones", "zeros"})
_COUNTED = frozenset({"update", "window", "mask", "bias", "output"})
_AND = re.compile(r" and ([a-z]+) (the|a|an|its) ")
"""A second verb: `Multiply by the weights and add the bias`."""
_PROPER = frozenset({"RMSNorm", "LayerNorm", "SwiGLU", "GeGLU", "SiTU", "MLP", "YaRN", "L2"})


def is_imperative(title: str) -> bool:
    """Whether a title begins with a verb: one of ``VERBS``, or any word before an article (``Bend the gate``)."""
    words = title.split()
    first = words[0].lower() if words else ""
    follows = words[1].lower() if len(words) > 1 else ""
    if first not in VERBS:
        return follows in _ARTICLES and first.isalpha() and first not in _NO_VERBS
    return first not in _AMBIGUOUS or follows in _DETERMINERS


def third_person(title: str, *, otherwise: str = "computes") -> str:
    """``adds the attention update``; for a noun, ``otherwise`` before it: ``computes the scores``."""
    return _inflected(title, 0) if is_imperative(title) else f"{otherwise} {noun_phrase(title)}"


def base_form(title: str, *, otherwise: str = "compute") -> str:
    """``add the attention update``, as several do it."""
    first, space, rest = title.partition(" ")
    if not is_imperative(title):
        return f"{otherwise} {noun_phrase(title)}"
    return f"{first.lower()}{space}{_with_article(rest)}"


def past(title: str, *, otherwise: str = "computed") -> str:
    """``added the attention update``."""
    return _inflected(title, 1) if is_imperative(title) else f"{otherwise} {noun_phrase(title)}"


def noun_phrase(title: str) -> str:
    """A title that is no verb, within a sentence: ``the scores``, ``RMSNorm of the queries``."""
    first = title.partition(" ")[0]
    if first in _PROPER or first[:1].isdigit() or first.lower() in _BARE:
        return lower(title)
    return f"the {lower(title)}"


def lower(title: str) -> str:
    """A title within a sentence: its first letter small, unless the word is an abbreviation or a name."""
    first, space, rest = title.partition(" ")
    if (
        len(first) == 1
        or first in _PROPER
        or sum(letter.isupper() or letter.isdigit() for letter in first) > 1
        or "-" in first[:2]
    ):
        return title
    return f"{first[:1].lower()}{first[1:]}{space}{rest}"


def _inflected(title: str, form: int) -> str:
    first, space, rest = title.partition(" ")
    verb = _forms(first.lower())
    rest = _AND.sub(lambda found: f" and {_forms(found[1])[form]} {found[2]} ", _with_article(rest))
    return f"{verb[form]}{space}{rest}"


def _with_article(rest: str) -> str:
    """``Add attention update``: what has a noun of its own as its head takes an article within a sentence."""
    head = rest.partition(" of ")[0].rpartition(" ")[2]
    takes_one = head in _COUNTED and rest.partition(" ")[0].lower() not in _DETERMINERS
    return f"the {rest}" if takes_one else rest


def _forms(verb: str) -> tuple[str, str]:
    return VERBS.get(verb) or _regular(verb)


def _regular(verb: str) -> tuple[str, str]:
    """Third person and past of a verb that has no entry: ``bends``, ``prepared``, ``tried``."""
    if verb.endswith(("s", "x", "z", "ch", "sh")):
        return f"{verb}es", f"{verb}ed"
    if verb.endswith("y") and verb[-2:-1] not in "aeiou":
        return f"{verb[:-1]}ies", f"{verb[:-1]}ied"
    return f"{verb}s", f"{verb}d" if verb.endswith("e") else f"{verb}ed"
