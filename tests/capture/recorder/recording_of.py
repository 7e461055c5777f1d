"""Runs a small model under the recorder and answers questions about what was recorded."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch import nn

from openmodelatlas.capture.child.output import encoded
from openmodelatlas.capture.child.recorder import Recorder
from openmodelatlas.capture.recording import Call, Operation, Probe, Recording, link

PROBE = Probe(name="a", role="solve", sizes={}, batch=1, tokens=1, dtype="float32", seed=0)


class Seen:
    """A finished recording with its values, and the recording as it was handed over."""

    def __init__(self, recorder: Recorder) -> None:
        recording, self.values = recorder.finish(PROBE)
        self.unlinked = msgspec.json.decode(encoded(recording), type=Recording)
        self.recording = link(msgspec.json.decode(encoded(recording), type=Recording))
        self.notes = recorder.notes

    def text(self, span: int) -> str:
        """The characters of a span, cut out of the file's bytes."""
        place = self.recording.spans[span]
        lines = self.recording.files[place.file].text.encode().split(b"\n")[place.line - 1 : place.end_line]
        lines[-1] = lines[-1][: place.end_column]
        lines[0] = lines[0][place.column :]
        return b"\n".join(lines).decode()

    def operations(self, short: str) -> list[Operation]:
        """All operations whose name ends with ``short``."""
        return [o for o in self.recording.operations if o.function.rsplit(".", 1)[-1] == short]

    def operation(self, short: str) -> Operation:
        """The only operation of that name."""
        (found,) = self.operations(short)
        return found

    def calls(self, name: str) -> list[Call]:
        """Calls of a function (or torch module class, or kernel) of that name."""
        return [c for c in self.recording.calls if c.name == name]

    def call_of(self, module: str) -> Call:
        """The only call of a module."""
        index = [m.name for m in self.recording.modules].index(module)
        (found,) = (c for c in self.recording.calls if c.module == index)
        return found

    def value(self, number: int) -> torch.Tensor:
        return self.values[str(number)]


def record(model: nn.Module, *inputs: torch.Tensor, keep_values: bool = True, **keywords: Any) -> Seen:
    """One prefill with positional inputs named ``input0`` …"""
    recorder = Recorder(model, roots={"source": Path(__file__).parent}, keep_values=keep_values)
    with torch.no_grad(), recorder.record("prefill", {f"input{i}": t for i, t in enumerate(inputs)}):
        model(*inputs, **keywords)
    return Seen(recorder)


def numbers(value: Any) -> list[int]:
    """Tensor numbers in an encoded value, in order."""
    if isinstance(value, dict):
        if "tensor" in value:
            return [value["tensor"]]
        return [number for part in value.values() for number in numbers(part)]
    if isinstance(value, list):
        return [number for part in value for number in numbers(part)]
    return []


def parses(text: str) -> bool:
    """Whether ``text`` is an expression, a statement or the head of a ``for`` or ``with``."""
    for candidate in (f"({text}\n)", text, f"{text}:\n pass", f"{text}\n pass"):
        try:
            ast.parse(candidate)
        except SyntaxError:
            continue
        return True
    return False


def check_invariants(recording: Recording) -> None:
    """What holds for every recording: one producer a tensor, references in range, orders unique, nesting in order."""
    produced: dict[int, int] = {}
    for index, operation in enumerate(recording.operations):
        for number in operation.outputs:
            assert number not in produced
            produced[number] = index
            assert recording.tensors[number].origin == "operation"
            assert recording.tensors[number].index == index
        assert all(number < min(operation.outputs, default=number + 1) for number in operation.writes)
        assert -1 <= operation.span < len(recording.spans)
        call = recording.calls[operation.call]
        assert call.order < operation.order
        assert operation.step <= len(call.trace)
        reads = [n for v in (*operation.arguments, *operation.keywords.values()) for n in numbers(v)]
        assert all(recording.tensors[n].origin != "operation" or produced[n] < index for n in reads)
    for number, tensor in enumerate(recording.tensors):
        assert (tensor.origin == "operation") == (number in produced)
        assert tensor.base < len(recording.tensors)
        assert tensor.base != number
    orders = [event.order for event in (*recording.calls, *recording.operations)]
    assert len(orders) == len(set(orders))
    assert [c.order for c in recording.calls] == sorted(c.order for c in recording.calls)
    assert [o.order for o in recording.operations] == sorted(o.order for o in recording.operations)
    for index, call in enumerate(recording.calls):
        assert call.parent < index
        if call.parent >= 0:
            assert call.step <= len(recording.calls[call.parent].trace)
