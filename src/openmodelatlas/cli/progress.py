"""How far a long step is: a bar on a terminal, a line for every new stage elsewhere, always on standard error."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import TYPE_CHECKING

import click

from openmodelatlas.capture.job import Progress

if TYPE_CHECKING:
    from rich import progress as rich_progress


class Reporter:
    """Shows progress while it is entered; call it with :class:`~openmodelatlas.capture.job.Progress`."""

    def __init__(self, name: str = "") -> None:
        self._name = name
        self._stage: str | None = None
        self._bar: rich_progress.Progress | None = None
        self._task: rich_progress.TaskID | None = None

    def __enter__(self) -> Reporter:
        if sys.stderr.isatty():
            self._bar = _bar()
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, progress: Progress) -> None:
        """Shows a stage, with steps done of how many (0 of 0 where that is not known)."""
        stage = f"{self._name}: {progress.stage}" if self._name else progress.stage
        if self._bar is None:
            if stage != self._stage:
                click.echo(stage, err=True)
        elif self._task is None:
            self._task = self._bar.add_task(stage, total=progress.total or None, completed=progress.done)
        elif stage != self._stage and not progress.total:
            self._bar.reset(self._task, total=None, description=stage)
        else:
            self._bar.update(self._task, description=stage, total=progress.total or None, completed=progress.done)
        self._stage = stage

    def steps(self, stage: str, done: int, total: int) -> None:
        """The same for a function that reports only how many of its steps are done."""
        self(Progress(stage, done, total))


def _bar() -> rich_progress.Progress:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=Console(stderr=True),
        transient=True,
    )
