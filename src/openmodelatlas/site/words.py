"""Small things that every rendering of a page says alike."""

from __future__ import annotations

import re
from collections.abc import Sequence

from openmodelatlas.annotation.counting import few_numbers
from openmodelatlas.graph.document import Node
from openmodelatlas.site.fields import LineRange, Page

_MOST_TITLE = 64
_CONDITION = re.compile(r"(?P<name>.+?), (?P<way>where|unless) (?P<test>.+)", re.DOTALL)
_STRING = re.compile(r"""("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')""")
_COMMENT = re.compile(r"(^|\s)#[^\n]*")


def lines_text(lines: LineRange) -> str:
    """``line 5`` or ``lines 5–9``."""
    return f"line {lines[0]}" if lines[0] == lines[1] else f"lines {lines[0]}–{lines[1]}"


def numbers_text(lines: LineRange) -> str:
    """``5`` or ``5–9``."""
    return str(lines[0]) if lines[0] == lines[1] else f"{lines[0]}–{lines[1]}"


def short_revision(revision: str) -> str:
    """Hashes are shown as twelve characters, versions whole."""
    return revision[:12] if re.fullmatch(r"[0-9a-f]{40,64}", revision) else revision


def safe_url(url: str | None) -> str | None:
    """A web address as it stands; anything else is no link."""
    return url if url is not None and re.match(r"https?://", url, re.IGNORECASE) else None


def one_line(text: str, most: int | None = None) -> str:
    """Code over several lines on one, as one would write it there; cut to ``most`` characters.

    What stands in quotes is left alone.
    """
    parts = _STRING.split(text)
    for index in range(0, len(parts), 2):
        part = re.sub(r"\s+", " ", _COMMENT.sub(" ", parts[index]))
        part = re.sub(r"([(\[{]) ", r"\1", part)
        # A comma before a bracket on the next line is layout; one right before it makes a tuple.
        parts[index] = re.sub(r",? ([)\]}])", r"\1", part)
    joined = "".join(parts).strip()
    return joined if most is None or len(joined) <= most else f"{joined[: most - 1]}…"


def split_condition(label: str) -> tuple[str, str, bool | None]:
    """The label of a layer group without the condition that tells it from others, the condition, and its outcome.

    ``61 layers, unless self.starts_group`` gives ``61 layers``, ``self.starts_group`` and ``False``; what has no
    condition gives itself, an empty text and ``None``.
    """
    found = _CONDITION.fullmatch(label)
    if found is None:
        return label, "", None
    return found["name"], found["test"], found["way"] == "where"


def heading(node: Node) -> str:
    """The title of a node's page: without the condition of a layer group, long ones cut."""
    title = split_condition(node.title)[0] if node.kind == "layer group" else node.title
    return one_line(title, _MOST_TITLE)


def crumb_label(node: Node) -> str:
    """What a breadcrumb and a link from elsewhere say."""
    label = node.label or node.title
    return one_line(split_condition(label)[0] if node.kind == "layer group" else label, _MOST_TITLE)


def name_within(node: Node) -> str:
    """What a list of neighbours says: operations and tensors by their title, which tells them apart."""
    return heading(node) if node.kind in ("operation", "tensor", "kernel") else crumb_label(node)


def varied_text(values: Sequence[str], members: Sequence[int]) -> str:
    """What an attribute or argument is in each of ``members``; whole numbers in short, as numbers of layers are."""
    if not all(re.fullmatch(r"-?\d{1,9}", value) for value in values):
        return ", ".join(values)
    numbers = [int(value) for value in values]
    from_zero = bool(numbers) and sorted(numbers) == [member - 1 for member in sorted(members)]
    return few_numbers(numbers) + (" (layers counted from 0)" if from_zero else "")


def layers_heading(page: Page) -> str:
    """What the list of layers of the other kinds is called; on a page that is in no layer, they are of all kinds."""
    return "In other layers" if any(item.here for item in page.same_place) else "Kinds of layers"


def bare_name(name: str) -> str:
    """A parameter's name as the model has it, without the module that tells equal ones of other layers apart."""
    return name.partition(" @ ")[0]


def duration_text(seconds: float) -> str:
    """A duration in two units at most: ``7.2 s``, ``1 min 5 s``, ``2 h 3 min``."""
    if seconds < 59.95:
        return f"{max(seconds, 0):.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"
