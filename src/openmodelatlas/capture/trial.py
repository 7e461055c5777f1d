"""Runs inside the sandbox instead of a model and tries what model code must not be able to do.

``oma doctor`` shows the outcome. The trial is handed, as the job's configuration, the paths ``outside`` (a folder) and
``secret`` (a file) that lie beyond its sandbox, the process number of the ``parent``, and the ``port`` on which that
listens.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec


class Attempt(msgspec.Struct, frozen=True):
    """One thing that was tried.

    Attributes:
        what: ``opening a socket``.
        refused: whether it failed, as it must.
        answer: the error, or how far it came.
    """

    what: str
    refused: bool
    answer: str


def main(job_file: str) -> None:
    """Try everything and write the attempts where the parent looks for a summary."""
    job = json.loads(Path(job_file).read_text())
    given: dict[str, Any] = job["configuration"]
    attempts = [
        _attempt("connecting to a network address", lambda: _connect(given["port"])),
        _attempt("opening a local socket", lambda: socket.socket(socket.AF_UNIX, socket.SOCK_STREAM).close()),
        _attempt("writing outside its folder", lambda: Path(given["outside"], "trace").write_text("x")),
        _attempt("reading outside its source", lambda: Path(given["secret"]).read_text()),
        _attempt("signalling the parent process", lambda: os.kill(given["parent"], 0)),
        _attempt("reading the parent's environment", lambda: Path(f"/proc/{given['parent']}/environ").read_bytes()),
    ]
    (Path(job["output"]) / "summary.json").write_bytes(msgspec.json.encode(attempts))


def _connect(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        pass


def _attempt(what: str, action: Callable[[], object]) -> Attempt:
    try:
        action()
    except Exception as error:  # whatever stops it, it was stopped
        return Attempt(what, True, f"{type(error).__name__}: {error}")
    return Attempt(what, False, "it worked")


if __name__ == "__main__":
    main(sys.argv[1])
