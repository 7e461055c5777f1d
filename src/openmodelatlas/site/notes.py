"""What is said of several inputs and outputs of a page: once, below them, with their names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from openmodelatlas.annotation.counting import listed
from openmodelatlas.site.fields import Page, PageInput, PageOutput

_MOST_NAMES = 4


@dataclass(frozen=True, slots=True)
class SharedNote:
    """A note that several inputs and outputs have.

    Attributes:
        of: whose it is: ``all of these``, or names.
        text: the note.
    """

    of: str
    text: str


def shared_notes(page: Page) -> tuple[SharedNote, ...]:
    """The notes that more than one input or output has, in order of appearance."""
    ports: tuple[PageInput | PageOutput, ...] = (*page.inputs, *page.outputs)
    names: dict[str, list[str]] = {}
    for port in ports:
        if port.note is not None:
            names.setdefault(port.note, []).append(port.name)
    return tuple(
        SharedNote("all of these" if len(found) == len(ports) else _few(found), text)
        for text, found in names.items()
        if len(found) > 1
    )


def _few(names: Sequence[str]) -> str:
    several = [f"{name} ({names.count(name)})" if names.count(name) > 1 else name for name in dict.fromkeys(names)]
    if len(several) > _MOST_NAMES:
        rest = len(several) - _MOST_NAMES + 1
        several = [*several[: _MOST_NAMES - 1], f"{rest} more"]
    return listed(several)
