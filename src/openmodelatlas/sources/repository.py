"""Turns files that lie on this machine (a fetched snapshot, a local folder) into a source."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from openmodelatlas.errors import ConfigurationError, SourceNotFoundError
from openmodelatlas.sources.code import entry_of_repository
from openmodelatlas.sources.configuration import asked_transformers_version, read_configuration
from openmodelatlas.sources.files import (
    Selection,
    check_pins,
    content_revision,
    hash_files,
    list_folder,
    path_text,
    select,
)
from openmodelatlas.sources.source import Source, SourceKind
from openmodelatlas.sources.transformers import transformers_source

CONFIGURATION_FILE = "config.json"


class Checkout(msgspec.Struct, frozen=True, kw_only=True):
    """Files of one repository at one revision, as they lie on this machine.

    Attributes:
        kind: ``hub`` or ``folder``.
        repository: name shown before file names.
        root: folder that the selected paths are relative to.
        boundary: folder that symbolic links must stay in (a hub's cache links snapshots to blobs).
        selection: the files that count.
        revision: full commit hash; ``None`` to take the hash of the files.
        requested_revision: what was asked for.
        url: web address of the repository, if it has one.
        notes: sentences on how it was come by.
    """

    kind: SourceKind
    repository: str
    root: Path
    boundary: Path
    selection: Selection
    revision: str | None = None
    requested_revision: str | None = None
    url: str | None = None
    notes: tuple[str, ...] = ()


def folder_source(folder: Path, *, configuration: Path | None, trust: bool) -> Source:
    """Source of a local folder with ``config.json`` and code.

    Args:
        folder: existing folder.
        configuration: JSON file to use instead of the folder's ``config.json``.
        trust: whether the user said that the code may run.

    Raises:
        SourceNotFoundError: no such folder, no ``config.json``, or no code and a model type transformers lacks.
        SourceError: a file is refused or cannot be read.
        ConfigurationError: the configuration is not usable.
    """
    try:
        root = folder.expanduser().resolve()
        exists = root.exists()
    except (OSError, RuntimeError) as error:  # too long, a loop of links, or ~user of nobody
        reason = error.strerror if isinstance(error, OSError) else error
        raise SourceNotFoundError(f"This cannot be a folder: {reason}.", where=str(folder)[:200]) from error
    if not exists:
        raise SourceNotFoundError("There is no such folder.", where=str(folder))
    if not root.is_dir():
        raise SourceNotFoundError(
            "This is a file, not a folder.",
            where=str(folder),
            advice="Give a configuration with --config and a source such as transformers:MODEL_TYPE.",
        )
    checkout = Checkout(
        kind="folder", repository=path_text(root.name), root=root, boundary=root, selection=select(list_folder(root))
    )
    return checkout_source(checkout, configuration=configuration, trust=trust)


def checkout_source(
    checkout: Checkout, *, configuration: Path | None, trust: bool, pins: Mapping[str, str] | None = None
) -> Source:
    """Source of ``checkout``: its own code, or transformers' code for its configuration if it ships none.

    In the second case the source is a ``transformers`` one whose ``configuration_origin`` names the checkout's file
    and revision, so that a page never passes off one source's code as another's.

    Args:
        checkout: the files.
        configuration: JSON file to use instead of the checkout's ``config.json``.
        trust: whether the user said that the code may run.
        pins: SHA-256 by path that the registry holds for this revision; empty or ``None``: none.

    Raises:
        HashMismatchError: a file differs from its pin.
        SourceNotFoundError, ConfigurationError, SourceError: as :func:`folder_source`.
    """
    files = hash_files(checkout.root, checkout.selection.paths, checkout.boundary)
    if pins:
        check_pins(files, pins, checkout.repository)
    revision = checkout.revision or content_revision(files)
    values, origin = _configuration(checkout, revision, configuration)
    notes = checkout.notes + checkout.selection.skipped
    entry = entry_of_repository(values, checkout.root, checkout.selection.paths, checkout.repository)
    if entry is None:
        return _source_without_code(checkout, values, origin, notes)
    return Source(
        kind=checkout.kind,
        repository=checkout.repository,
        revision=revision,
        requested_revision=checkout.requested_revision,
        root=checkout.root,
        files=files,
        entry=entry,
        configuration=values,
        configuration_origin=origin,
        transformers_version=asked_transformers_version(values),
        trusted=trust or bool(pins),
        url=checkout.url,
        notes=notes,
    )


def _configuration(checkout: Checkout, revision: str, given: Path | None) -> tuple[dict[str, Any], str]:
    if given is not None:
        return read_configuration(given), path_text(given)
    if CONFIGURATION_FILE not in checkout.selection.paths:
        left_out = [
            sentence for sentence in checkout.selection.skipped if sentence.startswith(f"'{CONFIGURATION_FILE}'")
        ]
        raise SourceNotFoundError(
            left_out[0] if left_out else f"There is no {CONFIGURATION_FILE}.",
            where=checkout.repository,
            advice="Give a configuration with --config FILE, or a repository that has one.",
        )
    origin = f"{checkout.repository}/{CONFIGURATION_FILE}"
    return read_configuration(checkout.root / CONFIGURATION_FILE, origin), f"{origin}@{revision}"


def _source_without_code(checkout: Checkout, values: dict[str, Any], origin: str, notes: tuple[str, ...]) -> Source:
    model_type = values.get("model_type")
    if not isinstance(model_type, str) or not model_type:
        raise ConfigurationError(
            "The repository holds no model code, and its configuration names no model_type.",
            where=f"{checkout.repository}/{CONFIGURATION_FILE}, model_type",
        )
    try:
        source = transformers_source(model_type, values, origin)
    except SourceNotFoundError as error:
        raise SourceNotFoundError(
            f"The repository holds no model code, and for its model type {model_type!r}: {error.what}",
            where=checkout.repository,
            advice="Give a revision with code, or transformers:MODEL_TYPE with --config.",
        ) from error
    note = f"{checkout.repository} holds no model code; the code is that of the installed transformers."
    return msgspec.structs.replace(source, notes=(note, *notes))
