"""The two pages that the atlas is specified by, read from the folder beside the project that has them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2].parent / "shared" / "seeds"

_LINES = re.compile(r"lines (\d+)[–-](\d+)")
_OMITTED = re.compile(r"^… lines (\d+)–(\d+) omitted …$")
_PINNED = re.compile(r"^Pinned revision (\w+) ↗ · lines (\d+)–(\d+)$")


@dataclass(frozen=True)
class Source:
    """One cited piece of code: class (direct or contextual), whose it is, claim, where it is, and its text by line."""

    kind: str
    origin: str
    claim: str
    id: str
    repository: str
    file: str
    revision: str
    lines: tuple[int, int]
    omitted: tuple[int, int] | None
    text: dict[int, str]


def read(name: str) -> str:
    return (FOLDER / name).read_text(encoding="utf-8")


def sources(text: str) -> list[Source]:
    """The sources of a page, in order."""
    rows = text.splitlines()
    heads = [number for number, row in enumerate(rows) if re.match(r"(Direct|Contextual) evidence", row)]
    ends = [*heads[1:], len(rows)]
    return [_source(rows[begin:end]) for begin, end in zip(heads, ends, strict=True)]


def _source(rows: list[str]) -> Source:
    kind, _, origin = rows[0].partition(" evidence")
    place = next(number for number, row in enumerate(rows) if _PINNED.match(row))
    claim = next(row for row in rows[1:place] if row.strip())
    head = rows[place - 1]
    identifier, _, where = head.partition(" · ")
    repository, _, file = where.rpartition(" / ")
    pinned = _PINNED.match(rows[place])
    assert pinned is not None
    first, last = int(pinned[2]), int(pinned[3])
    excerpt = rows[next(number for number, row in enumerate(rows) if row == "Read code excerpt") + 2 :]
    kept, omitted = numbered(excerpt, first, last)
    return Source(
        kind=kind.lower(),
        origin=origin.removeprefix(" from "),
        claim=claim,
        id=identifier,
        repository=repository,
        file=file,
        revision=pinned[1],
        lines=(first, last),
        omitted=omitted,
        text=kept,
    )


def numbered(rows: list[str], first: int, last: int) -> tuple[dict[int, str], tuple[int, int] | None]:
    """The lines ``first`` to ``last`` of an excerpt by their number; the middle may be left out."""
    cut = next((number for number, row in enumerate(rows) if _OMITTED.match(row)), None)
    if cut is None:
        return {first + number: row for number, row in enumerate(rows[: last - first + 1])}, None
    match = _OMITTED.match(rows[cut])
    assert match is not None
    begin, end = int(match[1]), int(match[2])
    before = rows[: begin - first]
    after = rows[cut + 2 : cut + 2 + last - end]
    shown = {first + number: row for number, row in enumerate(before)}
    return shown | {end + 1 + number: row for number, row in enumerate(after)}, (begin, end)
