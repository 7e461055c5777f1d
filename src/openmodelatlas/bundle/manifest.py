"""The list of a bundle's files with their hashes."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import msgspec

from openmodelatlas.bundle.home import build_again
from openmodelatlas.bundle.reading import read_file
from openmodelatlas.errors import BundleError

BUNDLE_FORMAT = 2

_NAME = re.compile(r"(atlas|knowledge|drawings)\.json|values\.safetensors|sources/[0-9a-f]{64}\.txt")


class BundleFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a bundle: ``sha256`` of its bytes in hexadecimal, and its length in ``bytes``."""

    sha256: str
    bytes: int


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a bundle consists of.

    Attributes:
        format: ``BUNDLE_FORMAT``: names and meaning of the files.
        model: identifier of the model.
        version: version of openmodelatlas that wrote the bundle.
        files: by POSIX path within the bundle: ``atlas.json``, ``knowledge.json``, ``drawings.json``,
            ``values.safetensors``, ``sources/<sha256>.txt``.
        key: digest of everything the build depended on (source, settings, versions), to tell whether the atlas is up to
            date; empty if it was not said.
        seconds: how long the build took by the clock, from the start of the capture to the writing of the bundle;
            ``None`` if it was not recorded.
    """

    format: int
    model: str
    version: str
    files: dict[str, BundleFile]
    key: str = ""
    seconds: float | None = None

    def digest(self) -> str:
        """SHA-256 of the manifest but for the time, in hexadecimal: it names the whole content."""
        fields = {name: value for name, value in msgspec.structs.asdict(self).items() if name != "seconds"}
        return hashlib.sha256(_canonical(fields)).hexdigest()

    def lists_the_same(self, other: Manifest) -> bool:
        """Whether both say the same of everything but the time."""
        return msgspec.structs.replace(self, seconds=other.seconds) == other


class _Format(msgspec.Struct):
    format: int


def describe_file(data: bytes) -> BundleFile:
    """The entry for a file with these bytes."""
    return BundleFile(sha256=hashlib.sha256(data).hexdigest(), bytes=len(data))


def encode_manifest(manifest: Manifest) -> bytes:
    """Canonical bytes of ``manifest.json``: keys sorted, one entry a line, so that two versions compare well."""
    return _canonical(manifest)


def _canonical(value: object) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value, order="sorted"), indent=1) + b"\n"


def read_manifest(folder: Path) -> Manifest:
    """The manifest of the bundle in ``folder``.

    Raises:
        BundleError: there is none, it is corrupt, or of a format that this version does not know.
    """
    path = folder / "manifest.json"
    try:
        data = read_file(path)
    except OSError as error:
        raise BundleError(
            f"There is no readable bundle here: {error.strerror}.", where=str(path), advice=build_again(folder)
        ) from error
    try:
        found = msgspec.json.decode(data, type=_Format).format
        if found == BUNDLE_FORMAT:
            manifest = msgspec.json.decode(data, type=Manifest)
            strange = next((name for name in manifest.files if _NAME.fullmatch(name) is None), None)
            if strange is not None:
                raise ValueError(f"no file of a bundle is called {strange[:100]!r}")
            return manifest
    except (ValueError, msgspec.MsgspecError, RecursionError) as error:
        raise BundleError(f"The manifest is corrupt: {error}.", where=str(path), advice=build_again(folder)) from error
    newer = found > BUNDLE_FORMAT
    raise BundleError(
        f"The bundle has format {found}, this version reads format {BUNDLE_FORMAT}.",
        where=str(path),
        advice="Update openmodelatlas." if newer else build_again(folder),
    )


def read_checked(folder: Path, manifest: Manifest, name: str) -> bytes:
    """The bytes of file ``name`` of the bundle, which must be those that the manifest lists.

    Raises:
        BundleError: the manifest does not list ``name``, or the file is missing, unreadable or altered.
    """
    entry = manifest.files.get(name)
    if entry is None:
        raise BundleError(f"The bundle has no file {name}.", where=str(folder))
    path = folder.joinpath(*name.split("/"))
    try:
        status = path.stat()
        data = read_file(path) if status.st_size == entry.bytes else None
    except OSError as error:
        raise BundleError(
            f"A file of the bundle cannot be read: {error.strerror}.",
            where=str(path),
            advice=build_again(folder),
        ) from error
    if data is None or describe_file(data) != entry:
        raise BundleError(
            "A file of the bundle is not what was written.",
            where=str(path),
            advice=build_again(folder),
        )
    return data


def is_whole(folder: Path, manifest: Manifest) -> bool:
    """Whether ``folder`` holds every file that the manifest lists, as it was written."""
    try:
        for name in manifest.files:
            read_checked(folder, manifest, name)
    except BundleError:
        return False
    return True
