"""Operations of one expression share a form, and each still has the arguments that it was called with."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from openmodelatlas.capture.child.compact import is_worth_it
from openmodelatlas.capture.child.encode import LONGEST_LIST, Encoder
from openmodelatlas.capture.child.forms import FormTable
from openmodelatlas.capture.child.output import encoded
from openmodelatlas.capture.child.tensors import TensorTable
from openmodelatlas.capture.recording import (
    DEEPEST,
    RECORDING_FORMAT,
    Operation,
    RecordedFile,
    Recording,
    Span,
    link,
)
from openmodelatlas.capture.validate import validate

from .recording_of import PROBE, Seen, check_invariants, numbers, record

TENSORS = [torch.ones(2, 3), torch.zeros(4), nn.Parameter(torch.ones(5))]


def tables() -> tuple[FormTable, TensorTable, Encoder]:
    tensors = TensorTable(keep_values=False)
    for index, tensor in enumerate(TENSORS):
        tensors.enter(tensor, "input", -1, f"x{index}")
    encoder = Encoder(tensors.number, tensors.references, {}, [], [])
    return FormTable(encoder, tensors), tensors, encoder


PLAIN = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text()
    | st.sampled_from([..., torch.float32, torch.int64, torch.device("cpu"), torch.strided, 1, 1.0, True, 0, False])
)
PARTS = st.sampled_from(TENSORS) | PLAIN
VALUES = st.recursive(
    PARTS,
    lambda part: (
        st.lists(part, max_size=4)
        | st.lists(part, max_size=4).map(tuple)
        | st.builds(slice, part, part, part)
        | st.dictionaries(
            st.sampled_from(["tensor", "list", "a", "1", 1, 1.5, "1.5", "\ud800", "\\ud800"]), part, max_size=4
        )
    ),
    max_leaves=12,
)


@settings(max_examples=300)
@given(st.lists(st.tuples(st.lists(VALUES, max_size=4), st.dictionaries(st.text(max_size=3), VALUES)), max_size=4))
def test_every_operation_has_its_own_arguments(calls: list[tuple[list[Any], dict[str, Any]]]) -> None:
    forms, _, encoder = tables()
    for args, keywords in [*calls, *calls]:
        found: list[torch.Tensor] = []
        number, read = forms.enter("torch.cat", 3, tuple(args), keywords, found)
        operation = Operation(0, 0, forms.forms[number], 0, read)
        expected: list[torch.Tensor] = []
        assert encoded(operation.arguments) == encoded([encoder.encode(value, expected) for value in args])
        assert encoded(operation.keywords) == encoded(
            {name: encoder.encode(value, expected) for name, value in keywords.items()}
        )
        assert list(map(id, found)) == list(map(id, expected))
    assert (operation.function, operation.span) == ("torch.cat", 3) if calls else not forms.forms
    validate(handed_over(forms))


def handed_over(forms: FormTable) -> Recording:
    """A recording of nothing but forms, as the parent reads it."""
    span = Span(0, 1, 0, 1, 1)
    file = RecordedFile(path="m.py", origin="source", package="", sha256="0" * 64, text="x")
    whole = Recording(
        format=RECORDING_FORMAT,
        probe=PROBE,
        files=[file],
        codes=[],
        spans=[span] * 4,
        modules=[],
        parameters=[],
        tensors=[],
        calls=[],
        forms=forms.forms,
        operations=[],
    )
    return msgspec.json.decode(encoded(whole), type=Recording)


def test_calls_alike_share_a_form() -> None:
    forms, _, _ = tables()
    x, y, w = TENSORS
    assert forms.enter("f", 0, (x, [y, w], 2), {"dim": -1}, []) == (0, [0, 1, 2])
    assert forms.enter("f", 0, (y, [w, w], 2), {"dim": -1}, []) == (0, [1, 2, 2])
    others: list[tuple[str, int, tuple[Any, ...], dict[str, Any]]] = [
        ("g", 0, (x, [y, w], 2), {"dim": -1}),
        ("f", 1, (x, [y, w], 2), {"dim": -1}),
        ("f", 0, (x, [y], 2), {"dim": -1}),
        ("f", 0, (x, [y, w], 2.0), {"dim": -1}),
        ("f", 0, (x, [y, w], True), {"dim": -1}),
        ("f", 0, (x, [y, w], x), {"dim": -1}),
        ("f", 0, (x, [y, w], 2), {"axis": -1}),
        ("f", 0, (x, [y, w], 2, -1), {}),
        ("f", 0, (x, [y, [w]], 2), {"dim": -1}),
    ]
    assert [forms.enter(*one, [])[0] for one in others] == list(range(1, len(others) + 1))


def test_equal_numbers_of_other_types_are_other_arguments() -> None:
    forms, _, _ = tables()
    values = [1, 1.0, True, 0, 0.0, -0.0, False, [1], [1.0], (slice(0), 1), (slice(False), 1), math.nan, -math.inf]
    found = [forms.enter("f", 0, (value,), {}, [])[0] for value in [*values, *values[:-2], float("nan"), -math.inf]]
    assert found == [*range(len(values))] * 2


def test_what_is_not_written_down_whole_takes_no_tensor() -> None:
    forms, _, _ = tables()
    deep: Any = TENSORS[0]
    for _ in range(DEEPEST + 2):
        deep = [deep]
    long = list(range(LONGEST_LIST + 1))
    assert forms.enter("f", 0, (deep, TENSORS[1], long), {}, []) == (0, [1])
    assert forms.forms[0].arguments[1:] == [{"tensor": 0}, {"list": long[:-1], "length": len(long)}]


class Loop(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for factor in (1, 1.0, True, 2):
            x = x * factor + torch.cat([x, x])[: len(x)]
        return x[..., None].sum(dim=(0, 1), dtype=torch.float64)


def test_a_loop_is_of_few_forms() -> None:
    seen: Seen = record(Loop(), torch.ones(3, 2))
    validate(seen.unlinked)
    check_invariants(seen.recording)
    factors = [one.arguments[1] for one in seen.operations("__mul__")]
    assert [(type(factor), factor) for factor in factors] == [(int, 1), (float, 1.0), (bool, True), (int, 2)]
    assert len({id(one.form) for one in seen.operations("__mul__")}) == 4
    assert len({id(one.form) for one in seen.operations("cat")}) == 1
    for joined in seen.operations("cat"):
        assert numbers(joined.arguments) == joined.tensors
        assert joined.tensors[0] == joined.tensors[1]
    assert seen.operation("sum").keywords == {"dim": {"list": [0, 1]}, "dtype": {"dtype": "float64"}}


class Many(nn.Module):
    def __init__(self, layers: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(layers))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for layer in self.layers[:3]:
            x = layer(x)
        return x


def test_a_recording_is_compacted_where_most_of_it_are_parameters() -> None:
    assert is_worth_it(record(Many(60), torch.ones(1, 2)).unlinked)
    assert not is_worth_it(record(Loop(), torch.ones(1, 2)).unlinked)


def test_linking_leaves_the_rest_as_it_was() -> None:
    seen = record(Loop(), torch.ones(3, 2))
    before = msgspec.to_builtins(seen.unlinked)
    linked = link(seen.unlinked)
    numbers_of = {id(form): number for number, form in enumerate(linked.forms)}
    assert [numbers_of[id(one.form)] for one in linked.operations] == [one[2] for one in before["operations"]]
