"""Spans tell the truth: the text of an operation, evaluated again on its recorded operands, gives its recorded result.

The model is the installed transformers' DeepSeek V3 with tiny widths, at three layers (one dense, two mixtures).
"""

from __future__ import annotations

import ast
import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from openmodelatlas.capture.child.recorder import Recorder
from openmodelatlas.capture.child.weights import fill
from openmodelatlas.capture.recording import Operation, Probe, Recording
from openmodelatlas.graph.arguments import tensors_in
from openmodelatlas.graph.operands import _operands
from openmodelatlas.graph.syntax import FileSyntax, Position, position

from .driver import handed_over

PACKAGES = Path(transformers.__file__).parents[1]


MISSING = object()
"""The value of a tensor that was not kept: of equal layers, only one keeps its values."""


class Again:
    """A recording with its values and the model that made it: evaluates expressions once more."""

    def __init__(self, model: torch.nn.Module, recording: Recording, values: dict[str, torch.Tensor]) -> None:
        self.recording = recording
        self.values = values
        self.modules = dict(model.named_modules())
        self.files = [FileSyntax(file.text) for file in recording.files]
        self.globals = [_globals(file.path) for file in recording.files]

    def node(self, operation: Operation) -> ast.expr | None:
        """The expression at an operation's span; ``None`` for statements."""
        found = self.files[self.recording.spans[operation.span].file].at(self.where(operation))
        return found if isinstance(found, ast.expr) else None

    def where(self, operation: Operation) -> Position:
        """Where the expression of an operation stands in its file."""
        span = self.recording.spans[operation.span]
        return self.files[span.file].whole((span.line, span.column, span.end_line, span.end_column))

    def text(self, operation: Operation) -> str:
        """The characters of an operation's expression."""
        return self.files[self.recording.spans[operation.span].file].segment(self.where(operation))

    def frame(self, operation: Operation) -> int:
        """The call in whose function the span of an operation stands: torch's own modules have none."""
        call = operation.call
        while self.recording.calls[call].code < 0:
            call = self.recording.calls[call].parent
        return call

    def evaluate(self, index: int) -> Any:
        """The value of the text of an operation.

        Raises:
            NameError: a name is in it whose value is not known.
        """
        operation = self.recording.operations[index]
        node = self.node(operation)
        assert node is not None
        file = self.recording.spans[operation.span].file
        names = self._unchanged_arguments(operation, file) | dict(self._bound(index, position(node)))
        if any(value is MISSING for value in names.values()):
            raise NameError(f"the value of an operand of {self.text(operation)} was not kept")
        return eval(f"({self.text(operation)}\n)", {**self.globals[file], **names})

    def _bound(self, index: int, within: Position) -> Iterator[tuple[str, Any]]:
        """Names in an expression with their values: operands, and operands of the operations inside it."""
        operation = self.recording.operations[index]
        node = self.node(operation)
        if node is None or not _contains(within, position(node)):
            return
        short = operation.function.rpartition(".")[2]
        in_frame = operation.call == self.frame(operation)
        positional, named = _operands(node, short, operation.function.startswith("torch.Tensor.") and in_frame)
        recorded = list(zip(positional, operation.arguments, strict=False)) if in_frame else []
        recorded += [(named[name], value) for name, value in operation.keywords.items() if name in named]
        if not in_frame and operation.arguments:  # a module: what the code hands over comes first
            recorded = list(zip(positional[:1], operation.arguments[:1], strict=False))
        for operand, value in recorded:
            yield from self._matched(operand, value, operation, within)

    def _matched(
        self, operand: ast.expr, value: Any, operation: Operation, within: Position
    ) -> Iterator[tuple[str, Any]]:
        if isinstance(operand, ast.Name):
            known, decoded = self._decoded(value)
            if known or decoded is MISSING:
                yield operand.id, decoded
        elif isinstance(operand, ast.List | ast.Tuple) and isinstance(value, dict) and "list" in value:
            for part, inner in zip(operand.elts, value["list"], strict=False):
                yield from self._matched(part, inner, operation, within)
        elif isinstance(value, dict) and "tensor" in value:
            tensor = self.recording.tensors[value["tensor"]]
            if tensor.origin == "operation":
                maker = self.recording.operations[tensor.index]
                if self.frame(maker) == self.frame(operation):
                    yield from self._bound(tensor.index, within)

    def _decoded(self, value: Any) -> tuple[bool, Any]:
        match value:
            case {"tensor": number}:
                return str(number) in self.values, self.values.get(str(number), MISSING)
            case {"dtype": name}:
                return True, getattr(torch, name)
            case {"list": parts} if "length" not in value:
                inner = [self._decoded(part) for part in parts]
                return all(known for known, _ in inner), tuple(part for _, part in inner)
            case None | bool() | int() | float() | str():
                return True, value
        return False, None

    def _unchanged_arguments(self, operation: Operation, file: int) -> dict[str, Any]:
        """Arguments of the function that it binds to nothing else, and the module it runs in as ``self``."""
        call = self.recording.calls[self.frame(operation)]
        code = self.recording.codes[call.code]
        definition = self.files[file].definition(code.first_line, code.name)
        if code.file != file or definition is None:
            return {}
        names = [node for node in ast.walk(definition) if isinstance(node, ast.Name)]
        bound = {name.id for name in names if isinstance(name.ctx, ast.Store)}
        found: dict[str, Any] = {}
        for name, value in call.arguments.items():
            known, decoded = self._decoded(value)
            if (known or decoded is MISSING) and name not in bound:
                found[name] = decoded
        owner = self._module_of(self.frame(operation), code.name.rpartition(".")[0])
        if owner is not None:
            found["self"] = owner
        return found

    def _module_of(self, call: int, class_name: str) -> torch.nn.Module | None:
        """The innermost module around a call whose class defines the function that runs."""
        while call >= 0:
            entry = self.recording.calls[call]
            if entry.module >= 0:
                module = self.modules[self.recording.modules[entry.module].name]
                if any(base.__qualname__ == class_name for base in type(module).__mro__):
                    return module
            call = entry.parent
        return None


def _contains(outer: Position, inner: Position) -> bool:
    return outer[:2] <= inner[:2] and inner[2:] <= outer[2:]


def _globals(path: str) -> dict[str, Any]:
    module = sys.modules.get(path.removesuffix(".py").replace("/", "."))
    return dict(vars(module)) if module is not None else {}


def flat(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for part in value for tensor in flat(part)] if isinstance(value, list | tuple) else []


def equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and torch.equal(one, other)


@pytest.fixture(scope="module")
def again() -> Again:
    configuration = transformers.DeepseekV3Config(
        vocab_size=53,
        hidden_size=28,
        intermediate_size=44,
        moe_intermediate_size=10,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=4,
        q_lora_rank=19,
        kv_lora_rank=13,
        qk_nope_head_dim=7,
        qk_rope_head_dim=6,
        v_head_dim=5,
        n_routed_experts=8,
        num_experts_per_tok=3,
        n_group=2,
        topk_group=1,
        first_k_dense_replace=1,
        pad_token_id=None,
        bos_token_id=None,
        eos_token_id=None,
        attn_implementation="eager",
        experts_implementation="eager",
    )
    model = transformers.DeepseekV3ForCausalLM(configuration).eval()
    fill(model, 7)
    torch.manual_seed(11)
    tokens, step = torch.randint(0, 53, (2, 9)), torch.randint(0, 53, (2, 1))
    recorder = Recorder(model, roots={"source": PACKAGES}, keep_values=True)
    with torch.no_grad():
        with recorder.record("prefill", {"input_ids": tokens}):
            first = model(input_ids=tokens, use_cache=True)
        with recorder.record("decode", {"input_ids": step}):
            model(input_ids=step, cache=first.cache, use_cache=True)
    probe = Probe(name="a", role="solve", sizes={}, batch=2, tokens=9, dtype="float32", seed=7)
    recording, values = recorder.finish(probe)
    return Again(model, handed_over(recording), values)


def test_every_operation_has_a_span_whose_text_parses(again):
    assert len(again.recording.operations) > 800
    for operation in again.recording.operations:
        assert operation.span >= 0, operation.function
        text = again.text(operation)
        ast.parse(f"({text}\n)" if again.node(operation) is not None else text)


def evaluated(again: Again) -> Iterator[tuple[Operation, list[torch.Tensor] | None]]:
    """Every operation whose text is an expression that writes nothing, with its value; ``None`` for unknown names."""
    for index, operation in enumerate(again.recording.operations):
        if operation.writes or not operation.outputs or again.node(operation) is None:
            continue
        if any(str(number) not in again.values for number in operation.outputs):
            continue
        if operation.function.endswith(("__iter__", "unbind", "empty")):
            continue  # the text is what is iterated; memory that nobody has written
        try:
            with torch.no_grad():
                yield operation, flat(again.evaluate(index))
        except NameError:
            yield operation, None


def test_evaluating_the_text_again_gives_the_recorded_result(again):
    """Exactly; but values are kept without their strides, and vectorised code may round the last bit differently."""
    exact, rounded, unknown, wrong, spans = 0, 0, [], [], set()
    for operation, found in evaluated(again):
        if found is None:
            unknown.append(again.text(operation))
            continue
        expected = [again.values[str(number)] for number in operation.outputs]
        strided = any(again.recording.tensors[n].base >= 0 for v in operation.arguments for _, n in tensors_in(v, 2))
        spans.add(operation.span)
        if len(found) == len(expected) and all(map(equal, found, expected)):
            exact += 1
        elif strided and all(torch.allclose(a, b, rtol=3e-7, atol=0) for a, b in zip(found, expected, strict=True)):
            rounded += 1
        else:
            wrong.append((again.text(operation), operation.function))
    every = {operation.span for operation in again.recording.operations}
    assert wrong == []
    assert exact > 500, (exact, sorted(set(unknown)))
    assert rounded < 0.02 * exact
    assert len(spans) > 0.8 * len(every), (len(spans), len(every), sorted(set(unknown)))


def test_a_wrong_span_would_be_noticed(again):
    """The same check on the expression of a neighbour fails: it can fail."""
    shifted = 0
    operations = [o for o, found in evaluated(again) if found]
    for operation, other in itertools.pairwise(operations):
        index = again.recording.operations.index(other)
        expected = [again.values[str(number)] for number in operation.outputs]
        with torch.no_grad():
            found = flat(again.evaluate(index))
        shifted += not (len(found) == len(expected) and all(map(equal, found, expected)))
        if shifted > 100:
            break
    assert shifted > 100
