"""Asks a hub for a repository's description and files, through ``huggingface_hub``.

What no hub answers is refused: files in the cache are called after headers of the answers, which must not lead out of
it, and a file must have the size that the description gives.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from openmodelatlas.errors import HubUnreachableError
from openmodelatlas.sources.cache import FULL_HASH, cache_folder

_TAG = re.compile(r'(?:W/)?"?[A-Za-z0-9_-]{1,128}"?')
_NO_ANSWER = "answered with something that is no hub's answer"


class _File(msgspec.Struct, frozen=True):
    rfilename: str
    size: int | None = None


class _Description(msgspec.Struct, frozen=True):
    """What is read of the hub's description of a revision."""

    sha: str
    siblings: tuple[_File, ...] = ()


def no_answer(endpoint: str, reason: object, where: str) -> HubUnreachableError:
    """That the hub at ``endpoint`` answered with something that no hub answers."""
    return HubUnreachableError(f"{endpoint} {_NO_ANSWER}: {reason}.", where=where)


def describe(endpoint: str, repository: str, revision: str | None, seconds: float) -> tuple[str, dict[str, int | None]]:
    """Full hash of a revision, and its files with their sizes in bytes.

    Raises:
        HubUnreachableError: the answer has no such things.
        Exception: what ``huggingface_hub`` and its transport raise for an answer or a connection.
    """
    from huggingface_hub import HfApi

    api = HfApi(endpoint=endpoint, library_name="openmodelatlas")
    info = api.model_info(repository, revision=revision, files_metadata=True, timeout=seconds)
    said = {
        "sha": info.sha,
        "siblings": [{"rfilename": file.rfilename, "size": file.size} for file in info.siblings or ()],
    }
    try:
        description = msgspec.convert(said, _Description)
    except msgspec.ValidationError as error:
        raise no_answer(endpoint, error, repository) from error
    if not FULL_HASH.fullmatch(description.sha):
        raise no_answer(endpoint, f"{description.sha!r} is no commit", repository)
    return description.sha, {file.rfilename: file.size for file in description.siblings}


def fetch(endpoint: str, repository: str, commit: str, sizes: Mapping[str, int | None], seconds: float) -> Path:
    """Fetches files of a commit into the cache of ``huggingface_hub``; those that are there are not asked for.

    Args:
        endpoint: address of the hub.
        repository: ``owner/name``.
        commit: full hash.
        sizes: bytes of each file, by its path; ``None`` if not known.
        seconds: how long the hub has for its first answer to each request.

    Returns:
        The folder of the snapshot.

    Raises:
        HubUnreachableError: a header leads out of the cache, or a file has another size than was said.
        Exception: what ``huggingface_hub`` and its transport raise for an answer or a connection.
    """
    from huggingface_hub import snapshot_download

    _guard_cache(endpoint)
    with _no_progress_bars():
        folder = Path(
            snapshot_download(
                repository,
                revision=commit,
                endpoint=endpoint,
                cache_dir=cache_folder(),
                allow_patterns=list(sizes),
                etag_timeout=seconds,
                library_name="openmodelatlas",
            )
        )
    for path, size in sizes.items():
        found = (folder / path).stat().st_size
        if size is not None and found != size:
            (folder / path).resolve().unlink()
            (folder / path).unlink(missing_ok=True)
            what = f"instead of the file, which has {size:,} bytes, {found:,} bytes came"
            raise no_answer(endpoint, what, f"{repository}@{commit[:12]}/{path}")
    return folder


def _guard_cache(endpoint: str) -> None:
    """Looks at the headers after which ``huggingface_hub`` calls its files, before it does.

    It joins the entity tag to the path of its cache as it is (``file_download.py``, 2.4.0).
    """
    from huggingface_hub.utils import get_session

    def look(response: Any) -> None:
        for header in ("ETag", "X-Linked-Etag"):
            tag = response.headers.get(header)
            if response.request.method == "HEAD" and tag is not None and not _TAG.fullmatch(tag):
                raise no_answer(endpoint, f"the header {header} is {tag[:100]!r}", str(response.request.url))

    session = get_session()
    session.event_hooks = {**session.event_hooks, "response": [look]}


@contextlib.contextmanager
def _no_progress_bars() -> Any:
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    shown = not are_progress_bars_disabled()
    disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            enable_progress_bars()
