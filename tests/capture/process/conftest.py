from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from openmodelatlas.capture import process
from openmodelatlas.capture.job import JOB_FORMAT, Job, Limits, Progress
from openmodelatlas.capture.sandbox import Protection

CHILDREN = Path(__file__).parent / "children"
Run = Callable[..., tuple[Protection, ...]]


def job_for(entry: str, output: Path, configuration: dict[str, Any]) -> Job:
    return Job(
        format=JOB_FORMAT,
        kind="folder",
        repository="test",
        entry=entry,
        configuration=configuration,
        root=str(CHILDREN),
        files={},
        output=str(output),
    )


@pytest.fixture
def output(tmp_path: Path) -> Path:
    folder = tmp_path / "output"
    folder.mkdir()
    return folder


@pytest.fixture
def run(output: Path) -> Run:
    """Runs one way to misbehave, under limits that are soon reached."""

    def run(
        entry: str, configuration: dict[str, Any] | None = None, *, python: str | None = None, **limits: Any
    ) -> tuple[Protection, ...]:
        told: list[Progress] = []
        chosen = Limits(**{"seconds": 30.0, "memory_bytes": 300 * 2**20, "output_bytes": 20 * 2**20, **limits})
        extra = {"python": python} if python is not None else {}
        return process.run(
            job_for(entry, output, configuration or {}),
            limits=chosen,
            child_module="misbehaving",
            python_path=[CHILDREN],
            progress=told.append,
            **extra,
        )

    return run


@pytest.fixture(autouse=True)
def no_process_left() -> Iterator[None]:
    """After each test, nothing that it started is alive."""
    before = _children()
    yield
    assert _children() <= before


def _children() -> set[str]:
    listed = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    return set(listed.read_text().split()) if listed.exists() else set()
