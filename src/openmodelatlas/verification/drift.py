"""What is no longer as the atlas says."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import msgspec

from openmodelatlas.errors import AtlasError


class Drift(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is no longer as the atlas says.

    Attributes:
        kind: ``file``, ``claim``, ``shape``, ``value``, ``formula``, ``knowledge``, ``drawing`` or ``graph``.
        where: address, file or parameter.
        text: what differs.
    """

    kind: str
    where: str
    text: str


@contextlib.contextmanager
def told(found: list[Drift], kind: str, where: str) -> Iterator[None]:
    """What is raised inside becomes a drift, unless the same has been found elsewhere."""
    try:
        yield
    except AtlasError as error:
        drift = Drift(kind=kind, where=where, text=str(error))
        if all(known.text != drift.text for known in found):  # a damaged file is met by all that reads it
            found.append(drift)
