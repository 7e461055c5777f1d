"""The files that pages load: our style sheet and sign, and what the build hook puts beside them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from openmodelatlas.drawing.style import STYLE

_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(?:/[A-Za-z0-9][\w.-]*)*")
_FOLDER = Path(__file__).parent
_SERVED = {".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".js": "text/javascript; charset=utf-8"}
_SERVED |= {".woff2": "font/woff2"}


def stylesheet() -> bytes:
    """The style sheet of all pages."""
    return asset("atlas.css") or b""


def icon() -> bytes:
    """The sign that a browser shows beside a page's title, as SVG."""
    return asset("icon.svg") or b""


def assets() -> Iterator[str]:
    """Names of all files, such as ``katex/fonts/KaTeX_Main-Regular.woff2``, sorted."""
    for path in sorted(_FOLDER.rglob("*")):
        if path.is_file() and path.suffix in _SERVED and not path.name.startswith("."):
            yield path.relative_to(_FOLDER).as_posix()


def asset(name: str) -> bytes | None:
    """The bytes of one file; ``None`` if there is none of that name. Our sheet begins with that of diagrams."""
    path = _FOLDER.joinpath(*name.split("/"))
    if not _NAME.fullmatch(name) or path.suffix not in _SERVED or not path.is_file():
        return None
    if name == "atlas.css":
        return f"{STYLE}\n".encode() + path.read_bytes()
    return path.read_bytes()


def content_type(name: str) -> str:
    """The media type of a file by the end of its name."""
    return _SERVED.get(PurePosixPath(name).suffix, "application/octet-stream")
