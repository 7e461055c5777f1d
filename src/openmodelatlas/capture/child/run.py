"""One capture from job to files, in the child process."""

from __future__ import annotations

import gc
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import torch

from openmodelatlas.capture.child import compact, left_out, loader, true_size
from openmodelatlas.capture.child.beside import Beside, end_stray_copy
from openmodelatlas.capture.child.failures import message_of, place
from openmodelatlas.capture.child.functions import public_name
from openmodelatlas.capture.child.kinds import flat
from openmodelatlas.capture.child.modules import describe_parameters
from openmodelatlas.capture.child.output import encoded
from openmodelatlas.capture.child.probes import run_probe
from openmodelatlas.capture.child.recorder import Recorder
from openmodelatlas.capture.child.relations import LADDER
from openmodelatlas.capture.child.sizes import Plan, Published, choose
from openmodelatlas.capture.child.subject import Subject
from openmodelatlas.capture.child.values import write_values
from openmodelatlas.capture.job import Job
from openmodelatlas.capture.recording import RECORDING_FORMAT, Parameter, Recording, Summary
from openmodelatlas.errors import AtlasError, ConfigurationError, MissingStandInError, SourceError

LOW_PRECISION = ("bfloat16", "float16")
Report = Callable[[str, int, int], None]


def _say_nothing(_stage: str, _done: int, _of: int) -> None:
    """The report of a second process."""


@dataclass
class Clock:
    """Seconds by stage."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time spent within to ``name``."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.perf_counter() - start, 4)


class Outcome(msgspec.Struct, frozen=True):
    """What a second process leaves besides its recordings; it hands this over as JSON.

    Attributes:
        seconds: as in :class:`Clock`.
        notes: for the summary.
    """

    seconds: dict[str, float]
    notes: list[str]


def _shares(plan: Plan) -> tuple[list[int], list[int]]:
    """The probes after the first one: those of the process that recorded it, and those of a second one.

    Always the same, so that a model whose code keeps state between its runs is always recorded in one way. The second
    process gets the probe of low precision, which is slow, as the first one keeps values and runs the published size.
    """
    held_out = len(plan.probes) - 2
    return [held_out], [index for index in range(1, len(plan.probes)) if index != held_out]


@dataclass
class Capture:
    """State of one capture.

    Attributes:
        job: what to do.
        clock: seconds by stage.
        report: called with a sentence, steps finished, and of how many.
        notes: for the summary.
        beside: whether a second process may do a part of it.
        _held: the last probe's recorder, which holds its model.
    """

    job: Job
    clock: Clock
    report: Report
    notes: list[str] = field(default_factory=list)
    beside: bool = True
    _held: Recorder | None = None

    def run(self) -> None:
        """Load, probe, write.

        Where there can be one, a second process records half of the probes; there are never more than two, since each
        needs half a gigabyte.

        Raises:
            AtlasError: see :mod:`.failures` for what the model's code may cause besides.
        """
        steps = self.job.probes + 4
        self.report("Import the model's code", 0, steps)
        with self.clock.stage("import"):
            subject = loader.load(self.job)
        published = subject.published()
        public_name(torch.add)  # torch lists its functions when it is first asked: here for both processes
        gc.freeze()
        plan, second = self._first_probe(subject, published, steps)
        mine, others = _shares(plan)
        try:
            if second is None:
                self._probes(subject, plan, others, steps)
            self._probes(subject, plan, mine, steps)
            parameters, failure = self._true_size(subject, steps)
            if second is not None:
                self._take(second, subject, plan, steps)
        finally:
            if second is not None:
                second.stop()
        self._write_summary(subject, published, plan, parameters, failure)
        self.report("Captured", steps, steps)

    def _start_second(self, subject: Subject, plan: Plan, steps: int) -> Beside | None:
        def work() -> bytes:
            self.clock.seconds, self.notes, self.report = {}, [], _say_nothing
            self._probes(subject, plan, _shares(plan)[1], steps)
            return msgspec.json.encode(Outcome(self.clock.seconds, self.notes))

        return Beside.start(work) if self.beside else None

    def _take(self, second: Beside, subject: Subject, plan: Plan, steps: int) -> None:
        """What the second process left; if it failed, its part is done here, where its error is met again."""
        result = second.result()
        if result is None:
            self._probes(subject, plan, _shares(plan)[1], steps)
            return
        outcome = msgspec.json.decode(result, type=Outcome)
        for stage, seconds in outcome.seconds.items():
            self.clock.seconds[stage] = round(self.clock.seconds.get(stage, 0.0) + seconds, 4)
        self.notes.extend(note for note in outcome.notes if note not in self.notes)

    def _first_probe(self, subject: Subject, published: Published, steps: int) -> tuple[Plan, Beside | None]:
        """Go down the ladder of relations until the model's code accepts the sizes of the first probe.

        A second process starts with each attempt, and goes on with the one that was accepted.
        """
        last: Exception | None = None
        tried: list[dict[str, int]] = []
        for rung in LADDER:
            try:
                plan = self._plan(subject, published, rung)
            except ConfigurationError:
                if last is None:
                    raise
                continue  # no sizes obey this many relations at once
            if plan.settings[0] in tried:
                continue
            tried.append(plan.settings[0])
            self.report("Probe a", 1, steps)
            second: Beside | None = None
            accepted = False
            try:
                for settings in plan.settings[1:]:  # what refuses a later probe refuses the plan
                    subject.configure(settings)
                second = self._start_second(subject, plan, steps)
                self._record(subject, plan, 0)
                accepted = True
            except (SourceError, MissingStandInError) as error:
                if not isinstance(error, ConfigurationError):
                    raise
                last = error
            except AtlasError:
                raise
            except Exception as error:  # the model's code may raise anything
                last = error
            finally:
                if second is not None and not accepted:
                    second.stop()
            if accepted:
                self._note_refusal(subject, plan, last)
                return plan, second
        assert last is not None
        raise last

    def _note_refusal(self, subject: Subject, plan: Plan, last: Exception | None) -> None:
        if last is not None:
            where = place(last, subject.roots["source"])
            self.notes.append(
                f"Probe sizes: {plan.rung.text}. The code refused freer ones "
                f"({f'{where}: ' if where else ''}{type(last).__name__}: {message_of(last, 200)})."
            )

    def _plan(self, subject: Subject, published: Published, rung: Any) -> Plan:
        """Sizes that the configuration class keeps as they were set; those it computes itself are left to it."""
        dtypes = ["float32", self.job.dtype if self.job.dtype in LOW_PRECISION else "float32", "float32"]
        with self.clock.stage("sizes"):
            while True:
                plan = choose(
                    published,
                    rung=rung,
                    solving=self.job.probes,
                    overrides=self.job.overrides,
                    dtypes=[str(name) for name in dtypes],
                    seed=self.job.repository,
                )
                try:
                    effective = flat(subject.configure(plan.settings[0]))
                except ConfigurationError:
                    return plan
                computed = [path for path, size in plan.settings[0].items() if effective.get(path, size) != size]
                if not computed:
                    return plan
                for path in computed:
                    published.computed[path] = "Computed by the configuration class from other keys."

    def _record(self, subject: Subject, plan: Plan, index: int) -> None:
        left_out.again_with_kernels(lambda: self._record_once(subject, plan, index))

    def _record_once(self, subject: Subject, plan: Plan, index: int) -> None:
        self._let_go()
        probe = plan.probes[index]
        with self.clock.stage(f"probe {probe.name}"):
            recorder, notes = run_probe(subject, plan.settings[index], probe, keep_values=index == 0)
            recording, values = recorder.finish(probe)
        end_stray_copy()
        with self.clock.stage("write"):
            self._write(recording)
            if index == 0:
                unknown = write_values(Path(self.job.output) / "values.safetensors", values)
                if unknown:
                    notes = [*notes, f"The values of {len(unknown)} tensors have a type that no file can hold."]
        self.notes.extend(note for note in notes if note not in self.notes)
        self._held = recorder

    def _let_go(self) -> None:
        """Free the last probe's model and recording; those of the last one of all end with the process."""
        if self._held is not None:
            self._held.forget()
            self._held = None
            gc.collect()  # the collector is off: models are cycles

    def _probes(self, subject: Subject, plan: Plan, indices: Sequence[int], steps: int) -> None:
        for index in indices:
            probe = plan.probes[index]
            self.report(f"Probe {probe.name}", index + 1, steps)
            try:
                self._record(subject, plan, index)
            except AtlasError:
                raise
            except Exception as error:
                if probe.dtype == "float32":
                    raise
                reason = message_of(error, 200)
                where = place(error, subject.roots["source"])
                self.notes.append(
                    f"The code does not run in {probe.dtype} on this machine "
                    f"({f'{where}: ' if where else ''}{type(error).__name__}: {reason}); every probe is float32."
                )
                plan.probes[index] = msgspec.structs.replace(probe, dtype="float32")
                self._record(subject, plan, index)

    def _true_size(self, subject: Subject, steps: int) -> tuple[list[Parameter], str | None]:
        """Parameters of the published configuration, and the run on the meta device."""
        self._let_go()
        self.report("Published size on the meta device", steps - 1, steps)
        dtype = self.job.dtype if self.job.dtype in LOW_PRECISION else "float32"
        try:
            with self.clock.stage("meta instantiate"):
                left_out.bring_kernels()
                model = subject.instantiate({}, str(dtype), "meta")
        except Exception as error:  # the model's code may raise anything
            where = place(error, subject.roots["source"])
            return [], f"{where or 'meta device'}: {type(error).__name__}: {message_of(error)}"
        parameters = [described for described, _ in describe_parameters(model)]
        if any(tensor.device.type != "meta" for tensor in model.parameters()):
            self.notes.append("Some parameters of the published size were made off the meta device.")
        with self.clock.stage("meta forward"):
            recording = true_size.run_true_size(subject, model, true_size.true_size_probe(str(dtype)))
        with self.clock.stage("write"):
            if compact.is_worth_it(recording):
                del model
                gc.collect()  # tens of thousands of experts, before another copy of the events is made
                recording = compact.compact(recording)
            self._write(recording)
        if recording.failure:
            self.notes.append(f"The run at published size ended early: {recording.failure}")
        return parameters, None

    def _write(self, recording: Recording) -> None:
        """Under another name first: the parent reads a recording as soon as it is there."""
        path = Path(self.job.output) / f"recording-{recording.probe.name}.json"
        part = path.with_suffix(".part")
        part.write_bytes(encoded(recording))
        part.replace(path)

    def _write_summary(
        self,
        subject: Subject,
        published: Published,
        plan: Plan,
        parameters: list[Parameter],
        failure: str | None,
    ) -> None:
        import sys

        transformers = sys.modules.get("transformers")
        summary = Summary(
            format=RECORDING_FORMAT,
            python=platform.python_version(),
            torch=str(torch.__version__),
            transformers=str(getattr(transformers, "__version__", "")),
            effective_configuration=published.effective,
            choices=plan.choices,
            parameters=parameters,
            parameters_failure=failure,
            seconds=self.clock.seconds,
            notes=[*subject.notes, *self.notes],
        )
        (Path(self.job.output) / "summary.json").write_bytes(encoded(summary))
