"""Every torch function the model's code calls, at the level at which its author wrote it."""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from openmodelatlas.capture.child.calls import REPLACED, CallTracer
from openmodelatlas.capture.child.encode import Encoder, is_tensor
from openmodelatlas.capture.child.forms import FormTable
from openmodelatlas.capture.child.functions import KNOWN, PASSED, TorchFunction, torch_function
from openmodelatlas.capture.child.meta import MetaFunctions
from openmodelatlas.capture.child.table import AT_ONCE, Table
from openmodelatlas.capture.child.tensors import TensorTable, storage_of, version_of
from openmodelatlas.capture.recording import Operation

_SEQUENCES = (list, tuple)
_NESTED = (torch.Tensor, list, tuple)

COMPUTED_BY_IMPORT = (
    "An import computed with tensors of the model; what runs because of an import is not recorded, so that operations, "
    "and perhaps modules, are missing."
)

# Shared by the records that have none of these, and never written to.
_NO_TENSORS: list[torch.Tensor] = []
_NO_NUMBERS: list[int] = []
_NO_KEYWORDS: dict[str, Any] = {}


class OperationMode(TorchFunctionMode):
    """Hands every torch function to an :class:`OperationRecorder`, with the trace function off meanwhile."""

    def __init__(self, recorder: OperationRecorder) -> None:
        super().__init__()
        self._recorder = recorder
        self._tracer = recorder.tracer

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        # Without variables of its own: it starts under the trace function, for which Python looks each of them up, and
        # one without a value costs an exception.
        if func not in KNOWN:
            torch_function(func)
        if func in PASSED or not self._tracer.stack:
            return func(*args, **kwargs) if kwargs else func(*args)
        if sys.gettrace() is not self._tracer.function:
            self._tracer.note(REPLACED)
        sys.settrace(None)
        try:
            return self._recorder.run(func, args, kwargs or _NO_KEYWORDS, sys._getframe(1))
        finally:
            sys.settrace(self._tracer.function)


class OperationRecorder:
    """Runs torch functions and writes down what they read, gave and wrote.

    Attributes:
        tracer: the running calls.
        table: everything recorded so far.
        forms: what operations have in common.
    """

    def __init__(
        self, tracer: CallTracer, encoder: Encoder, tensors: TensorTable, *, on_meta: bool, keep_records: bool
    ) -> None:
        """``on_meta``: value-dependent functions may meet tensors without values; ``keep_records``: see ``Table``."""
        self.tracer = tracer
        self.table: Table[Operation] = Table(keep=keep_records)
        self._pack_at = sys.maxsize if keep_records else AT_ONCE
        self._meta = MetaFunctions() if on_meta else None
        self._encoder = encoder
        self._tensors = tensors
        self.forms = FormTable(encoder, tensors)

    def run(self, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], frame: FrameType) -> Any:
        """Call ``func`` and record it; gives its result, with tensors that only were handed through made distinct."""
        tracer = self.tracer
        innermost = tracer.stack[-1]
        call = innermost if innermost.frame is frame else tracer.settle(frame)
        if call is None:
            return func(*args, **kwargs)
        if call.kind == "import":
            if any(self._tensors.known(tensor) is not None for tensor in _flatten([*args, *kwargs.values()])):
                tracer.note(COMPUTED_BY_IMPORT)
            return func(*args, **kwargs)
        running = call.running
        site = running.sites.get(frame.f_lasti) if running is not None and call.frame is frame else None
        span, is_operator = site or tracer.site(call)
        known = KNOWN[func]
        if known.kind == "pass":
            self._tensors.expose([value for value in args if is_tensor(value)])
            return func(*args, **kwargs)
        name = known.operator_name if is_operator else known.name
        if self._meta is not None:
            func = self._meta.function(known, func)
        return self.apply(name, known, func, args, kwargs, span)

    def apply(
        self,
        name: str,
        known: TorchFunction | None,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        span: int,
    ) -> Any:
        """Call ``func`` in the innermost running call; ``known`` is ``None`` for kernels, which are always recorded."""
        tracer, tensors = self.tracer, self._tensors
        call = tracer.stack[-1]
        step = len(call.trace)
        order = tracer.order
        tracer.order = order + 1
        found: list[torch.Tensor] = []
        form, read = self.forms.enter(name, span, args, kwargs, found)
        if known is not None and known.read_only and "out" not in kwargs:
            result, changed = func(*args, **kwargs) if kwargs else func(*args), _NO_TENSORS
        else:
            result, changed = self._watched(known, func, args, kwargs, found)
        encoded: Any = None
        previous = _NO_NUMBERS
        if not changed and type(result) is torch.Tensor and id(result) not in tensors.references:
            outputs = [tensors.enter(result, "operation", self.table.earlier + len(self.table.latest), "", found)]
        else:
            outputs, previous = [], []
            result = self._enter_results(result, found, changed, outputs, previous)
            if changed:
                self._enter_writes(changed, outputs, previous)
            if not outputs:
                encoded = self._encoder.encode(result, [])
        if outputs or known is None or known.kind == "read":
            self.table.latest.append(
                Operation(order, call.index, form, step, read, outputs, encoded, previous)  # type: ignore[arg-type]
            )
            if len(self.table.latest) >= self._pack_at:
                self.table.pack()
                tensors.table.pack()
        return result

    def _watched(
        self,
        known: TorchFunction | None,
        func: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        found: list[torch.Tensor],
    ) -> tuple[Any, list[torch.Tensor]]:
        """Call a function that may write to what it reads; its result and the written inputs (see :meth:`_written`)."""
        if self._tensors.keeps_values:
            self._tensors.expose(found[:1] if known is not None and known.writes else found)
        versions = [version_of(tensor) for tensor in found]
        result = func(*args, **kwargs) if kwargs else func(*args)
        if known is not None and known.uninitialised:
            _clear(result)
        if self._tensors.keeps_values:
            self._tensors.expose(_flatten(result))
        unchanged = versions == [version_of(tensor) for tensor in found]
        if unchanged and "out" not in kwargs and (known is None or not known.writes):
            return result, _NO_TENSORS
        return result, self._written(known, found, versions, args, kwargs, result)

    def _written(
        self,
        known: TorchFunction | None,
        found: list[torch.Tensor],
        versions: list[int],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        result: Any,
    ) -> list[torch.Tensor]:
        """The inputs that were written to: one per storage; views that changed with it are found afterwards."""
        written = [t for t, version in zip(found, versions, strict=True) if version >= 0 and t._version != version]
        if not written:
            if known is not None and known.writes and args and is_tensor(args[0]):
                return [args[0]]
            if is_tensor(kwargs.get("out")) and version_of(kwargs["out"]) < 0:
                return [kwargs["out"]]
            return []
        if len(written) == 1:
            return written
        named = [*_flatten(result), *_flatten(kwargs.get("out"))]
        if known is not None and known.writes:
            named.append(args[0])
        written.sort(key=lambda tensor: not any(tensor is other for other in named))
        chosen: dict[int, torch.Tensor] = {}
        for tensor in written:
            chosen.setdefault(storage_of(tensor) or id(tensor), tensor)
        return list(chosen.values())

    def _enter_results(
        self,
        result: Any,
        found: Sequence[torch.Tensor],
        written: Sequence[torch.Tensor],
        outputs: list[int],
        previous: list[int],
    ) -> Any:
        if is_tensor(result):
            return self._enter_result(result, found, written, outputs, previous)
        if isinstance(result, _SEQUENCES) and any(issubclass(type(item), _NESTED) for item in result):
            items = [self._enter_results(item, found, written, outputs, previous) for item in result]
            if all(map(operator.is_, items, result)):
                return result
            return type(result)(*items) if hasattr(result, "_fields") else type(result)(items)
        return result

    def _enter_result(
        self,
        result: torch.Tensor,
        found: Sequence[torch.Tensor],
        written: Sequence[torch.Tensor],
        outputs: list[int],
        previous: list[int],
    ) -> torch.Tensor:
        tensors = self._tensors
        known = tensors.known(result)
        if known is not None:
            if any(result is tensor for tensor in written):
                if known not in outputs:
                    previous.append(known)
                    outputs.append(tensors.enter(result, "operation", self.table.count))
                return result
            # The function handed a tensor through (``.to`` its own dtype): data flow must not fuse before and after.
            result = result.view(result.shape) if result.layout is torch.strided else result.detach()
        outputs.append(tensors.enter(result, "operation", self.table.count, inputs=found))
        return result

    def _enter_writes(
        self,
        written: Sequence[torch.Tensor],
        outputs: list[int],
        previous: list[int],
    ) -> None:
        """New numbers for written tensors that are no results, then for all others that the writes changed."""
        tensors = self._tensors
        done = set(outputs)
        for tensor in written:
            number = tensors.number(tensor)
            if number not in done:
                previous.append(number)
                outputs.append(tensors.enter(tensor, "operation", self.table.count))
        fresh = set(outputs)
        for tensor in written:
            for other in tensors.others_written(tensor):
                number = tensors.number(other)
                if number not in fresh:
                    previous.append(number)
                    fresh.add(tensors.enter(other, "operation", self.table.count))
                    outputs.append(tensors.number(other))


def _clear(result: Any) -> None:
    """Zeros in place of what lay in memory, so that two runs record the same values."""
    if isinstance(result, torch.Tensor) and result.device.type != "meta":
        with torch.no_grad():
            result.zero_()


def _flatten(value: Any) -> list[torch.Tensor]:
    if is_tensor(value):
        return [value]
    if isinstance(value, _SEQUENCES):
        return [tensor for item in value for tensor in _flatten(item)]
    return []
