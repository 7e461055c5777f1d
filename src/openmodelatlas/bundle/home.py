"""Where built atlases live on this machine."""

from __future__ import annotations

import os
import re
from pathlib import Path

from openmodelatlas.errors import UsageError

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
        path.exists()
    except (OSError, RuntimeError, ValueError) as error:  # too long, or ~user of nobody
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise UsageError(
            f"OMA_HOME names no possible folder: {str(reason).rstrip('.')}.",
            where=chosen[:200],
            advice="Set OMA_HOME to a folder that can be written.",
        ) from error
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
