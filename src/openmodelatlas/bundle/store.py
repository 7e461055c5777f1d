"""Writes and reads bundles: one folder per model, in which an atlas is replaced as a whole or not at all.

::

    <home>/atlases/<model>/
      current                  one line: name of the generation that counts
      lock                     held while a bundle is written
      origin                   the source of the atlas, as a JSON string
      <generation>/            named by its content
        manifest.json          the files below with their hashes
        atlas.json             the document
        knowledge.json         names, formulas with their verdicts, explanations, claims
        drawings.json          laid-out diagrams and typeset formulas
        values.safetensors     probe values the document refers to
        sources/<sha256>.txt   text of the cited files

A generation is built under another name, flushed to the disk, renamed, and only then does ``current`` name it, by an
atomic replacement. Whatever happens before leaves the previous atlas whole; leftovers are removed by the next write, of
this model or another.
The previous generation stays until the next write, since readers may still have it open.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from openmodelatlas import __version__
from openmodelatlas.annotation.knowledge import Knowledge
from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.bundle.canonical import decode_document, encode_document, encode_drawings, encode_knowledge
from openmodelatlas.bundle.home import build_again, is_identifier, model_folder, write_origin
from openmodelatlas.bundle.kept import named_values
from openmodelatlas.bundle.manifest import (
    BUNDLE_FORMAT,
    Manifest,
    describe_file,
    encode_manifest,
    is_whole,
    read_checked,
    read_manifest,
)
from openmodelatlas.bundle.reading import read_file
from openmodelatlas.bundle.references import check_tree
from openmodelatlas.bundle.tensors import TensorFile, TensorValue, encode_tensors
from openmodelatlas.drawing.drawing import Drawings
from openmodelatlas.errors import BundleError

if TYPE_CHECKING:
    from openmodelatlas.graph.document import Document

LOCK_SECONDS = 600.0

_GENERATION = re.compile(r"[0-9a-f]{16}(?:-[0-9]{1,4})?")
_SHA256 = re.compile(r"[0-9a-f]{64}")


def write(
    document: Document,
    *,
    texts: Mapping[str, str],
    values: Mapping[str, TensorValue] | Path,
    home: Path,
    model: str,
    key: str = "",
    knowledge: Knowledge | None = None,
    drawings: Drawings | None = None,
    seconds: float | None = None,
    origin: str | None = None,
) -> Path:
    """Writes a bundle and makes it the current atlas of ``model``.

    Args:
        document: the atlas.
        texts: text of each cited file by the SHA-256 that ``document.files`` gives for it.
        values: probe values by key, or a safetensors file that has them; keys the document does not name are left out.
        home: see :func:`openmodelatlas.bundle.home.home`.
        model: identifier, equal to ``document.model``.
        key: digest of what the build depended on, see :class:`openmodelatlas.bundle.manifest.Manifest`.
        knowledge, drawings: what goes with the document; empty if ``None``.
        seconds: how long the build took, see :class:`openmodelatlas.bundle.manifest.Manifest`.
        origin: the whole source, see :func:`openmodelatlas.sources.target.named`; not written down if ``None``.

    Returns:
        The folder of the model, which :func:`read` accepts.

    Raises:
        BundleError: the disk is full or not writable, a text or value is missing, or another build holds the lock for
            longer than ``LOCK_SECONDS``. The previous atlas is untouched.
        UsageError: ``model`` is no identifier.
    """
    if model != document.model:
        raise BundleError(f"The atlas of {document.model} cannot be stored as {model}.")
    folder = model_folder(home, model)
    contents = _contents(document, texts, values)
    contents["knowledge.json"] = encode_knowledge(knowledge or Knowledge())
    contents["drawings.json"] = encode_drawings(drawings or Drawings())
    files = {name: describe_file(data) for name, data in contents.items()}
    seconds = round(seconds, 2) if seconds is not None else None
    manifest = Manifest(format=BUNDLE_FORMAT, model=model, version=__version__, files=files, key=key, seconds=seconds)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _lock(folder):
            _remove_leftovers(folder)
            if origin is not None:
                write_origin(folder, origin)
            _replace(folder, contents, manifest)
        _remove_unfinished_of_others(folder)
    except OSError as error:
        raise BundleError(
            f"The atlas could not be written: {error.strerror or error}.",
            where=str(folder),
            advice="Free some space or set OMA_HOME to another folder; the previous atlas, if any, is still whole.",
        ) from error
    return folder


def read(path: Path) -> Atlas:
    """Opens the atlas in ``path``: the folder of a model, or a bundle's own folder.

    The document is decoded and checked at once; sources and values are read, and their hashes checked, on demand.

    Raises:
        BundleError: there is no bundle, or it is corrupt or of another format.
    """
    if not is_there(path):
        raise BundleError("There is no atlas here.", where=str(path), advice="Build one with `oma build MODEL`.")
    folder = path if (path / "manifest.json").is_file() else _current(path)
    manifest = read_manifest(folder)
    document = decode_document(read_checked(folder, manifest, "atlas.json"), str(folder / "atlas.json"))
    for file in document.files.values():
        if not _SHA256.fullmatch(file.sha256):
            raise BundleError(f"The hash of {file.path} is not a SHA-256.", where=str(folder / "atlas.json"))
    check_tree(document, str(folder / "atlas.json"))
    return Atlas(document, folder=folder, manifest=manifest)


def is_there(path: Path) -> bool:
    """Whether ``path`` is the folder of a model with a finished atlas, or a bundle's own; it need not be whole."""
    try:
        return any(os.path.lexists(path / name) for name in ("manifest.json", "current"))
    except (OSError, ValueError):  # no file can be called that
        return False


def _contents(
    document: Document, texts: Mapping[str, str], values: Mapping[str, TensorValue] | Path
) -> dict[str, bytes]:
    """Every file of the bundle but the manifest, by its path."""
    contents = {"atlas.json": encode_document(document)}
    for file in document.files.values():
        text = texts.get(file.sha256)
        if text is None or not _SHA256.fullmatch(file.sha256):
            raise BundleError(f"The text of the cited file {file.path} is missing.", where=file.sha256)
        contents[f"sources/{file.sha256}.txt"] = text.encode("utf-8", errors="surrogateescape")
    table = TensorFile(values) if isinstance(values, Path) else values
    keys = set(named_values(document))
    missing = sorted(key for key in keys if key not in table)
    if missing:
        raise BundleError(f"The values of {len(missing)} tensors are missing, the first is {missing[0]}.")
    contents["values.safetensors"] = encode_tensors({key: table[key] for key in keys})
    return contents


def _replace(folder: Path, contents: Mapping[str, bytes], manifest: Manifest) -> None:
    """Puts a new generation with these ``contents`` in place of the current one, unless it is there already."""
    name = manifest.digest()[:16]
    if _is_there(folder / name, manifest):
        if manifest.seconds is not None:
            _write_time(folder, name, manifest)
    else:
        name = _free_name(folder, name)
        building = folder / f".building-{os.getpid()}-{os.urandom(4).hex()}"
        try:
            (building / "sources").mkdir(parents=True)
            for path, data in contents.items():
                _write_durably(building.joinpath(*path.split("/")), data)
            _write_durably(building / "manifest.json", encode_manifest(manifest))
            _flush_folder(building / "sources")
            _flush_folder(building)
            building.rename(folder / name)
        except BaseException:
            shutil.rmtree(building, ignore_errors=True)
            raise
    pointer = folder / f".current-{os.getpid()}-{os.urandom(4).hex()}"
    try:
        _write_durably(pointer, f"{name}\n".encode())
        pointer.replace(folder / "current")
    except BaseException:
        pointer.unlink(missing_ok=True)
        raise
    _flush_folder(folder)


def _write_time(folder: Path, name: str, manifest: Manifest) -> None:
    """Notes in a generation that stays as it is how long the build took that gave the same again."""
    temporary = folder / f".building-{os.getpid()}-{os.urandom(4).hex()}"
    try:
        _write_durably(temporary, encode_manifest(manifest))
        temporary.replace(folder / name / "manifest.json")
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _is_there(generation: Path, manifest: Manifest) -> bool:
    """Whether ``generation`` already holds exactly what ``manifest`` lists."""
    try:
        return read_manifest(generation).lists_the_same(manifest) and is_whole(generation, manifest)
    except BundleError:
        return False


def _free_name(folder: Path, name: str) -> str:
    """``name``, or ``name-2``, … if a damaged generation occupies it."""
    candidate, number = name, 1
    while (folder / candidate).exists():
        number += 1
        candidate = f"{name}-{number}"
    return candidate


def _current(folder: Path) -> Path:
    """The generation that the pointer of a model's folder names."""
    try:
        name = read_file(folder / "current").decode("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise _bad_pointer(folder, "cannot be read") from error
    if not _GENERATION.fullmatch(name):
        raise _bad_pointer(folder, "is corrupt")
    return folder / name


def _bad_pointer(folder: Path, how: str) -> BundleError:
    pointer = str(folder / "current")
    return BundleError(f"The pointer to the current atlas {how}.", where=pointer, advice=build_again(folder))


def _remove_leftovers(folder: Path) -> None:
    """Removes what killed writes and earlier generations left, all but the current one."""
    try:
        current: Path | None = _current(folder)
    except BundleError:  # there is none
        current = None
    _remove([entry for entry in folder.iterdir() if _GENERATION.fullmatch(entry.name) and entry != current])
    _remove(_unfinished(folder))


def _remove_unfinished_of_others(folder: Path) -> None:
    """Removes what killed writes of other models left, where no write is going on: some are never built again."""
    import filelock

    for other in folder.parent.iterdir():
        with contextlib.suppress(OSError, filelock.Timeout):
            if other != folder and is_identifier(other.name) and _unfinished(other):
                with filelock.FileLock(other / "lock", timeout=0):
                    _remove(_unfinished(other))


def _unfinished(folder: Path) -> list[Path]:
    return [entry for entry in folder.iterdir() if entry.name.startswith((".building-", ".current-"))]


def _remove(entries: Iterable[Path]) -> None:
    for entry in entries:
        if entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[None]:
    """Holds the right to write into ``folder``; waits for another build that holds it."""
    import filelock

    try:
        with filelock.FileLock(folder / "lock", timeout=LOCK_SECONDS):
            yield
    except filelock.Timeout as error:
        raise BundleError(
            "Another build of this model is still writing.", where=str(folder), advice="Wait for it and try again."
        ) from error


def _write_durably(path: Path, data: bytes) -> None:
    """Writes ``data`` and waits until the disk has it."""
    with path.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _flush_folder(folder: Path) -> None:
    """Waits until the disk has the folder's entries; a file system that cannot do that is left alone."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
