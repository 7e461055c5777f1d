"""Which files of a repository or folder are a model's code and configuration, and what they hash to."""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

import msgspec

from openmodelatlas.errors import HashMismatchError, SourceError
from openmodelatlas.sources.source import SourceFile

SUFFIXES = (".py", ".json")
"""The only kinds of file that are ever fetched or listed."""

MAXIMUM_FILE_BYTES = 4 * 2**20
MAXIMUM_FILES = 1_000

SKIPPED_JSON: Mapping[str, str] = {
    "tokenizer.json": "a tokenizer's tables, no code or configuration of the network",
    "vocab.json": "a tokenizer's vocabulary",
    "added_tokens.json": "a tokenizer's vocabulary",
    "special_tokens_map.json": "a tokenizer's vocabulary",
    "tokenizer_config.json": "settings of the tokenizer",
    "chat_template.json": "the chat template",
    "trainer_state.json": "a log of the training",
}
"""JSON files that are left out by name, with the reason."""

SKIPPED_SUFFIXES: Mapping[str, str] = {
    ".safetensors.index.json": "an index of weight files",
    ".bin.index.json": "an index of weight files",
    ".msgpack.index.json": "an index of weight files",
    ".h5.index.json": "an index of weight files",
}
"""Endings of JSON files that are left out, with the reason."""

_SAFE_PART = re.compile(r"[A-Za-z0-9_+=@][A-Za-z0-9_.+=@ -]*")
_SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "venv"})


class Selection(msgspec.Struct, frozen=True):
    """Which files of a listing are taken.

    Attributes:
        paths: POSIX paths of the files that are code or configuration, sorted.
        skipped: one sentence for every ``*.py`` or ``*.json`` that was left out, with the reason, sorted by path.
    """

    paths: tuple[str, ...]
    skipped: tuple[str, ...]


def is_safe_path(path: str) -> bool:
    """Whether ``path`` is a plain relative POSIX path that cannot lead out of its folder or hide what it is.

    Names come from a hub and are not trusted: no absolute path, no ``..``, no backslash or drive, no control, glob or
    non-ASCII character, no part that starts with a dot or a dash, at most 255 characters.
    """
    parts = path.split("/")
    return len(path) <= 255 and all(_SAFE_PART.fullmatch(part) and not part.endswith((" ", ".")) for part in parts)


def select(listing: Iterable[tuple[str, int | None]]) -> Selection:
    """Chooses the code and configuration files of ``listing``, pairs of POSIX path and size in bytes (or unknown).

    Raises:
        SourceError: a ``*.py`` has an unsafe name or is too large (code must not be left out in silence), or there are
            more than ``MAXIMUM_FILES``.
    """
    taken, skipped = [], []
    for path, size in sorted(listing):
        if not path.endswith(SUFFIXES):
            continue
        reason = _reason_to_skip(path, size)
        if reason is None:
            taken.append(path)
        elif path.endswith(".py"):
            raise SourceError(f"The repository holds code that is refused: {reason}.", where=repr(path)[1:-1])
        else:
            skipped.append(f"{path!r} is left out: {reason}.")
    if len(taken) > MAXIMUM_FILES:
        raise SourceError(f"There are {len(taken)} code and configuration files; at most {MAXIMUM_FILES} are read.")
    return Selection(tuple(taken), tuple(skipped))


def path_text(path: Path | str) -> str:
    """``path`` as text that can be written as UTF-8: bytes of a name that are no text become escapes."""
    return str(path).encode("utf-8", "backslashreplace").decode()


def list_folder(root: Path) -> list[tuple[str, int]]:
    """All ``*.py`` and ``*.json`` below ``root`` as POSIX path and size in bytes, hidden folders and caches aside.

    Raises:
        SourceError: more than ``MAXIMUM_FILES``, which means that the folder is no model.
    """
    found: list[tuple[str, int]] = []
    for place, folders, names in os.walk(root):
        folder = Path(place)
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _SKIPPED_FOLDERS)
        for name in names:
            if name.endswith(SUFFIXES) and not name.startswith("."):
                path = folder / name
                size = path.stat().st_size if path.exists() else 0
                found.append((path.relative_to(root).as_posix(), size))
        if len(found) > MAXIMUM_FILES:
            raise SourceError(
                f"The folder holds more than {MAXIMUM_FILES} code and configuration files.",
                where=str(root),
                advice="Give the folder of one model.",
            )
    return found


def hash_files(root: Path, paths: Iterable[str], boundary: Path | None = None) -> tuple[SourceFile, ...]:
    """Hashes the files ``paths`` below ``root``, in that order, after checking that they can be read as UTF-8 text.

    Args:
        root: folder the POSIX paths are relative to.
        paths: safe paths, see :func:`is_safe_path`.
        boundary: folder that symbolic links must stay in; ``root`` if ``None``.

    Raises:
        SourceError: a file leads out of ``boundary``, is absent, is not UTF-8, or holds a NUL byte.
    """
    boundary = (boundary or root).resolve()
    hashed = []
    for path in paths:
        file = root / PurePosixPath(path)
        try:
            real = file.resolve()
        except RuntimeError as error:
            raise SourceError("The file is a link that leads back to itself.", where=path) from error
        if not real.is_relative_to(boundary):
            raise SourceError("The file is a link that leads out of its folder; it is refused.", where=path)
        hashed.append(SourceFile(path=path, sha256=hashlib.sha256(read_text_bytes(file, path)).hexdigest()))
    return tuple(hashed)


def read_text_bytes(file: Path, name: str) -> bytes:
    """Bytes of ``file``, which must be UTF-8 text; messages call it ``name``.

    Raises:
        SourceError: it cannot be read, is not UTF-8 (with the line), or holds a NUL byte.
    """
    try:
        if not stat.S_ISREG(file.stat().st_mode):  # reading a pipe waits for somebody to write, a device has no end
            raise SourceError("This is no regular file; it is refused.", where=name)
        data = file.read_bytes()
    except OSError as error:
        raise SourceError(f"The file cannot be read: {error.strerror or error}.", where=name) from error
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SourceError(
            f"The file is not UTF-8: byte {error.start} is 0x{data[error.start]:02x}.",
            where=f"{name}:{line}",
            advice="Only source text in UTF-8 can be shown and run.",
        ) from error
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise SourceError("The file holds a NUL byte, so it is no source text.", where=f"{name}:{line}")
    return data


def content_revision(files: Iterable[SourceFile]) -> str:
    """SHA-256 over the sorted lines ``<sha256>  <path>``, the revision of sources that have no version of their own."""
    lines = "".join(f"{file.sha256}  {file.path}\n" for file in sorted(files, key=lambda file: file.path))
    return hashlib.sha256(lines.encode()).hexdigest()


def check_pins(files: Iterable[SourceFile], pins: Mapping[str, str], repository: str) -> None:
    """Compares ``files`` with the SHA-256 that the registry pins, by path.

    Every pinned file must be there unchanged, and no ``*.py`` may be there that is not pinned.

    Raises:
        HashMismatchError: names the first file that differs.
    """
    actual = {file.path: file.sha256 for file in files}
    for path, expected in sorted(pins.items()):
        found = actual.get(path)
        if found != expected:
            state = f"has SHA-256 {found}" if found else "is absent"
            raise HashMismatchError(
                f"The file {state}, but is pinned to {expected}.",
                where=f"{repository}/{path}",
                advice="The repository or the download was changed; nothing of it is run.",
            )
    for path in sorted(actual):
        if path.endswith(".py") and path not in pins:
            raise HashMismatchError("The file is not among the pinned ones.", where=f"{repository}/{path}")


def _reason_to_skip(path: str, size: int | None) -> str | None:
    if not is_safe_path(path):
        return "its name is absolute, leads elsewhere or holds unusual characters"
    name = path.rsplit("/", 1)[-1]
    if name in SKIPPED_JSON:
        return SKIPPED_JSON[name]
    for suffix, reason in SKIPPED_SUFFIXES.items():
        if name.endswith(suffix):
            return reason
    if size is not None and size > MAXIMUM_FILE_BYTES:
        return f"it has {size} bytes, more than {MAXIMUM_FILE_BYTES}"
    return None
