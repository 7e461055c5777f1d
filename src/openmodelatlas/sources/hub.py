"""Hugging Face repositories: a revision resolved to its full hash, and its code and configuration fetched.

Only ``*.py`` and ``*.json`` are fetched, into the cache of ``huggingface_hub``; ``HF_ENDPOINT``, ``HF_TOKEN``,
``HF_HOME``, ``HF_HUB_CACHE`` and ``HF_HUB_OFFLINE`` are respected, as the environment says at the time of the call.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from openmodelatlas.errors import (
    AtlasError,
    HubUnreachableError,
    SourceError,
    SourceGatedError,
    SourceNotFoundError,
    UsageError,
)
from openmodelatlas.sources.cache import (
    FULL_HASH,
    SHORT_HASH,
    cached_snapshot,
    remember_revision,
    repository_folder,
)
from openmodelatlas.sources.deadline import DeadlineExceededError, within
from openmodelatlas.sources.download import describe, fetch, no_answer
from openmodelatlas.sources.files import Selection, list_folder, select
from openmodelatlas.sources.repository import Checkout, checkout_source
from openmodelatlas.sources.source import Source

ANSWER_SECONDS = 2.5
"""How long the hub has for its first answer. With the import of the client, an absent hub is noticed within 3 s."""

DOWNLOAD_SECONDS = 300.0
"""How long all files of one repository may take once the hub has answered."""

DEFAULT_ENDPOINT = "https://huggingface.co"

_ASKED_FOR = "openai-community/gpt2"
"""A repository to ask a hub for, to see whether it answers."""

_TRUE = {"1", "ON", "YES", "TRUE"}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*")
_TRANSPORT_PACKAGES = frozenset({"httpx", "httpx2", "httpcore", "httpcore2", "requests", "urllib3"})

Result = TypeVar("Result")


def hub_source(
    repository: str,
    revision: str | None = None,
    *,
    configuration: Path | None = None,
    trust: bool = False,
    pins: Mapping[str, str] | None = None,
) -> Source:
    """Source of a repository on the hub at a revision.

    The hub is asked first. If it does not answer, or offline mode is on, the local cache is used if it holds the
    revision with everything the code needs; ``notes`` say so.

    Args:
        repository: ``owner/name``.
        revision: branch, tag, full or short commit hash (4 digits or more); ``None`` for the default branch.
        configuration: JSON file to use instead of the repository's ``config.json``.
        trust: whether the user said that the code may run.
        pins: SHA-256 by path that the registry holds for this revision.

    Raises:
        UsageError: the name cannot be a repository's, or a short hash is ambiguous.
        HubUnreachableError: no answer of a hub within ``ANSWER_SECONDS``, or offline mode, and the cache does not hold
            it.
        SourceGatedError: access to the repository is not granted.
        SourceNotFoundError: no such repository or revision, no ``config.json``, or an imported file is absent.
        HashMismatchError: a file differs from its pin.
        SourceError: a file is refused, or cannot be read.
        ConfigurationError: the configuration is not usable.
    """
    if not _NAME.fullmatch(repository) or ".." in repository or "--" in repository:
        raise UsageError(f"{repository!r} is not the name of a repository.", advice="Names look like OWNER/NAME.")
    if is_offline():
        checkout = _cached_checkout(repository, revision, "Offline mode is on (HF_HUB_OFFLINE)", None)
    else:
        try:
            checkout = _fetched_checkout(repository, revision)
        except HubUnreachableError as error:
            checkout = _cached_checkout(repository, revision, error.what.rstrip("."), error)
    return checkout_source(checkout, configuration=configuration, trust=trust, pins=pins)


def is_offline() -> bool:
    """Whether the environment forbids asking the hub (``HF_HUB_OFFLINE`` or ``TRANSFORMERS_OFFLINE``)."""
    return (os.environ.get("HF_HUB_OFFLINE") or os.environ.get("TRANSFORMERS_OFFLINE") or "").upper() in _TRUE


def endpoint() -> str:
    """Address of the hub, from ``HF_ENDPOINT`` or the default, without a slash at the end."""
    return (os.environ.get("HF_ENDPOINT") or DEFAULT_ENDPOINT).rstrip("/")


def hub_fault(seconds: float = ANSWER_SECONDS) -> str | None:
    """Why the hub cannot be used: it did not answer as a hub does within ``seconds``; ``None`` if it did."""
    if is_offline():
        return "Offline mode is on (HF_HUB_OFFLINE)."
    try:
        _asked(_ASKED_FOR, None, seconds, lambda: describe(endpoint(), _ASKED_FOR, None, seconds))
    except SourceError as error:
        # That it has no such repository, or lets nobody read it, is an answer; a proxy gives no code for that.
        response = getattr(error.__cause__, "response", None)
        return error.what if response is None or not response.headers.get("X-Error-Code") else None
    return None


def _fetched_checkout(repository: str, revision: str | None) -> Checkout:
    commit, sizes = _asked(repository, revision, ANSWER_SECONDS, lambda: _described_at(repository, revision))
    selection = select(sizes.items())
    if not selection.paths:
        raise SourceNotFoundError(
            "The repository holds neither code nor a configuration.", where=f"{repository}@{commit[:12]}"
        )
    wanted = {path: sizes[path] for path in selection.paths}
    root = _asked(
        repository, commit, DOWNLOAD_SECONDS, lambda: fetch(endpoint(), repository, commit, wanted, ANSWER_SECONDS)
    )
    if revision is None or not (FULL_HASH.fullmatch(revision) or commit.startswith(revision)):
        remember_revision(repository, revision or "main", commit)
    return _checkout(repository, revision, root, selection)


def _described_at(repository: str, revision: str | None) -> tuple[str, dict[str, int | None]]:
    """The same; a short hash, which the hub does not resolve, is completed first."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RevisionNotFoundError

    try:
        return describe(endpoint(), repository, revision, ANSWER_SECONDS)
    except RevisionNotFoundError:
        if revision is None or not SHORT_HASH.fullmatch(revision):
            raise
        api = HfApi(endpoint=endpoint(), library_name="openmodelatlas")
        commits = {commit.commit_id for commit in api.list_repo_commits(repository)}
        references = api.list_repo_refs(repository)
        commits |= {reference.target_commit for reference in (*references.branches, *references.tags)}
        fitting = sorted(commit for commit in commits if commit.startswith(revision))
        if len(fitting) > 1:
            raise UsageError(
                f"The short hash {revision} fits {len(fitting)} commits of {repository}.", advice="Give more digits."
            ) from None
        if not fitting:
            raise
        return describe(endpoint(), repository, fitting[0], ANSWER_SECONDS)


def _asked(repository: str, revision: str | None, seconds: float, call: Callable[[], Result]) -> Result:
    """Runs ``call`` against the hub and turns its errors into ours."""
    from huggingface_hub import errors

    where = f"{repository}@{revision}" if revision else repository
    try:
        return within(seconds, call)
    except DeadlineExceededError as error:
        raise HubUnreachableError(f"{endpoint()} did not answer within {seconds:g} s.", where=where) from error
    except errors.GatedRepoError as error:
        raise SourceGatedError(
            "The repository is gated, and access is not granted to you.",
            where=where,
            advice=f"Ask for access at {endpoint()}/{repository} and set HF_TOKEN.",
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise SourceNotFoundError(
            f"{endpoint()} has no such repository, or it is private.",
            where=where,
            advice="Check the spelling; for a private one set HF_TOKEN.",
        ) from error
    except errors.RevisionNotFoundError as error:
        which = f"revision {revision!r}" if revision is not None else "default branch"
        raise SourceNotFoundError(f"The repository has no {which}.", where=where) from error
    except errors.EntryNotFoundError as error:
        if isinstance(error.__cause__, errors.HfHubHTTPError):  # a file could not be fetched for an answer to it
            raise _http_error(error.__cause__, where) from error
        raise HubUnreachableError(f"A file could not be fetched: {_first_line(error)}.", where=where) from error
    except errors.HfHubHTTPError as error:
        raise _http_error(error, where) from error
    except errors.OfflineModeIsEnabled as error:
        raise HubUnreachableError("Offline mode is on (HF_HUB_OFFLINE).", where=where) from error
    except AtlasError:
        raise
    except Exception as error:
        package = type(error).__module__.partition(".")[0]
        if isinstance(error, ValueError) or (package not in _TRANSPORT_PACKAGES and not isinstance(error, OSError)):
            raise no_answer(endpoint(), f"{type(error).__name__}: {_first_line(error)}", where) from error
        if "Timeout" in type(error).__name__:  # the client's own deadline came a moment before ours
            raise HubUnreachableError(f"{endpoint()} did not answer within {seconds:g} s.", where=where) from error
        raise HubUnreachableError(
            f"{endpoint()} cannot be reached: {type(error).__name__}: {_first_line(error)}.", where=where
        ) from error


def _http_error(error: Any, where: str) -> SourceError:
    status = error.response.status_code if error.response is not None else 0
    if status in {401, 403}:
        return SourceGatedError(
            f"The hub refuses access (HTTP {status}).", where=where, advice="Set HF_TOKEN to a token that may read it."
        )
    return HubUnreachableError(f"{endpoint()} answered with HTTP {status}.", where=where)


def _cached_checkout(repository: str, revision: str | None, reason: str, cause: HubUnreachableError | None) -> Checkout:
    cached = cached_snapshot(repository, revision)
    if cached is None:
        where = f"{repository}@{revision}" if revision else repository
        raise HubUnreachableError(
            f"{reason}, and the revision is not in the local cache.",
            where=where,
            advice="Check the network, HF_ENDPOINT and HF_HUB_OFFLINE, or build from a folder that holds the code.",
        ) from cause
    commit, root = cached
    selection = select(list_folder(root))
    note = f"{reason}; files are those of {commit[:12]} in the local cache."
    return _checkout(repository, revision, root, selection, (note,))


def _checkout(
    repository: str, requested: str | None, root: Path, selection: Selection, notes: tuple[str, ...] = ()
) -> Checkout:
    """Checkout of a snapshot folder, whose name is the full commit hash."""
    return Checkout(
        kind="hub",
        repository=repository,
        root=root,
        boundary=repository_folder(repository),
        selection=selection,
        revision=root.name,
        requested_revision=requested,
        url=f"{endpoint()}/{repository}",
        notes=notes,
    )


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
