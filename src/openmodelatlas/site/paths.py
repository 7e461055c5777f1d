"""Where pages lie: the same relative addresses in a static export and on the server."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import PurePosixPath

from openmodelatlas.errors import UsageError

ASSETS = "_assets"

_SEGMENT = re.compile(r"[a-z0-9]+(?:-+[a-z0-9]+)*")
_MODEL = re.compile(r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*")
# Names that Windows reserves for devices.
_DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{name}{n}" for name in ("com", "lpt") for n in range(1, 10))})


@lru_cache(maxsize=65536)
def page_folder(model: str, address: str) -> PurePosixPath:
    """The folder of a page relative to the root of the site; its files are ``index.html``, ``.md`` and ``.json``.

    Raises:
        UsageError: the model or a segment of the address is not made of lower-case letters, digits and hyphens.
    """
    if not _MODEL.fullmatch(model):
        raise UsageError(f"{model!r} cannot be the address of a model.")
    segments = address.split("/") if address else []
    for segment in segments:
        if not _SEGMENT.fullmatch(segment) or len(segment) > 200:
            raise UsageError(f"{address!r} cannot be the address of a page.")
    return PurePosixPath(model, *(f"{segment}_" if segment in _DEVICES else segment for segment in segments))


def address_in(path: str) -> tuple[str, str]:
    """Model and address of a page's folder, the reverse of :func:`page_folder`; empty for the root."""
    model, _, rest = path.strip("/").partition("/")
    segments = [
        segment.removesuffix("_") if segment.removesuffix("_") in _DEVICES else segment for segment in rest.split("/")
    ]
    return model, "/".join(segments)


def to_root(model: str, address: str) -> str:
    """The relative path from a page's folder to the root of the site: ``../../``."""
    return "../" * len(page_folder(model, address).parts)
