"""The stack of running calls, kept by a trace function that looks at the model's files only."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any, Literal, Protocol

import torch
from torch import nn

from openmodelatlas.capture.child.encode import Encoder
from openmodelatlas.capture.child.forwards import CALL, arguments_of, known_by_call, other_forwards
from openmodelatlas.capture.child.frames import is_model_file, is_module_file
from openmodelatlas.capture.child.spans import RunningCode, SpanTable, is_of_its_file
from openmodelatlas.capture.recording import Call, Phase

CallKind = Literal["module", "function", "kernel"]
RunningKind = CallKind | Literal["import"]
"""Imports are on the stack while they run, and never recorded."""

ATTRIBUTE_ACCESS = frozenset({"__getattr__", "__getattribute__", "__setattr__", "__delattr__"})
"""Functions behind ``a.b``: never calls of their own (configurations run them thousands of times)."""

_IMPORT_SYSTEM = "<frozen importlib"
"""How the names of the files begin in which Python finds, loads and runs modules."""

REPLACED = "The model's code replaced the trace function; lines and calls until the next operation are missing."

OTHER_TEXT = (
    "{} was compiled from other text than that of the file that it names; its operations are shown where it is called."
)


@dataclass(slots=True, eq=False)
class RunningCall:
    """A call while it runs and afterwards; fields as in :class:`openmodelatlas.capture.recording.Call`.

    Attributes:
        running: its code, ``None`` for torch's own modules and kernels.
        frame: its frame while it runs (or is suspended, for generators).
        outer: span of the innermost expression of model code that led here.
        inside_module: whether some enclosing call is a module's.
        index: its number, -1 for imports.
    """

    kind: RunningKind
    name: str = ""
    module: int = -1
    code: int = -1
    running: RunningCode | None = None
    frame: FrameType | None = None
    index: int = -1
    order: int = -1
    phase: Phase = "prefill"
    parent: int = -1
    site: int = -1
    outer: int = -1
    step: int = 0
    inside_module: bool = False
    arguments: dict[str, Any] = field(default_factory=dict)
    result: Any = None
    trace: list[int] = field(default_factory=list)

    def recorded(self) -> Call:
        """The finished call as data."""
        assert self.kind != "import"
        return Call(
            order=self.order,
            parent=self.parent,
            kind=self.kind,
            code=self.code,
            name=self.name,
            module=self.module,
            site=self.site,
            step=self.step,
            phase=self.phase,
            arguments=self.arguments,
            result=self.result,
            trace=self.trace,
        )


class LayerObserver(Protocol):
    """Is told when the call of a module begins and ends."""

    def begin(self, call: RunningCall) -> None:
        """A module's call begins."""

    def end(self, call: RunningCall) -> None:
        """A module's call ended."""


class CallTracer:
    """Follows the calls of the model's code.

    Attributes:
        stack: calls that run now, outermost first.
        calls: every call so far.
        function: the trace function that is installed.
        order: the next number of the recording's event counter.
        phase: what is being recorded.
        notes: sentences on what could not be followed.
        layers: who is told of the calls of modules, if anyone.
    """

    def __init__(self, spans: SpanTable, encoder: Encoder, modules: Sequence[nn.Module]) -> None:
        """``modules``: all of the model, which comes first, in the order of the encoder's indices."""
        self.stack: list[RunningCall] = []
        self.calls: list[RunningCall] = []
        self.order = 0
        self.phase: Phase = "prefill"
        self.notes: list[str] = []
        self.function = self.trace  # one object, so that it can be told from another's
        self._spans = spans
        self._encoder = encoder
        self._forwards = other_forwards(modules)
        self._known_by_call = known_by_call(modules)
        self._codes: dict[int, RunningCode | None] = {}
        if self._known_by_call:
            self._codes[id(CALL)] = running = RunningCode(CALL, -1, -1)
            running.is_forward = True
        self._held: list[CodeType] = []
        self._suspended: dict[int, RunningCall] = {}
        self.layers: LayerObserver | None = None

    def trace(self, frame: FrameType, event: str, arg: Any) -> Any:
        """The global trace function: decides once per code object, costs a look-up in a dictionary afterwards.

        But for imports, which are followed by their frames.
        """
        try:
            running = self._codes[id(frame.f_code)]
        except KeyError:
            if self._settled_in_import(frame):
                return None
            if frame.f_code.co_filename.startswith(_IMPORT_SYSTEM):
                return self._enter_import(frame)
            running = self._classify(frame.f_code)
        if running is None or event != "call":
            return None
        return self._enter(frame, running)

    def _classify(self, code: CodeType) -> RunningCode | None:
        running = None
        if is_model_file(code.co_filename):
            if not is_of_its_file(code):
                self.note(OTHER_TEXT.format(code.co_qualname))
            elif code.co_name not in ATTRIBUTE_ACCESS:
                running = self._spans.add(code)
        elif (code.co_name == "forward" or id(code) in self._forwards) and is_module_file(code.co_filename):
            running = RunningCode(code, -1, -1)
        if running is not None and id(code) in self._forwards:
            running.is_forward = True
        self._held.append(code)
        self._codes[id(code)] = running
        return running

    def _enter(self, frame: FrameType, running: RunningCode) -> Any:
        if running.generator and id(frame) in self._suspended:
            self.stack.append(self._suspended.pop(id(frame)))
            return self._local
        stack = self.stack
        if stack and self.settle(frame.f_back) is not None and stack[-1].kind == "import":
            return None
        values = frame.f_locals
        module = -1
        if running.is_forward and running.receiver:
            module = self._encoder.modules.get(id(values.get(running.receiver)), -1)
        if module >= 0 and stack and stack[-1].module == module:
            module = -1  # super().forward(…): the module's call is open already
        if running.index < 0:
            if module < 0:
                return None
            if running.code is CALL:
                return self._enter_call(frame, running, module) if module in self._known_by_call else None
            frame.f_trace_lines = False
        call = self.begin("module" if module >= 0 else "function", running.code.co_name, running, module)
        call.frame = frame
        encode = self._encoder.encode
        found: list[torch.Tensor] = []
        caches = not call.inside_module
        names = running.arguments
        if module >= 0 and names and names[0] == running.receiver:
            names = names[1:]
        call.arguments = {name: encode(values[name], found, caches) for name in names}
        return self._local

    def _enter_call(self, frame: FrameType, running: RunningCode, module: int) -> Any:
        """The call of a module begins with torch's code around its ``forward``."""
        call = self.begin("module", "", running, module)
        call.frame = frame
        frame.f_trace_lines = False
        values = frame.f_locals
        given = arguments_of(values["self"], values["args"], values["kwargs"])
        found: list[torch.Tensor] = []
        caches = not call.inside_module
        call.arguments = {name: self._encoder.encode(value, found, caches) for name, value in given.items()}
        return self._local

    def _settled_in_import(self, frame: FrameType) -> bool:
        """Whether ``frame`` starts to run below an import, once calls that have ended are closed."""
        if not self.stack or self.stack[-1].kind != "import":
            return False
        call = self.settle(frame.f_back)
        return call is not None and call.kind == "import"

    def _enter_import(self, frame: FrameType) -> Any:
        """Something is imported: until that is done, nothing that runs is of the model's computation."""
        self.stack.append(RunningCall("import", frame=frame, inside_module=True))
        frame.f_trace_lines = False
        return self._local

    def begin(self, kind: CallKind, name: str, running: RunningCode | None, module: int) -> RunningCall:
        """Open a call below the innermost running one."""
        call = RunningCall(kind, name, module, running.index if running is not None else -1)
        call.index = len(self.calls)
        call.order = self.order
        call.phase = self.phase
        self.order += 1
        if running is not None and running.index >= 0:
            call.running = running
        elif module >= 0:
            call.name = self._encoder.module_classes[module]
        if self.stack:
            parent = self.stack[-1]
            call.parent = parent.index
            call.step = len(parent.trace)
            call.inside_module = parent.inside_module or parent.kind == "module"
            call.site = self.site(parent)[0] if parent.running is not None else -1
            call.outer = call.site if parent.running is not None else parent.outer
        self.calls.append(call)
        self.stack.append(call)
        if module >= 0 and self.layers is not None:
            self.layers.begin(call)
        return call

    def site(self, call: RunningCall) -> tuple[int, bool]:
        """Span of the expression that ``call`` is evaluating now, and whether it is an operator."""
        if call.running is None or call.frame is None:
            return call.outer, False
        return self._spans.site(call.running, call.frame.f_lasti)

    def _local(self, frame: FrameType, event: str, arg: Any) -> Any:
        """The trace function of one frame of a recorded call."""
        if event == "line":
            if frame.f_lineno:  # code that was compiled from text begins at line 0
                self.stack[-1].trace.append(frame.f_lineno)
        elif event == "return":
            self._leave(frame, arg)
        return self._local

    def _leave(self, frame: FrameType, value: Any) -> None:
        stack = self.stack
        while stack:
            call = stack.pop()
            if call.frame is frame:
                call.result = self._encoder.encode(value, [], caches=not call.inside_module)
                if call.running is not None and call.running.generator:
                    self._suspended[id(frame)] = call
                else:
                    call.frame = None
                    if call.module >= 0 and self.layers is not None:
                        self.layers.end(call)
                return
            call.frame = None

    def settle(self, frame: FrameType | None) -> RunningCall | None:
        """The innermost running call that ``frame`` lies in; calls whose return was not seen are closed."""
        while self.stack:
            expected = self.stack[-1].frame
            outer = frame
            while outer is not None and outer is not expected:
                outer = outer.f_back
            if outer is not None:
                return self.stack[-1]
            self.note(REPLACED)
            self.stack.pop().frame = None
        return None

    def note(self, sentence: str) -> None:
        """Keep a sentence for the reader of the atlas, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def install(self) -> None:
        """Start to follow calls in this thread."""
        sys.settrace(self.function)

    def close(self) -> None:
        """Forget frames, so that nothing of the model's run is kept alive."""
        for call in (*self.stack, *self._suspended.values()):
            call.frame = None
        self.stack.clear()
        self._suspended.clear()

    def forget(self) -> None:
        """Let go of all calls and code, and of itself: the tracer can follow nothing from now on."""
        self.calls = []
        self._codes = {}
        self._held = []
        del self.function
