"""Formulas set while other stages run."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor

from openmodelatlas.drawing.engine import Engine
from openmodelatlas.drawing.formulas import latex_of_mechanisms

Set = tuple[dict[str, str], list[str]]
"""HTML of formulas by their LaTeX, and notes on those that could not be set."""


class Typesetter:
    """Sets formulas in a thread of its own; V8 runs beside Python.

    From when it is made, the engine starts and sets what is known before a model is: formulas of the catalogue.
    """

    def __init__(self) -> None:
        self._beside = ThreadPoolExecutor(max_workers=1, thread_name_prefix="typesetter")
        self._engine = self._beside.submit(_started)

    def set(self, latex: Iterable[str]) -> Future[Set]:
        """Begins to set formulas, those aside that are set already.

        The result raises :class:`openmodelatlas.errors.DrawingError` where there are formulas and none can be set.
        """
        return self._beside.submit(self._set, list(latex))

    def _set(self, latex: list[str]) -> Set:
        return self._engine.result().set(latex) if latex else ({}, [])

    def close(self) -> None:
        """Ends the engine when it has set what it was given."""
        self._beside.shutdown()
        if self._engine.exception() is None:
            self._engine.result().close()

    def __enter__(self) -> Typesetter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _started() -> Engine:
    engine = Engine()
    engine.set(latex_of_mechanisms())
    return engine
