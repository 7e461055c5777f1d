"""Builds and their unrecorded counterparts: what ``build_cost``, ``depth`` and ``tools`` share."""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
import tarfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

import measure
from openmodelatlas.capture.run import job_of
from openmodelatlas.sources import target

HERE = Path(__file__).resolve().parent
REPEAT = 3


@dataclass
class Side:
    """The runs of one of the processes that are compared.

    Attributes:
        name: what it is called in the table.
        command: what is run.
        first: the first run, in which memory was looked at, and which filled the disk's cache.
        runs: the runs after it, whose times count.
    """

    name: str
    command: list[str]
    first: measure.Run | None = None
    runs: list[measure.Run] = field(default_factory=list)

    def run(self, environment: dict[str, str]) -> measure.Run:
        """Runs it once more; a run that fails ends the benchmark with what it said."""
        result = measure.run(self.command, environment, memory=self.first is None)
        if result.exit_code != 0:
            sys.exit(f"{' '.join(self.command)} ended with exit code {result.exit_code}:\n{result.errors}")
        if self.first is None:
            self.first = result
        else:
            self.runs.append(result)
        return result

    @property
    def seconds(self) -> float:
        """Median of the wall-clock times."""
        return measure.median([run.seconds for run in self.runs])

    @property
    def processor_seconds(self) -> float:
        """Median of the processor times."""
        return measure.median([run.processor_seconds for run in self.runs])

    @property
    def peak_bytes(self) -> int:
        """The memory that the first run needed."""
        return self.first.peak_bytes if self.first is not None else 0

    @property
    def peak_by_process(self) -> dict[str, int]:
        """The same of each process."""
        return self.first.peak_by_process if self.first is not None else {}


def build_command(model: str, configuration: Path | None = None) -> list[str]:
    """``oma build MODEL --force``, as this interpreter's module."""
    options = ["--config", str(configuration)] if configuration else []
    return [sys.executable, "-m", "openmodelatlas", "build", model, "--force", *options]


def unrecorded_command(model: str, folder: Path, configuration: Path | None = None) -> list[str]:
    """The same capture without recording; its job is written into ``folder``. Flags are those of the capture child."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    source = target.find(model, configuration=configuration).source
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "job.json"
    path.write_bytes(msgspec.json.encode(job_of(source, folder)))
    return [sys.executable, "-s", "-B", str(HERE / "unrecorded.py"), str(path)]


def alternate(sides: Sequence[Side], environment: dict[str, str], repeat: int) -> None:
    """Runs every side ``repeat`` times, in turns, after one round for memory, which fills the disk's cache."""
    for number in range(repeat + 1):
        for side in sides:
            result = side.run(environment)
            print(
                f"  round {number} of {repeat}: {side.name:>16}  {result.seconds:6.2f} s, "
                f"{result.processor_seconds:6.2f} s of processor",
                file=sys.stderr,
            )


@dataclass(frozen=True)
class Bundle:
    """What a build wrote.

    Attributes:
        bytes: size of its files.
        compressed_bytes: size as one tar file, compressed by deflate at level 9 (what ``gzip -9`` does).
        nodes: nodes, each of which is a page.
        parameters: of the model.
    """

    bytes: int
    compressed_bytes: int
    nodes: int
    parameters: int


def bundle_of(home: Path, model: str) -> Bundle:
    """Looks at the atlas of ``model`` in the data folder ``home``."""
    from openmodelatlas.bundle import store
    from openmodelatlas.bundle.home import model_folder

    atlas = store.read(model_folder(home, model))
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        archive.add(atlas.folder, arcname=model)
    compressed = zlib.compress(buffer.getvalue(), 9)
    size = sum(path.stat().st_size for path in Path(atlas.folder).rglob("*") if path.is_file())
    return Bundle(size, len(compressed), len(atlas), atlas.root.parameter_count)


def verdict(value: float, limit: float, *, at_least: bool = False) -> str:
    """``holds`` or ``MISSED`` with the limit."""
    holds = value >= limit if at_least else value <= limit
    return f"{'holds' if holds else 'MISSED'} (asked: {'at least' if at_least else 'at most'} {limit:g})"


def arguments(description: str) -> argparse.ArgumentParser:
    """The options that every benchmark has."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--repeat", type=int, default=REPEAT, help=f"rounds; medians are printed ({REPEAT})")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser


def write_json(path: Path | None, figures: dict[str, Any]) -> None:
    """Writes the figures, if asked to."""
    if path is not None:
        path.write_text(json.dumps(figures, indent=2) + "\n")
