"""Checks a recording that a child process brought back before anything else looks at it.

``msgspec`` has already checked the types. What remains: every integer reference lies in its table, sizes are not
negative, lines start at 1, columns at 0, and file paths stay inside. The loops are tight on purpose: a recording of
Kimi K2 holds 11,000 operations and six of them are checked per build.
"""

from __future__ import annotations

import reprlib
from collections.abc import Iterable, Sequence
from typing import Any

from openmodelatlas.capture.recording import RECORDING_FORMAT, Parameter, Recording, Summary
from openmodelatlas.errors import RecordingError

_NUMBERED = {int, float, str, bool, type(None)}


def validate(recording: Recording) -> None:
    """Check every statement above.

    Raises:
        RecordingError: the first that does not hold; ``where`` names the record, such as ``operations[12]``.
    """
    if recording.format != RECORDING_FORMAT:
        _fail("format", f"The recording has format {recording.format}; this version reads {RECORDING_FORMAT}.")
    _probe(recording)
    _files(recording)
    _modules_and_parameters(recording)
    _tensors(recording)
    _calls(recording)
    _operations(recording)


def validate_summary(summary: Summary) -> None:
    """Check the format and the shapes of a summary's parameters. Raises RecordingError."""
    if summary.format != RECORDING_FORMAT:
        _fail("summary.format", f"The summary has format {summary.format}; this version reads {RECORDING_FORMAT}.")
    for position, parameter in enumerate(summary.parameters):
        _shape(parameter.shape, "summary.parameters", position)
        if parameter.tensor != -1:
            _fail(f"summary.parameters[{position}]", "A parameter at true size cannot have a tensor number.")


def _fail(where: str, what: str) -> None:
    raise RecordingError(what, where=f"recording: {where}")


def _in_table(value: int, length: int, where: str, position: int, field: str, *, none: bool) -> None:
    if not (-1 if none else 0) <= value < length:
        _fail(f"{where}[{position}].{field}", f"The reference {value} points outside its table of {length}.")


def _shape(shape: Sequence[int], where: str, position: int) -> None:
    if shape and min(shape) < 0:
        _fail(f"{where}[{position}].shape", f"The shape {list(shape)} has a negative size.")


def _probe(recording: Recording) -> None:
    probe = recording.probe
    if not probe.name.replace("-", "").isalnum():
        _fail("probe.name", f"The name of a probe has letters, digits and hyphens only, not {probe.name!r}.")
    for key, value in {**probe.sizes, "batch": probe.batch, "tokens": probe.tokens}.items():
        if value < 0:
            _fail(f"probe.{key}", f"The size {value} is negative.")


def _files(recording: Recording) -> None:
    for position, file in enumerate(recording.files):
        parts = file.path.split("/")
        if not file.path or "\\" in file.path or "\0" in file.path or not {"", ".", ".."}.isdisjoint(parts):
            _fail(f"files[{position}].path", f"The path {file.path!r} is not a plain relative one.")
        if len(file.sha256) != 64 or not set(file.sha256) <= set("0123456789abcdef"):
            _fail(f"files[{position}].sha256", "The hash is no SHA-256 in hexadecimal digits.")
    files = len(recording.files)
    for position, code in enumerate(recording.codes):
        _in_table(code.file, files, "codes", position, "file", none=False)
        if not 1 <= code.first_line <= code.last_line:
            _fail(f"codes[{position}]", f"Lines {code.first_line} to {code.last_line} are no range.")
    for position, span in enumerate(recording.spans):
        _in_table(span.file, files, "spans", position, "file", none=False)
        ordered = (1, 0) <= (span.line, span.column) <= (span.end_line, span.end_column)
        if not ordered or span.column < 0 or span.end_column < 0:
            _fail(f"spans[{position}]", f"The span {span} is no range of characters.")


def _modules_and_parameters(recording: Recording) -> None:
    files, tensors = len(recording.files), len(recording.tensors)
    names = set()
    for position, module in enumerate(recording.modules):
        _in_table(module.file, files, "modules", position, "file", none=True)
        if not 0 <= module.first_line <= module.last_line:
            _fail(f"modules[{position}]", f"Lines {module.first_line} to {module.last_line} are no range.")
        names.add(module.name)
    if len(names) != len(recording.modules):
        _fail("modules", "Two modules have the same name.")
    parameters: Iterable[tuple[int, Parameter]] = enumerate(recording.parameters)
    for position, parameter in parameters:
        _in_table(parameter.tensor, tensors, "parameters", position, "tensor", none=True)
        _shape(parameter.shape, "parameters", position)


def _tensors(recording: Recording) -> None:
    tables = {"operation": len(recording.operations), "parameter": len(recording.parameters)}
    tables["buffer"] = tables["parameter"]
    count = len(recording.tensors)
    for position, tensor in enumerate(recording.tensors):
        if tensor.shape and min(tensor.shape) < 0:
            _shape(tensor.shape, "tensors", position)
        length = tables.get(tensor.origin)
        if length is None:
            if tensor.index != -1:
                _fail(f"tensors[{position}].index", f"A tensor from {tensor.origin} refers to {tensor.index}.")
        elif not 0 <= tensor.index < length:
            _in_table(tensor.index, length, "tensors", position, "index", none=False)
        if not -1 <= tensor.base < count:
            _in_table(tensor.base, count, "tensors", position, "base", none=True)


def _calls(recording: Recording) -> None:
    codes, modules, spans = len(recording.codes), len(recording.modules), len(recording.spans)
    values = _Values(recording)
    for position, call in enumerate(recording.calls):
        # An enclosing call begins first, so that no cycle of parents is possible.
        _in_table(call.parent, position, "calls", position, "parent", none=True)
        _in_table(call.code, codes, "calls", position, "code", none=True)
        _in_table(call.module, modules, "calls", position, "module", none=True)
        _in_table(call.site, spans, "calls", position, "site", none=True)
        if call.step < 0 or call.order < 0:
            _fail(f"calls[{position}]", "An order or step is negative.")
        if call.trace and min(call.trace) < 1:
            _fail(f"calls[{position}].trace", "A line number is below 1.")
        values.check(call.arguments.values(), "calls", position)
        values.check((call.result,), "calls", position)


def _operations(recording: Recording) -> None:
    calls, spans, tensors = len(recording.calls), len(recording.spans), len(recording.tensors)
    values = _Values(recording)
    for position, operation in enumerate(recording.operations):
        if not 0 <= operation.call < calls:
            _in_table(operation.call, calls, "operations", position, "call", none=False)
        if not -1 <= operation.span < spans:
            _in_table(operation.span, spans, "operations", position, "span", none=True)
        if operation.step < 0 or operation.order < 0:
            _fail(f"operations[{position}]", "An order or step is negative.")
        for numbers in (operation.outputs, operation.writes):
            if numbers and not 0 <= min(numbers) <= max(numbers) < tensors:
                _fail(f"operations[{position}]", f"The tensors {numbers} lie outside the table of {tensors}.")
        values.check(operation.arguments, "operations", position)
        if operation.keywords:
            values.check(operation.keywords.values(), "operations", position)
        values.check((operation.result,), "operations", position)


class _Values:
    """Checks encoded values (see the conventions of :mod:`openmodelatlas.capture.recording`)."""

    def __init__(self, recording: Recording) -> None:
        self._tensors = len(recording.tensors)

    def check(self, values: Iterable[Any], where: str, position: int) -> None:
        tensors = self._tensors
        for value in values:
            if type(value) in _NUMBERED:
                continue
            if type(value) is not dict or not (len(value) == 1 or _is_cut_short(value)):
                _fail(f"{where}[{position}]", f"A value is not encoded as the format says: {reprlib.repr(value)}")
            number = value.get("tensor")
            if type(number) is int:
                if not 0 <= number < tensors:
                    _fail(f"{where}[{position}]", f"Tensor {number} lies outside the table of {tensors}.")
            else:
                self._check_other(value, where, position)

    def _check_other(self, value: dict[str, Any], where: str, position: int) -> None:
        kind, content = next((kind, content) for kind, content in value.items() if kind != "length" or len(value) == 1)
        if kind == "list" and type(content) is list:
            self.check(content, where, position)
        elif kind == "dict" and type(content) is dict:
            self.check(content.values(), where, position)
        elif kind == "slice" and type(content) is list and len(content) == 3:
            self.check(content, where, position)
        elif not (kind in _TEXTS and type(content) is str) and not (kind == "ellipsis" and content is True):
            _fail(f"{where}[{position}]", f"A value is encoded as an unknown or malformed {kind!r}.")


def _is_cut_short(value: dict[str, Any]) -> bool:
    if len(value) != 2 or "length" not in value:
        return False
    content: object = value.get("list", value.get("dict"))
    length = value["length"]
    return isinstance(content, list | dict) and type(length) is int and length > len(content)


_TEXTS = frozenset({"float", "dtype", "module", "object"})
