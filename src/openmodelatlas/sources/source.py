"""What a pinned source is: the hand-over from ``sources`` to everything below it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import msgspec

SourceKind = Literal["hub", "transformers", "folder", "factory", "reference"]


class SourceFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a source.

    Attributes:
        path: POSIX path within the source (``modeling_deepseek.py``; for an installed package
            ``transformers/models/deepseek_v3/modeling_deepseek_v3.py``). Relative, without ``..``.
        sha256: hexadecimal SHA-256 of the file's bytes.
    """

    path: str
    sha256: str


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """Code and configuration of one model, pinned to exact bytes.

    Attributes:
        kind: where it comes from.
        repository: ``moonshotai/Kimi-K2-Instruct``, ``transformers``, a folder's name, ``package.module:factory``,
            or ``reference:kimi-k3``; what a page shows before the file name.
        revision: full commit hash of a hub source, ``5.24.0`` for an installed package, SHA-256 over the files of a
            folder or factory, our own version for a reference.
        requested_revision: what the user or registry asked for (branch, tag, short hash); ``None`` if nothing.
        root: folder on this machine that ``files`` are relative to; never written into a bundle.
        files: the code and configuration files known when the source was resolved (a hub or folder source lists all
            ``*.py`` and ``*.json``; an installed package lists the files of the model's folder; files that turn out
            to be executed are added by capture).
        entry: what capture instantiates. Hub, folder: ``modeling_deepseek.DeepseekV3ForCausalLM`` from ``auto_map`` or
            ``architectures``; transformers: ``deepseek_v3``, the model type; factory, reference: ``module:callable``.
        configuration: the true published configuration, as in the file; empty for a factory without one.
        configuration_origin: where it was read from: ``moonshotai/Kimi-K2-Instruct/config.json@fd1984e2b7a3…``.
        transformers_version: version the configuration asks for, ``None`` if it names none, and for a ``transformers``
            source, whose code is that of the installed package (``revision``).
        trusted: whether this code may run (built in, hashes match the registry, or the user said so).
        url: web address of the repository; ``None`` where there is none.
        notes: sentences on what was left out or assumed while resolving (files skipped with the reason, a listing
            from the local cache), for the page and the progress output.
    """

    kind: SourceKind
    repository: str
    revision: str
    requested_revision: str | None = None
    root: Path
    files: tuple[SourceFile, ...]
    entry: str
    configuration: dict[str, Any]
    configuration_origin: str
    transformers_version: str | None = None
    trusted: bool = False
    url: str | None = None
    notes: tuple[str, ...] = ()
