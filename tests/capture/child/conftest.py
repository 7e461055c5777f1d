"""Jobs on small sources that the tests write themselves."""

from __future__ import annotations

import gc
import hashlib
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from openmodelatlas.capture.child.source_package import PACKAGE, SourceFinder
from openmodelatlas.capture.job import JOB_FORMAT, Job

MakeJob = Callable[..., Job]


@pytest.fixture(autouse=True)
def clean_imports() -> Iterator[None]:
    """Each test imports its own source; nothing of it stays behind."""
    modules, finders, path = set(sys.modules), list(sys.meta_path), list(sys.path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as the child process does: other libraries' renamings are not ours
        yield
    gc.unfreeze()
    gc.enable()
    sys.meta_path[:] = [finder for finder in finders if not isinstance(finder, SourceFinder)]
    sys.path[:] = path
    for name in set(sys.modules) - modules:
        file = getattr(sys.modules[name], "__file__", None) or ""
        if name == PACKAGE or name.startswith(PACKAGE + ".") or "/pytest-" in file:
            del sys.modules[name]


@pytest.fixture
def make_job(tmp_path: Path) -> MakeJob:
    def make(
        files: dict[str, str],
        configuration: dict[str, Any] | None = None,
        *,
        kind: str = "folder",
        entry: str = "",
        **more: Any,
    ) -> Job:
        root, output = tmp_path / "source", tmp_path / "output"
        root.mkdir(exist_ok=True)
        output.mkdir(exist_ok=True)
        hashes = {}
        for name, text in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode() if isinstance(text, str) else text)
            hashes[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        return Job(
            format=JOB_FORMAT,
            kind=kind,
            repository="tests/small",
            entry=entry,
            configuration=configuration or {},
            root=str(root),
            files=hashes,
            output=str(output),
            **more,
        )

    return make
