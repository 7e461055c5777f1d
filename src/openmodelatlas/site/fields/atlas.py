"""What concerns a whole atlas: its source, its checks, its configuration."""

from __future__ import annotations

from typing import Any

import msgspec


class PageProvenance(msgspec.Struct, frozen=True, kw_only=True):
    """Which source the atlas shows.

    Attributes:
        kind: ``hub``, ``transformers``, ``folder``, ``factory`` or ``reference``.
        repository, revision, requested_revision, entry, configuration: where code and configuration were read.
        passed_over: sources that were preferred but could not be used, each with the reason.
        versions: of what ran.
    """

    kind: str
    repository: str
    revision: str
    requested_revision: str | None
    entry: str
    configuration: str
    passed_over: tuple[str, ...]
    versions: dict[str, str]


class PageCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict of one machine check; ``passed`` is ``null`` if it could not be made, ``detail`` says why."""

    name: str
    passed: bool | None
    detail: str


class PageConstant(msgspec.Struct, frozen=True, kw_only=True):
    """A number that an operation takes, at the published configuration.

    Attributes:
        text: the number.
        name: the argument that it is.
        operation, address, inside: title and address of the operation, and what encloses it.
        code: the expression in the source.
        members: the layers.
    """

    text: str
    name: str
    operation: str
    address: str
    inside: str
    code: str
    members: tuple[int, ...]


class PageSize(msgspec.Struct, frozen=True, kw_only=True):
    """A size by which shapes are written.

    Attributes:
        symbol: as shapes write it, ``d``.
        name: in words, ``hidden size``.
        key: of the configuration; ``B``, ``T`` and ``P`` are sizes of a run.
        value: as published, in elements; ``null`` for sizes of a run.
        probe: in the probe whose values the pages quote; ``null`` where that has none.
    """

    symbol: str
    name: str
    key: str
    value: int | None
    probe: int | None


class PageAtlas(msgspec.Struct, frozen=True, kw_only=True):
    """What concerns the whole atlas; on the model's page only.

    Attributes:
        nodes: number of pages.
        checks: verdicts of the machine checks.
        notes: sentences about the atlas.
        constants: numbers that operations take, as used at run time.
        configuration: the published configuration with class defaults filled in.
        configuration_defaults: keys that came from the class rather than the published file.
        choices: what the shrinking did with each key, for the probes.
        probes: the probes with their sizes.
        sizes: what the letters in shapes stand for, and how large the sizes are in the probe.
    """

    nodes: int
    checks: tuple[PageCheck, ...]
    notes: tuple[str, ...]
    constants: tuple[PageConstant, ...]
    configuration: dict[str, Any]
    configuration_defaults: tuple[str, ...]
    choices: tuple[dict[str, Any], ...]
    probes: tuple[dict[str, Any], ...]
    sizes: tuple[PageSize, ...] = ()
