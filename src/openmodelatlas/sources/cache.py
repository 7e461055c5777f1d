"""The local cache of huggingface_hub, read when the hub cannot be asked.

Layout (huggingface_hub's documentation, "Understand caching"): ``models--OWNER--NAME/refs/REVISION`` holds a full
commit hash, ``models--OWNER--NAME/snapshots/HASH/`` the files, as links into ``models--OWNER--NAME/blobs/``.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from openmodelatlas.errors import UsageError

FULL_HASH = re.compile(r"[0-9a-f]{40}")
SHORT_HASH = re.compile(r"[0-9a-f]{4,39}")


def cache_folder() -> Path:
    """Folder of the hub's cache, from ``HF_HUB_CACHE``, ``HF_HOME`` or the default, as the environment says now."""
    direct = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE")
    if direct:
        return Path(direct).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(os.environ.get("HF_HOME") or f"{base}/huggingface").expanduser() / "hub"


def repository_folder(repository: str) -> Path:
    """Folder of ``repository`` (``owner/name``) in the cache; it need not exist."""
    return cache_folder() / ("models--" + repository.replace("/", "--"))


def cached_snapshot(repository: str, revision: str | None) -> tuple[str, Path] | None:
    """Full hash and folder of ``revision`` in the cache, or ``None`` if it is not there.

    Args:
        repository: ``owner/name``.
        revision: branch, tag, full or short hash; ``None`` for ``main``.

    Raises:
        UsageError: a short hash fits several cached revisions.
    """
    folder = repository_folder(repository)
    commit = _cached_commit(folder, revision or "main")
    if commit is None:
        return None
    snapshot = folder / "snapshots" / commit
    return (commit, snapshot) if snapshot.is_dir() else None


def remember_revision(repository: str, revision: str, commit: str) -> None:
    """Notes in the cache that branch or tag ``revision`` is ``commit``, so that it can be found without the hub."""
    references = (repository_folder(repository) / "refs").resolve()
    reference = (references / revision).resolve()
    if reference.is_relative_to(references) and reference != references:
        reference.parent.mkdir(parents=True, exist_ok=True)
        temporary = reference.with_name(f"{reference.name}.{os.getpid()}.tmp")
        temporary.write_text(commit, encoding="ascii")
        temporary.replace(reference)


def _cached_commit(folder: Path, revision: str) -> str | None:
    if FULL_HASH.fullmatch(revision):
        return revision
    reference = (folder / "refs" / revision).resolve()
    if reference.is_relative_to((folder / "refs").resolve()) and reference.is_file():
        commit = reference.read_text(encoding="ascii", errors="replace").strip()
        return commit if FULL_HASH.fullmatch(commit) else None
    if SHORT_HASH.fullmatch(revision):
        snapshots = folder / "snapshots"
        names = [path.name for path in snapshots.glob(f"{revision}*")] if snapshots.is_dir() else []
        if len(names) > 1:
            raise UsageError(
                f"The short hash {revision} fits {len(names)} cached revisions.", advice="Give more of it."
            )
        return names[0] if names else None
    return None
