"""Checks a recording that a child process brought back before anything else looks at it.

``msgspec`` has already checked the types, and with them that sizes of tensors, steps and references are not too small
and that encoded values have the form that :mod:`openmodelatlas.capture.recording` describes. What remains: no reference
points behind its table, lines lie in their files, columns start at 0, and file paths stay inside. The large tables are
checked as a whole: a recording of Kimi K2 holds 28,000 operations and six of them are checked per build; only when
something is wrong is it looked for.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, cast

from openmodelatlas.capture import encoded
from openmodelatlas.capture.recording import DEEPEST, RECORDING_FORMAT, Parameter, Recording, Summary
from openmodelatlas.capture.text import lines_of
from openmodelatlas.errors import RecordingError

_ANY = 2**63
"""More than any reference: places of a form are compared with each other."""


_LONGEST = 400
"""Characters of a message; names, paths and shapes in it are the child's."""


def validate(recording: Recording) -> None:
    """Check every statement above.

    Raises:
        RecordingError: the first that does not hold; ``where`` names the record, such as ``operations[12]``.
    """
    if recording.format != RECORDING_FORMAT:
        _fail("format", f"The recording has format {recording.format}; this version reads {RECORDING_FORMAT}.")
    _probe(recording)
    _files(recording)
    _places(recording)
    _modules_and_parameters(recording)
    _tensors(recording)
    _calls(recording)
    _operations(recording, _forms(recording))


def validate_summary(summary: Summary) -> None:
    """Check the format and the shapes of a summary's parameters. Raises RecordingError."""
    if summary.format != RECORDING_FORMAT:
        _fail("summary.format", f"The summary has format {summary.format}; this version reads {RECORDING_FORMAT}.")
    for position, parameter in enumerate(summary.parameters):
        _shape(parameter.shape, "summary.parameters", position)
        if parameter.tensor != -1:
            _fail(f"summary.parameters[{position}]", "A parameter at true size cannot have a tensor number.")


def _fail(where: str, what: str) -> None:
    shown, place = (text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…" for text in (what, where))
    raise RecordingError(shown, where=f"recording: {place}")


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


def _places(recording: Recording) -> None:
    """Functions, expressions and classes lie in their files."""
    lengths = [len(lines_of(file.text)) for file in recording.files]
    for position, code in enumerate(recording.codes):
        _in_table(code.file, len(lengths), "codes", position, "file", none=False)
        if not 1 <= code.first_line <= code.last_line <= lengths[code.file]:
            _fail(f"codes[{position}]", f"Lines {code.first_line} to {code.last_line} are no range of its file.")
    for position, span in enumerate(recording.spans):
        _in_table(span.file, len(lengths), "spans", position, "file", none=False)
        ordered = (1, 0) <= (span.line, span.column) <= (span.end_line, span.end_column)
        if not ordered or span.column < 0 or span.end_column < 0 or span.end_line > lengths[span.file]:
            _fail(f"spans[{position}]", f"The span {span} is no range of characters of its file.")
    for position, module in enumerate(recording.modules):
        _in_table(module.file, len(lengths), "modules", position, "file", none=True)
        last = lengths[module.file] if module.file >= 0 else 0
        if not 0 <= module.first_line <= module.last_line <= last:
            _fail(f"modules[{position}]", f"Lines {module.first_line} to {module.last_line} are no range of its file.")


def _modules_and_parameters(recording: Recording) -> None:
    tensors = len(recording.tensors)
    if len({module.name for module in recording.modules}) != len(recording.modules):
        _fail("modules", "Two modules have the same name.")
    parameters: Iterable[tuple[int, Parameter]] = enumerate(recording.parameters)
    for position, parameter in parameters:
        _in_table(parameter.tensor, tensors, "parameters", position, "tensor", none=True)
        _shape(parameter.shape, "parameters", position)


def _tensors(recording: Recording) -> None:
    tensors = recording.tensors
    tables = {"operation": len(recording.operations), "parameter": len(recording.parameters)}
    tables["buffer"] = tables["parameter"]
    for position, tensor in enumerate(tensors):
        length = tables.get(tensor.origin)
        if length is None:
            if tensor.index != -1:
                _fail(f"tensors[{position}].index", f"A tensor from {tensor.origin} refers to {tensor.index}.")
        elif not 0 <= tensor.index < length:
            _in_table(tensor.index, length, "tensors", position, "index", none=False)
    _below([tensor.base for tensor in tensors], len(tensors), "tensors", "base")


def _calls(recording: Recording) -> None:
    calls = recording.calls
    # An enclosing call begins first, so that no cycle of parents is possible.
    parents = [call.parent for call in calls]
    positions = range(len(calls))
    if not all(map(operator.lt, parents, positions)):
        position = next(position for position in positions if parents[position] >= position)
        _fail(f"calls[{position}].parent", f"The call {parents[position]} does not begin before it.")
    _below([call.code for call in calls], len(recording.codes), "calls", "code")
    _below([call.module for call in calls], len(recording.modules), "calls", "module")
    _below([call.site for call in calls], len(recording.spans), "calls", "site")
    tensors = len(recording.tensors)
    for position, call in enumerate(calls):
        for value in (*call.arguments.values(), call.result):
            _value(value, tensors, "calls", position)


def _forms(recording: Recording) -> list[int]:
    """How many tensors the arguments of each form are or hold."""
    forms = recording.forms
    _below([form.span for form in forms], len(recording.spans), "forms", "span")
    counts: list[int] = []
    for position, form in enumerate(forms):
        values = [*form.arguments, *form.keywords.values()]
        for value in values:
            _value(value, _ANY, "forms", position)
        places = [place for value in values for place in encoded.tensors(value)]
        if places != list(range(len(places))):
            _fail(f"forms[{position}]", f"The places of its tensors are {places}, not counted from 0.")
        counts.append(len(places))
    return counts


def _operations(recording: Recording, counts: Sequence[int]) -> None:
    """``counts``: how many tensors operations of each form read."""
    operations, tensors = recording.operations, len(recording.tensors)
    forms = [cast(int, operation.form) for operation in operations]
    _below([operation.call for operation in operations], len(recording.calls), "operations", "call")
    _below(forms, len(counts), "operations", "form")
    _all_below([operation.tensors for operation in operations], tensors, "operations", "tensors")
    _all_below([operation.outputs for operation in operations], tensors, "operations", "outputs")
    _all_below([operation.writes for operation in operations], tensors, "operations", "writes")
    given = [len(operation.tensors) for operation in operations]
    if given != [counts[form] for form in forms]:
        position = next(position for position, form in enumerate(forms) if given[position] != counts[form])
        wanted = counts[forms[position]]
        _fail(f"operations[{position}].tensors", f"It reads {given[position]} tensors, its form {wanted}.")
    for position, operation in enumerate(operations):
        if operation.result is not None:
            _value(operation.result, tensors, "operations", position)


def _below(numbers: Sequence[int], length: int, where: str, field: str) -> None:
    """One reference of each record of a table; none may lie behind the last of ``length``."""
    if numbers and max(numbers) >= length:
        position = next(position for position, number in enumerate(numbers) if number >= length)
        _fail(f"{where}[{position}].{field}", f"The reference {numbers[position]} points outside a table of {length}.")


def _all_below(lists: Sequence[Sequence[int]], length: int, where: str, field: str) -> None:
    """The same for several references in each record."""
    if max(chain.from_iterable(lists), default=-1) >= length:
        _below([max(numbers, default=-1) for numbers in lists], length, where, field)


def _value(value: Any, tensors: int, where: str, position: int) -> None:
    """An encoded value of a record of a table (see :mod:`openmodelatlas.capture.recording`)."""
    if type(value) is dict:
        number = value.get("tensor", tensors)
        if (number >= tensors or len(value) > 1) and not _is_encoded(value, tensors, DEEPEST):
            _fail(f"{where}[{position}]", f"A value is not encoded as the format says, or no tensor: {value}")


def _is_encoded(value: Any, tensors: int, levels: int) -> bool:
    """Whether a value has one kind (and ``length``), is at most ``levels`` deep, and no tensor lies behind the last."""
    if type(value) is not dict:
        return True
    number = value.get("tensor")
    if number is not None:
        return len(value) == 1 and number < tensors
    content = value.get("list", value.get("dict", value.get("slice")))
    if content is None:
        return len(value) == 1 and "length" not in value
    if len(value) > 1 and not (len(value) == 2 and value.get("length", 0) > len(content) and "slice" not in value):
        return False
    parts: Iterable[Any] = content.values() if type(content) is dict else content
    return levels > 0 and all(_is_encoded(part, tensors, levels - 1) for part in parts)
