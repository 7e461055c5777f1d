"""Small things that every rendering of a page says alike."""

from __future__ import annotations

import re

from openmodelatlas.site.fields import LineRange


def lines_text(lines: LineRange) -> str:
    """``line 5`` or ``lines 5–9``."""
    return f"line {lines[0]}" if lines[0] == lines[1] else f"lines {lines[0]}–{lines[1]}"


def short_revision(revision: str) -> str:
    """Hashes are shown as twelve characters, versions whole."""
    return revision[:12] if re.fullmatch(r"[0-9a-f]{40,64}", revision) else revision


def safe_url(url: str | None) -> str | None:
    """A web address as it stands; anything else is no link."""
    return url if url is not None and re.match(r"https?://", url, re.IGNORECASE) else None
