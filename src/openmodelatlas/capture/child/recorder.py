"""Records what a running model does: fills :class:`openmodelatlas.capture.recording.Recording`.

Two observers work together. A ``TorchFunctionMode`` sees every torch call at the level of the author's code
(:mod:`.operations`); a trace function follows calls and lines in the model's files (:mod:`.calls`). Both number
tensors through one table (:mod:`.tensors`), which lives as long as the recorder, so that a cache filled in the prefill
is the same cache in the decode step.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch import nn

from openmodelatlas.capture.child.calls import CallTracer
from openmodelatlas.capture.child.distinct import DistinctLayers
from openmodelatlas.capture.child.encode import Encoder
from openmodelatlas.capture.child.frames import FileTable
from openmodelatlas.capture.child.modules import describe_modules, describe_parameters
from openmodelatlas.capture.child.operations import OperationMode, OperationRecorder
from openmodelatlas.capture.child.spans import SpanTable
from openmodelatlas.capture.child.tensors import TensorTable
from openmodelatlas.capture.collector import no_garbage_collection
from openmodelatlas.capture.recording import RECORDING_FORMAT, Parameter, Phase, Probe, Recording
from openmodelatlas.capture.standins import registry


class Recorder:
    """Records the runs of one model on one probe.

    Args:
        model: the model; its modules and parameters must stay the same while it is recorded.
        roots: folder of the source under ``source``; files below it are named relative to it.
        keep_values: keep a contiguous copy of every tensor of distinct layers (:mod:`.distinct`).

    Attributes:
        notes: sentences on what could not be recorded (threads, a replaced trace function).
    """

    def __init__(self, model: nn.Module, *, roots: dict[str, Path], keep_values: bool) -> None:
        self._files = FileTable(roots)
        self._spans = SpanTable(self._files)
        on_meta = any(parameter.device.type == "meta" for parameter in model.parameters())
        keep_records = keep_values or on_meta  # values of equal layers are dropped, experts that never ran are left out
        self._tensors = TensorTable(keep_values=keep_values, keep_records=keep_records)
        self._modules = describe_modules(model, self._files)
        self._parameters = self._enter_parameters(model)
        held = [module for _, module in model.named_modules()]
        self._held = held  # an id must not come to mean another module
        encoder = Encoder(
            self._tensors.number,
            self._tensors.references,
            {id(module): index for index, module in enumerate(held)},
            [module.name for module in self._modules],
            [type(module).__name__ for module in held],
        )
        self._encoder = encoder
        self._tracer = CallTracer(self._spans, encoder, held)
        self._recorder = OperationRecorder(
            self._tracer, encoder, self._tensors, on_meta=on_meta, keep_records=keep_records
        )
        self._layers: DistinctLayers | None = None
        if keep_values:
            names = [module.name for module in self._modules]
            table = self._recorder.table
            self._layers = self._tracer.layers = DistinctLayers(
                self._tensors, table.latest, self._recorder.forms.forms, self._tracer.calls, names, self._parameters
            )
        self.notes = self._tracer.notes

    @property
    def operations(self) -> int:
        """How many were recorded so far."""
        return self._recorder.table.count

    def _enter_parameters(self, model: nn.Module) -> list[Parameter]:
        entered = []
        for index, (parameter, tensor) in enumerate(describe_parameters(model)):
            number = self._tensors.enter(tensor, parameter.kind, index, name="")
            entered.append(msgspec.structs.replace(parameter, tensor=number))
        return entered

    @contextlib.contextmanager
    def record(self, phase: Phase, inputs: dict[str, torch.Tensor]) -> Iterator[None]:
        """Record the model's code that runs inside the ``with`` block, in this thread.

        Args:
            phase: prefill or decode.
            inputs: tensors that the probe hands to the model, by argument name.
        """
        for name, tensor in inputs.items():
            if self._tensors.known(tensor) is None:
                self._tensors.enter(tensor, "input", -1, name=name)
        tracer = self._tracer
        tracer.phase = phase
        trace, thread_trace, hook = sys.gettrace(), threading.gettrace(), registry.current_hook
        threading.settrace(self._thread_started)
        registry.current_hook = self._run_kernel
        try:
            with no_garbage_collection(), OperationMode(self._recorder):
                tracer.install()
                try:
                    yield
                finally:
                    sys.settrace(trace)
        finally:
            registry.current_hook = hook
            threading.settrace(thread_trace)
            tracer.close()

    def _thread_started(self, frame: Any, event: str, arg: Any) -> None:
        self._tracer.note("The model's code started a thread; what ran in it is not recorded.")

    def _run_kernel(
        self,
        spec: registry.KernelSpec,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """The hook of the stand-ins: one call with one operation, nothing of its inside."""
        tracer = self._tracer
        if not tracer.stack or tracer.stack[-1].kind == "import":
            return function(*args, **kwargs)
        sys.settrace(None)
        try:
            with torch._C.DisableTorchFunction():
                call = tracer.begin("kernel", spec.name, None, -1)
                call.frame = sys._getframe(0)
                try:
                    call.arguments = self._bound(function, args, kwargs)
                    result = self._recorder.apply(spec.name, None, function, args, kwargs, call.outer)
                    call.result = self._encoder.encode(result, [])
                finally:
                    tracer.stack.pop().frame = None
                return result
        finally:
            tracer.install()

    def _bound(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        bound = inspect.signature(function).bind(*args, **kwargs)
        return {name: self._encoder.encode(value, []) for name, value in bound.arguments.items()}

    def finish(self, probe: Probe, failure: str | None = None) -> tuple[Recording, dict[str, torch.Tensor]]:
        """Everything recorded, as data, and the values by decimal tensor number (empty without ``keep_values``)."""
        with no_garbage_collection():
            recording = Recording(
                format=RECORDING_FORMAT,
                probe=probe,
                codes=self._spans.codes(),
                spans=self._spans.spans(),
                files=self._files.recorded(),
                modules=self._modules,
                parameters=self._parameters,
                tensors=self._tensors.table.finished(),
                calls=[call.recorded() for call in self._tracer.calls],
                forms=self._recorder.forms.forms,
                operations=self._recorder.table.finished(),
                failure=failure,
            )
            if self._layers is not None:
                self._layers.finish()
            values = {str(number): value for number, value in self._tensors.values().items()}
        return recording, values

    def forget(self) -> None:
        """Let go of everything recorded, so that it is freed without the garbage collector.

        The collector would search it for 0.25 s a probe (measured). Nothing can be recorded afterwards.
        """
        with no_garbage_collection():
            self._tracer.forget()
            self._tensors.forget()
