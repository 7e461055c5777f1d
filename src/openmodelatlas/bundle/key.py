"""What decides what an atlas says, as one key."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from openmodelatlas import __version__
from openmodelatlas.capture.overlay import installed_version
from openmodelatlas.sources import Source


def build_key(
    source: Source, *, packages: Sequence[str] = (), overrides: Mapping[str, int | list[int]] | None = None
) -> str:
    """SHA-256, in hexadecimal, over everything that decides what an atlas says.

    That is the pinned files, the configuration, the packages the code runs on, the probe sizes asked for, and our own
    code (its bytes, so that a checkout that changes builds anew).
    """
    parts = {
        "source": msgspec.to_builtins(
            msgspec.structs.replace(source, root=Path(), trusted=True, notes=()), enc_hook=str
        ),
        "packages": sorted(packages),
        "overrides": dict(sorted((overrides or {}).items())),
        "installed": {name: installed_version(name) for name in ("torch", "transformers", "numpy")},
        "version": __version__,
        "code": _own_code(),
    }
    return hashlib.sha256(msgspec.json.encode(parts, enc_hook=str, order="sorted")).hexdigest()


def _own_code() -> str:
    folder = Path(__file__).parent.parent
    digest = hashlib.sha256()
    parts = ("sources", "capture", "shapes", "graph", "catalogue", "annotation", "evidence", "drawing", "bundle")
    files = [folder / "stages.py", *(path for part in parts for path in (folder / part).rglob("*"))]
    for path in sorted(path for path in files if path.suffix in (".py", ".md", ".json", ".yaml", ".js")):
        digest.update(path.relative_to(folder).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
