"""Our pages beside the seeds', field by field."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from openmodelatlas.site.words import numbers_text
from tests.seeds.pages import Fields
from tests.seeds.seed import Source

Verdict = Literal["same", "same meaning", "more", "differs"]

_SAME_WORDS = (
    (r"\bffn\b", "feed-forward network"),
    (r"\bmlp\b", "feed-forward network"),
    (r"\bdense feed", "gated feed"),
    (r"\bmoe\b", "mixture of experts"),
    (r"’", "'"),
)
"""The same thing under its two names: how the seeds call it, and how the atlas does in all models."""
_FILLERS = frozenset(["a", "an", "the", "and", "of", "its", "it", "one", "so", "is"])


@dataclass(frozen=True)
class Row:
    """One field: the seed's text, ours, and whether they agree."""

    field: str
    seed: str
    ours: str
    verdict: Verdict
    note: str = ""


def rows(seed: Fields, ours: Fields) -> list[Row]:
    """The comparison of two pages, in the order of the page."""
    found = [
        _equal("page", seed.page, ours.page),
        _equal("title", seed.title, ours.title),
        _equal("breadcrumb", seed.breadcrumb, ours.breadcrumb),
        _equal("kind", seed.kind, ours.kind),
        _equal("symbol and lines", seed.symbol, ours.symbol),
        _sentence("sentence", seed.sentence, ours.sentence),
        _equal("formula", seed.formula, ours.formula),
        _equal("lit terms", " ".join(seed.terms), " ".join(ours.terms)),
        _equal("in", _ports(seed.inputs), _ports(ours.inputs)),
        _equal("out" if seed.inputs else "shape", _ports(seed.outputs), _ports(ours.outputs)),
    ]
    for number, sentence in enumerate(seed.explanation):
        name = f"explanation {number + 1}"
        own = ours.explanation[number] if number < len(ours.explanation) else ""
        found.append(_sentence(name, _without_lines(sentence), _without_lines(own)))
        found.append(_lines(f"{name}, lines", _lines_of(sentence), _lines_of(own)))
    more = len(ours.explanation) - len(seed.explanation)
    if more > 0:
        found.append(Row("further explanation", "", f"sentences: {more}", "more"))
    if seed.code:
        found.append(_equal("code", seed.code, ours.code))
    found.append(_equal("number of sources", str(len(seed.sources)), str(len(ours.sources))))
    for number, (one, other) in enumerate(zip(seed.sources, ours.sources, strict=False)):
        found += _source(f"source {number + 1}", one, other)
    return [row for row in found if row.seed or row.ours]


def _source(name: str, seed: Source, ours: Source) -> Iterator[Row]:
    yield _equal(f"{name}: class", seed.kind, ours.kind)
    yield _whose(f"{name}: from", seed.origin, ours.origin)
    yield _sentence(f"{name}: claim", seed.claim, ours.claim)
    yield _equal(f"{name}: identifier", seed.id, ours.id)
    yield _equal(f"{name}: repository and file", f"{seed.repository} / {seed.file}", f"{ours.repository} / {ours.file}")
    yield _equal(f"{name}: revision", seed.revision, ours.revision)
    yield _equal(f"{name}: lines", numbers_text(seed.lines), numbers_text(ours.lines))
    yield _equal(f"{name}: omitted lines", _omitted(seed), _omitted(ours))
    yield _equal(f"{name}: excerpt, line for line", digest(seed), digest(ours))


def digest(source: Source) -> str:
    """Of an excerpt's lines with their numbers: code itself is not copied into reports."""
    text = "".join(f"{number}\t{line}\n" for number, line in sorted(source.text.items()))
    return f"{len(source.text)} lines, SHA-256 {hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _omitted(source: Source) -> str:
    return numbers_text(source.omitted) if source.omitted is not None else ""


def _equal(field: str, seed: str, ours: str) -> Row:
    return Row(field, seed, ours, "same" if seed == ours else "differs")


def _lines(field: str, seed: str, ours: str) -> Row:
    """A seed without lines is proved by more where ours has some."""
    return Row(field, seed, ours, "same" if seed == ours else "differs" if seed else "more")


def _sentence(field: str, seed: str, ours: str) -> Row:
    """Sentences mean the same if every word of the seed's that carries meaning is in ours, and formulas are equal."""
    if seed == ours:
        return Row(field, seed, ours, "same")
    missing = sorted(words(seed) - words(ours))
    return Row(
        field, seed, ours, "differs" if missing else "same meaning", f"lacks {', '.join(missing)}" * bool(missing)
    )


def _whose(field: str, seed: str, ours: str) -> Row:
    """The node that a source is inherited from: equal, or the same role under the title that ours has."""
    roles = ({"residual", "addition"}, {"add", "update"})
    if seed != ours and words(seed) >= roles[0] and words(ours) >= roles[1]:
        return Row(field, seed, ours, "same meaning", "the addition is called by what it does")
    return _equal(field, seed, ours)


def words(text: str) -> set[str]:
    """The words of a sentence that carry meaning, in one spelling; formulas whole."""
    formulas = {re.sub(r"\s+", "", found) for found in re.findall(r"\$([^$]+)\$", text)}
    plain = re.sub(r"\$[^$]+\$", " ", text).lower()
    for pattern, name in _SAME_WORDS:
        plain = re.sub(pattern, name, plain)
    found = set(re.findall(r"[a-z0-9']+", plain.replace("_", " "))) - _FILLERS
    return formulas | {word.removesuffix("s") if len(word) > 3 else word for word in found}


def _ports(ports: tuple[tuple[str, str], ...]) -> str:
    return " ".join(f"{latex} {shape}" for latex, shape in ports)


def _without_lines(sentence: str) -> str:
    return re.sub(r" \([\w.]+\.py [^)]*\)(?=\.?$)", "", sentence)


def _lines_of(sentence: str) -> str:
    found = re.search(r" \(([\w.]+\.py [^)]*)\)\.?$", sentence)
    return found[1] if found is not None else ""
