"""``python benchmarks/unrecorded.py JOB.json``: what a capture does besides recording, as a whole process.

The same imports, sizes, instantiations and forward passes in the same order, through the capture child's own classes;
nothing is observed, kept or written. It is what ``oma build`` is compared with. Prints seconds by stage as JSON.
"""

from __future__ import annotations

import time

STARTED = time.perf_counter()

import contextlib  # noqa: E402 - the clock comes first
import gc  # noqa: E402
import os  # noqa: E402
import sys  # noqa: E402
from collections.abc import Callable, Iterator  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402

import msgspec  # noqa: E402

from openmodelatlas.capture.child.__main__ import install_standins, prepare  # noqa: E402
from openmodelatlas.capture.job import Job  # noqa: E402


def main(path: str) -> dict[str, Any]:
    """Runs the job at ``path`` unrecorded; gives seconds by stage, and the processor time of all imports."""
    job = msgspec.json.decode(Path(path).read_bytes(), type=Job)
    prepare()
    install_standins(job)
    from openmodelatlas.capture.child.run import Clock

    clock = Clock({"torch": round(time.perf_counter() - STARTED, 4)})
    imported = _run(job, clock)
    return {"seconds": clock.seconds, "import_processor_seconds": round(imported, 4)}


def _run(job: Job, clock: Any) -> float:
    """Runs the job; gives the processor time, in seconds, that had gone when everything was imported.

    The classes are made here because only now torch is loaded, and its loading counted.
    """
    import torch
    from torch.overrides import TorchFunctionMode

    from openmodelatlas.capture.child import true_size
    from openmodelatlas.capture.child.functions import torch_function
    from openmodelatlas.capture.child.probes import run_phases
    from openmodelatlas.capture.child.recorder import Recorder
    from openmodelatlas.capture.child.run import LOW_PRECISION, Capture
    from openmodelatlas.capture.child.valueless import valueless_result
    from openmodelatlas.capture.child.weights import fill
    from openmodelatlas.capture.recording import Parameter

    class MetaRules(TorchFunctionMode):
        """What the run at full size cannot do without: results of functions that need values."""

        def __torch_function__(
            self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
        ) -> Any:
            known = torch_function(func)
            result = None if known.kind == "pass" else valueless_result(known.short, known.name, args, kwargs or {})
            return func(*args, **(kwargs or {})) if result is None else result

    class NoRecorder(Recorder):
        """Takes the recorder's place and sees nothing."""

        def __init__(self, *, on_meta: bool) -> None:
            self._on_meta = on_meta

        @contextlib.contextmanager
        def record(self, phase: Any, inputs: dict[str, torch.Tensor]) -> Iterator[None]:
            with MetaRules() if self._on_meta else contextlib.nullcontext():
                yield

    class Unrecorded(Capture):
        """A capture that only runs the model."""

        imported = 0.0

        def _first_probe(self, *arguments: Any) -> Any:
            self.imported = time.process_time()
            return super()._first_probe(*arguments)

        def _record(self, subject: Any, plan: Any, index: int) -> None:
            probe = plan.probes[index]
            with self.clock.stage(f"probe {probe.name}"):
                torch.manual_seed(probe.seed)
                model = subject.instantiate(plan.settings[index], probe.dtype, "cpu")
                fill(model, probe.seed)
                run_phases(model, NoRecorder(on_meta=False), subject.inputs(model, probe, "cpu"), probe.seed)
            del model
            gc.collect()

        def _true_size(self, subject: Any, steps: int) -> tuple[list[Parameter], str | None]:
            dtype = str(self.job.dtype if self.job.dtype in LOW_PRECISION else "float32")
            with self.clock.stage("meta instantiate"):
                model = subject.instantiate({}, dtype, "meta")
            with self.clock.stage("meta forward"):
                probe = true_size.true_size_probe(dtype)
                run_phases(model, NoRecorder(on_meta=True), subject.inputs(model, probe, "meta"), probe.seed)
            return [], None

        def _write_summary(self, *_: Any) -> None:
            """Nothing to write."""

    capture = Unrecorded(job, clock, lambda *_: None, beside=False)
    capture.run()
    return capture.imported


if __name__ == "__main__":
    print(msgspec.json.encode(main(sys.argv[1])).decode(), flush=True)
    os._exit(0)  # as the capture child does: taking torch apart is nobody's work
