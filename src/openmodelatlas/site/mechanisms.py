"""Mechanisms of the catalogue: their titles, and the places where they occur."""

from __future__ import annotations

import re
from functools import lru_cache

from openmodelatlas.catalogue.load import ROOT

_IDENTIFIER = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_TITLE = re.compile(r"^title:\s*(.+?)\s*$", re.MULTILINE)


@lru_cache(maxsize=1024)
def title_of(identifier: str) -> str | None:
    """The title of a mechanism; ``None`` if the catalogue has no such entry. Nothing else of the entry is decoded."""
    if not _IDENTIFIER.fullmatch(identifier):
        return None
    try:
        text = (ROOT / "mechanisms" / f"{identifier}.md").read_text("utf-8")
    except OSError:
        return None
    found = _TITLE.search(text)
    return found[1].strip("\"'") if found is not None else None
