"""Cited files: the atlas' copies against their hashes, and the originals where this machine has them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from importlib import resources
from pathlib import Path, PurePosixPath

from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.capture.text import sha256_of_lines
from openmodelatlas.graph.document import CitedFile
from openmodelatlas.graph.invariants import check
from openmodelatlas.verification.drift import Drift, told


def verify_files(atlas: Atlas, found: list[Drift], absent: list[str]) -> int:
    """Every cited file: the atlas' copy against its hash, and the original, where it is on this machine, as well."""
    for path, file in atlas.document.files.items():
        with told(found, "file", path):
            atlas.lines_of(path)
        original = _original(path, file)
        if original is None:
            absent.append(f"{path} of {file.repository} at {file.revision}")
        elif hashlib.sha256(original).hexdigest() != file.sha256:
            found.append(Drift(kind="file", where=path, text="the original differs from what the atlas cites"))
    with told(found, "graph", ""):
        check(atlas.document)
    return len(atlas.document.files)


def _original(path: str, file: CitedFile) -> bytes | None:
    """The bytes of a file where it came from; ``None`` if that is not on this machine at this version."""
    parts = PurePosixPath(path).parts
    if not parts or ".." in parts or PurePosixPath(path).is_absolute():
        return None
    if file.repository.startswith("reference:"):
        place = resources.files("openmodelatlas").joinpath(*parts[1:])
        return place.read_bytes() if place.is_file() else None
    if file.repository == "transformers":
        return _of_transformers(parts, file.revision)
    return _of_hub(path, file)


def _of_transformers(parts: Sequence[str], version: str) -> bytes | None:
    from openmodelatlas.errors import SourceError
    from openmodelatlas.sources.transformers import find_package, installed_version

    try:
        package = find_package()
        if installed_version(package) != version:
            return None
        return package.joinpath(*parts[1:]).read_bytes()
    except (SourceError, OSError):
        return None


def _of_hub(path: str, file: CitedFile) -> bytes | None:
    from huggingface_hub import try_to_load_from_cache

    try:
        cached = try_to_load_from_cache(file.repository, path, revision=file.revision)
        return Path(cached).read_bytes() if isinstance(cached, str) else None
    except (OSError, ValueError):
        return None


def verify_claims(atlas: Atlas, found: list[Drift]) -> int:
    """Every claim: the text of its lines against its hash."""
    count = 0
    for address, node in atlas.knowledge.nodes.items():
        for claim in node.claims:
            count += 1
            lines = claim.lines
            with told(found, "claim", address):
                if sha256_of_lines(atlas.lines_of(lines.file), lines.first, lines.last) != claim.sha256:
                    found.append(
                        Drift(
                            kind="claim",
                            where=address,
                            text=f"{lines.file} {lines.first}–{lines.last} is not the cited text",
                        )
                    )
    return count
