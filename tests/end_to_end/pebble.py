"""Folders with a small model of their own, good or bad."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tests.end_to_end.conftest import CORPUS

MODELING = "modeling_pebble.py"
IMPORTED, MADE, STARTED = "import torch\n", "        # made\n", "        # started\n"
"""Places in the model's file: at the top, at the end of ``__init__``, at the beginning of ``forward``."""


def pebble(folder: Path, **configuration: Any) -> Path:
    """A folder with the model; keys of the configuration are replaced, or removed where they are ``None``."""
    shutil.copytree(CORPUS / "pebble", folder)
    file = folder / "config.json"
    values = json.loads(file.read_text()) | configuration
    file.write_text(json.dumps({key: value for key, value in values.items() if value is not None}))
    return folder


def put(folder: Path, place: str, *statements: str) -> int:
    """Puts statements into the model's file at ``place``; returns the line of the first one."""
    file = folder / MODELING
    before, _, after = file.read_text().partition(place)
    indent = place[: len(place) - len(place.lstrip(" "))]
    block = "".join(f"{indent}{line}\n" for statement in statements for line in statement.split("\n"))
    file.write_text(before + place + block + after)
    return (before + place).count("\n") + 1
