"""Where built atlases live on this machine."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shlex
from pathlib import Path

from openmodelatlas.bundle.reading import read_file
from openmodelatlas.errors import UsageError

ORIGIN = "origin"
"""File in a model's folder that names the source of its atlas."""

_MODEL = re.compile(r"[a-z0-9]+(?:[._-]+[a-z0-9]+)*")


def home() -> Path:
    """The folder of everything this program keeps: ``OMA_HOME``, or the platform's data folder of the user.

    Raises:
        UsageError: ``OMA_HOME`` cannot be the name of a folder.
    """
    chosen = os.environ.get("OMA_HOME")
    if chosen:
        return _usable(chosen)
    import platformdirs

    return Path(platformdirs.user_data_dir("openmodelatlas", appauthor=False))


def _usable(chosen: str) -> Path:
    """The path that a user chose, unless no folder can ever be called that."""
    try:
        path = Path(chosen).expanduser()
        there = next((place for place in (path, *path.parents) if place.exists()), None)
    except (OSError, RuntimeError, ValueError) as error:  # too long, or ~user of nobody
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(
            f"OMA_HOME names no possible folder: {str(reason).rstrip('.')}.",
            where=chosen[:200],
            advice="Set OMA_HOME to a folder that can be written.",
        ) from error
    if there is not None and not there.is_dir():
        raise UsageError(
            "OMA_HOME names no possible folder: this is a file.",
            where=str(there),
            advice="Set OMA_HOME to a folder that can be written.",
        )
    return path


def is_identifier(model: str) -> bool:
    """Whether a model may be called that: up to 120 lower-case letters and digits, joined by ``-``, ``_`` or ``.``."""
    return len(model) <= 120 and _MODEL.fullmatch(model) is not None


def model_folder(home: Path, model: str) -> Path:
    """The folder that holds the bundles of ``model`` below ``home``; it need not exist.

    Raises:
        UsageError: ``model`` is no identifier of lower-case letters, digits, ``.``, ``_`` and ``-``.
    """
    if not is_identifier(model):
        raise UsageError(
            f"{model!r} is not a model identifier.",
            advice="Use lower-case letters and digits, joined by '-', '_' or '.'.",
        )
    return home / "atlases" / model


def list_built(home: Path) -> tuple[str, ...]:
    """Identifiers of the models that have a finished atlas below ``home``, sorted; nothing is decoded."""
    folder = home / "atlases"
    if not folder.is_dir():
        return ()
    return tuple(
        sorted(entry.name for entry in folder.iterdir() if is_identifier(entry.name) and (entry / "current").is_file())
    )


def name_for(home: Path, name: str, origin: str) -> str:
    """The identifier under which the atlas of the source ``origin`` is kept, or would be.

    It is ``name``, unless the atlas of another source has that; then some digits of the hash of ``origin`` follow. An
    atlas of which nobody knows the source belongs to whoever asks.

    Args:
        home: folder of everything this program keeps.
        name: what the source is called, see :func:`openmodelatlas.sources.target.named`.
        origin: the whole source.

    Raises:
        UsageError: the atlas of yet another source has that as well.
    """
    other = f"{name}-{hashlib.sha256(origin.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    built = list_built(home)
    if other in built and origin_of(model_folder(home, other)) == origin:  # the short name may be free since
        return other
    for model in (name, other):
        if model not in built or origin_of(model_folder(home, model)) in (origin, None):
            return model
    raise UsageError(
        f"{name} and {other} are both the names of atlases of other sources.",
        where=origin,
        advice=f"Remove one of them from {home / 'atlases'}.",
    )


def origin_of(folder: Path) -> str | None:
    """The whole source of the atlas in a model's folder; ``None`` if it was not written down."""
    try:
        origin = json.loads(read_file(folder / ORIGIN))
    except (OSError, ValueError):
        return None
    return origin if isinstance(origin, str) else None


def build_again(path: Path) -> str:
    """What to do about a damaged file or folder ``path`` of a bundle."""
    origins = (origin_of(folder) for folder in (path, *path.parents[:2]))
    origin = next((found for found in origins if found is not None), None)
    if origin is None:
        return "Build it again with `oma build MODEL --force`."
    source = origin if origin.startswith("/") else origin.partition(" in ")[0]
    return f"Build it again with `oma build {shlex.quote(source)} --force`."


def write_origin(folder: Path, origin: str) -> None:
    """Writes down which source the atlas of the model in ``folder`` is made from.

    It stands beside the bundle and not in it: it may be a path of this machine.

    Raises:
        OSError: it cannot be written.
    """
    temporary = folder / f".current-{os.getpid()}-{os.urandom(4).hex()}"  # cleared like what other killed writes leave
    temporary.write_text(json.dumps(origin), encoding="ascii")
    temporary.replace(folder / ORIGIN)
