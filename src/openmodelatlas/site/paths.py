"""Where pages lie: the same relative addresses in a static export and on the server."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import PurePosixPath

from openmodelatlas.bundle.home import is_identifier
from openmodelatlas.errors import UsageError

ASSETS = "_assets"
MECHANISMS = "mechanisms"
CONTENTS = "contents"

_SEGMENT = re.compile(r"[a-z0-9]+(?:-+[a-z0-9]+)*")
# Names that Windows reserves for devices.
_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(1, 10))})


@lru_cache(maxsize=65536)
def page_folder(model: str, address: str) -> PurePosixPath:
    """The folder of a page relative to the root of the site; its files are ``index.html``, ``.md`` and ``.json``.

    Raises:
        UsageError: the model or a segment of the address is not made of lower-case letters, digits and hyphens.
    """
    if not is_identifier(model):
        raise UsageError(f"{model!r} cannot be the address of a model.")
    segments = address.split("/") if address else []
    for segment in segments:
        if not _SEGMENT.fullmatch(segment) or len(segment) > 200:
            raise UsageError(f"{address!r} cannot be the address of a page.")
    if segments and segments[0] in (MECHANISMS, CONTENTS):  # the folders of these names are others
        segments[0] = f"{segments[0]}_"
    parts = (f"{segment}_" if segment in _DEVICES else segment for segment in segments)
    return PurePosixPath(f"{MECHANISMS}_" if model == MECHANISMS else model, *parts)


@lru_cache(maxsize=4096)
def mechanism_folder(model: str | None, mechanism: str = "") -> PurePosixPath:
    """The folder of a mechanism's page within a model, or over all of them; of the list of mechanisms if none is named.

    Raises:
        UsageError: the mechanism is not made of lower-case letters, digits and hyphens.
    """
    if mechanism and not _SEGMENT.fullmatch(mechanism):
        raise UsageError(f"{mechanism!r} cannot be the address of a mechanism.")
    around = page_folder(model, "") if model is not None else PurePosixPath()
    return around / MECHANISMS / mechanism


def contents_folder(model: str) -> PurePosixPath:
    """The folder of the list of all pages of a model."""
    return page_folder(model, "") / CONTENTS


def address_in(path: str) -> tuple[str, str]:
    """Model and address of a page's folder, the reverse of :func:`page_folder`; empty for the root."""
    model, _, rest = path.strip("/").partition("/")
    segments = [
        segment.removesuffix("_") if segment.removesuffix("_") in _DEVICES else segment for segment in rest.split("/")
    ]
    if segments[0] in (f"{MECHANISMS}_", f"{CONTENTS}_"):
        segments[0] = segments[0].removesuffix("_")
    return MECHANISMS if model == f"{MECHANISMS}_" else model, "/".join(segments)


def relative_link(here: PurePosixPath, there: PurePosixPath) -> str:
    """The relative path from the folder ``here`` to the page in the folder ``there``, no longer than it must be."""
    common = 0
    for one, other in zip(here.parts, there.parts, strict=False):
        if one != other:
            break
        common += 1
    return "/".join([*[".."] * (len(here.parts) - common), *there.parts[common:], "index.html"])


def to_root(model: str, address: str) -> str:
    """The relative path from a page's folder to the root of the site: ``../../``."""
    return "../" * len(page_folder(model, address).parts)
