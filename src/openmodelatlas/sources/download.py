"""Fetches files of a repository on the hub into the cache of ``huggingface_hub``.

Its own downloader names files after the ``ETag`` that the server sends, whatever that is, and so lets a server write
outside the folder of the repository. Here a file is kept in the snapshot, as ``huggingface_hub`` does where there
are no symbolic links (its page "Understand caching", "Limitations"), under its path alone, which
:func:`openmodelatlas.sources.files.is_safe_path` has checked.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import quote

from openmodelatlas import __version__
from openmodelatlas.errors import HubUnreachableError
from openmodelatlas.sources.cache import repository_folder
from openmodelatlas.sources.files import MAXIMUM_FILE_BYTES

READ_SECONDS = 10.0
"""How long the hub may say nothing while a file is fetched."""

MAXIMUM_DESCRIPTION_BYTES = 32 * 2**20
"""Of a repository with a hundred thousand files."""

PAUSES = (0.5, 1.0)
"""Seconds before a file is asked for again, after a broken connection or an answer that another try may better."""

_TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})
_AT_ONCE = 8
_CHUNK = 2**16


def fetch_files(endpoint: str, repository: str, commit: str, sizes: Mapping[str, int | None]) -> Path:
    """Fetches the files that the cache lacks.

    Args:
        endpoint: address of the hub.
        repository: ``owner/name``.
        commit: full hash.
        sizes: bytes of each file, by its safe POSIX path; ``None`` if not known.

    Returns:
        The folder of the snapshot, named after ``commit``.

    Raises:
        HubUnreachableError: a file has another size than was said, or cannot be kept in the cache.
        Exception: what ``huggingface_hub`` and its transport raise for an answer or a connection.
    """
    folder = repository_folder(repository) / "snapshots" / commit
    wanted = [path for path in sizes if not (folder / path).exists()]

    def fetch(path: str) -> None:
        from huggingface_hub import hf_hub_url

        url = hf_hub_url(repository, path, revision=commit, endpoint=endpoint)
        data = _bytes_at(url, MAXIMUM_FILE_BYTES)
        if len(data) != (sizes[path] if sizes[path] is not None else len(data)) or len(data) > MAXIMUM_FILE_BYTES:
            raise HubUnreachableError(
                f"{endpoint} answered with something that is not the file, which has {sizes[path]} bytes.",
                where=f"{repository}@{commit[:12]}/{path}",
            )
        try:
            _keep(folder / path, data)
        except OSError as error:
            raise HubUnreachableError(
                f"The file cannot be kept in the cache: {error.strerror or error}.", where=str(folder / path)
            ) from error

    pool = ThreadPoolExecutor(max_workers=_AT_ONCE)
    try:
        for _ in pool.map(fetch, wanted):
            pass
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
    return folder


def read_description(endpoint: str, repository: str, revision: str | None, seconds: float) -> Any:
    """What the hub says of a revision, decoded from JSON, sizes of files included.

    ``huggingface_hub`` reads such an answer whole, however long it is, which a server may use to fill the memory.

    Args:
        endpoint: address of the hub.
        repository: ``owner/name``.
        revision: branch, tag or hash; ``None`` for the default branch.
        seconds: how long the hub may say nothing.

    Raises:
        ValueError: the answer is no JSON, or longer than ``MAXIMUM_DESCRIPTION_BYTES``.
        Exception: what ``huggingface_hub`` and its transport raise for an answer or a connection.
    """
    place = f"{repository}/revision/{quote(revision, safe='')}" if revision is not None else repository
    data = _read(f"{endpoint}/api/models/{place}?blobs=true", MAXIMUM_DESCRIPTION_BYTES, seconds)
    if len(data) > MAXIMUM_DESCRIPTION_BYTES:
        raise ValueError(f"it has more than {MAXIMUM_DESCRIPTION_BYTES:,} bytes")
    return json.loads(data)


def _keep(file: Path, data: bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    temporary.write_bytes(data)
    temporary.replace(file)


def _bytes_at(url: str, most: int) -> bytes:
    """What is at ``url``; of what is longer than ``most`` bytes somewhat more than that."""
    from huggingface_hub.errors import HfHubHTTPError

    for pause in (*PAUSES, None):
        try:
            return _read(url, most, READ_SECONDS)
        except HfHubHTTPError as error:
            if pause is None or error.response is None or error.response.status_code not in _TRANSIENT:
                raise
        except Exception as error:
            if pause is None or "Timeout" in type(error).__name__:
                raise
        time.sleep(pause)
    raise AssertionError  # the last try has no pause


def _read(url: str, most: int, seconds: float) -> bytes:
    from huggingface_hub.utils import hf_raise_for_status

    data = bytearray()
    with _streamed(url, seconds) as (response, chunks):
        hf_raise_for_status(response)
        for chunk in chunks:
            data += chunk
            if len(data) > most:
                break
    return bytes(data)


@contextlib.contextmanager
def _streamed(url: str, seconds: float) -> Iterator[tuple[Any, Iterator[bytes]]]:
    """The answer to a request, and its content in pieces: of httpx, or of requests before huggingface_hub 1."""
    from huggingface_hub import constants, get_token
    from huggingface_hub.utils import get_session

    # Not build_hf_headers: it asks the hub for something else first, and fails where the answer is none.
    headers = {"User-Agent": f"openmodelatlas/{__version__}"}
    token = None if constants.HF_HUB_DISABLE_IMPLICIT_TOKEN else get_token()
    if token:
        headers["Authorization"] = f"Bearer {token}"
    session: Any = get_session()
    options = {"headers": headers, "timeout": seconds}
    if hasattr(session, "stream") and callable(session.stream):
        with session.stream("GET", url, **options) as response:
            yield response, response.iter_bytes(_CHUNK)
    else:
        with session.get(url, stream=True, **options) as response:
            yield response, response.iter_content(_CHUNK)
