"""Every entry of the operation table gives what torch gives, and tells when the captured values are others."""

from __future__ import annotations

import dataclasses
import functools
import math
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from openmodelatlas.annotation.faults import FAULT, STRICT
from openmodelatlas.annotation.formulas import single
from openmodelatlas.annotation.formulas.calls import Call, call_of, entry_of
from openmodelatlas.annotation.formulas.entry import Entry
from openmodelatlas.annotation.formulas.evaluate import Values
from openmodelatlas.annotation.formulas.families import ENTRIES
from openmodelatlas.annotation.formulas.spans import Spans
from openmodelatlas.annotation.formulas.step import write
from openmodelatlas.annotation.formulas.symbols import Symbols
from openmodelatlas.annotation.formulas.writing import fields
from openmodelatlas.annotation.knowledge import Formula, FormulaCheck
from openmodelatlas.annotation.material import Material
from openmodelatlas.annotation.operation_table import ALIASES, OPERATIONS
from openmodelatlas.bundle.tensors import TensorValue

from .braces import brackets_balance
from .cases import all_calls
from .record import OPERATION, Captured, drafts_of, recorded

CALLS = all_calls()
UNSET = {"empty", "empty_like", "new_empty"}
NOT_TRIED = {"complex", "polar", "imag", "view_as_complex", "view_as_real", "from_numpy", "numpy", "data", "cuda"}
"""Complex numbers and arrays are not captured; a GPU is not there."""
NOT_TRIED |= {"as_strided"}


def name_of(index: int) -> str:
    return f"{CALLS[index][0]}-{index}"


def material(index: int) -> Material:
    function, args, kwargs = CALLS[index]
    own = [item.clone() if isinstance(item, torch.Tensor) else item for item in args]
    return recorded(function, *own, **kwargs)


def call_in(made: Material) -> Call:
    found = call_of(made.document.nodes[OPERATION], made.document)
    assert found is not None
    return found


def check(made: Material, call: Call | None = None) -> FormulaCheck:
    return single.check(call or call_in(made), made.document, Values(made.arrays))


@pytest.mark.parametrize("index", range(len(CALLS)), ids=name_of)
def test_an_entry_gives_what_torch_gives(index: int) -> None:
    found = check(material(index))
    assert found.verdict == "checked", found
    narrow = "bfloat16" in found.detail or "float16" in found.detail
    assert found.error is not None
    assert found.error <= (1e-2 if narrow else 1e-6)


def test_the_cases_use_every_entry_that_can_be_evaluated() -> None:
    used = {entry_of(function)[0] for function, _, _ in CALLS}
    assert {name for name, entry in ENTRIES.items() if entry.evaluate is not None} - used == UNSET | NOT_TRIED


def test_every_entry_has_a_sentence() -> None:
    assert set(ENTRIES) - {"bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"} <= set(OPERATIONS)
    assert set(OPERATIONS) <= set(ENTRIES)
    assert set(ALIASES.values()) <= set(ENTRIES)


@pytest.mark.parametrize("name", sorted(ENTRIES))
def test_an_entry_can_be_evaluated_or_says_why_not(name: str) -> None:
    entry = ENTRIES[name]
    assert (entry.evaluate is None) == (entry.reason is not None)
    assert brackets_balance(entry.latex)
    assert brackets_balance(entry.definition or "")


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_templates_speak_of_arguments_that_the_signature_has(name: str) -> None:
    signature = {part.lstrip("*") for part in OPERATIONS[name][0].split()}
    keywords = {"alpha", "beta", "value", "scale", "approximate", "eps", "num_classes", "other", "src", "dim", "stride"}
    keywords |= {"left", "upper", "unitriangular"}
    assert fields(ENTRIES[name]) <= signature | keywords | {"negative_slope", "weight", "bias", "p", "ord", "dtype"}


# It can fail ----------------------------------------------------------------------------------------------------------


def altered(value: TensorValue) -> TensorValue | None:
    """The value with its largest element a ten-thousandth larger, or an integer by one; ``None`` if it is empty."""
    kinds = {"float32": np.float32, "float64": np.float64, "int64": np.int64, "bool": np.bool_, "int32": np.int32}
    if value.dtype not in kinds or not math.prod(value.shape):
        return None
    array = np.frombuffer(value.data, dtype=kinds[value.dtype]).copy()
    if array.dtype.kind == "f":
        finite = np.where(np.isfinite(array), np.abs(array), -1)
        place = int(np.argmax(finite))
        array[place] += np.copysign(1e-4 * (1 + abs(array[place])), array[place])
    elif array.dtype.kind == "b":
        array[0] = not array[0]
    else:
        array[0] += 1
    return TensorValue(dtype=value.dtype, shape=value.shape, data=array.tobytes())


def with_output(made: Material, value: TensorValue) -> Material:
    captured = Captured(values={**made.code.values, "output-0": value})  # type: ignore[attr-defined]
    return Material(document=made.document, code=captured)


def test_a_changed_value_is_seen_by_every_entry() -> None:
    missed = []
    tried = 0
    for index in range(len(CALLS)):
        made = material(index)
        first = made.code.value("output-0")
        changed = altered(first) if first is not None else None  # type: ignore[arg-type]
        if changed is None:
            continue
        tried += 1
        if check(with_output(made, changed)).verdict != "differs":
            missed.append(name_of(index))
    assert tried > 300
    assert missed == []


def mutants(entry: Entry) -> dict[str, Entry]:
    """The entry with its result negated, doubled, moved by a small constant, reversed."""
    return {
        "sign": mutant(entry, lambda a: ~a if a.dtype.kind == "b" else -a),
        "scale": mutant(entry, lambda a: ~a if a.dtype.kind == "b" else a * 2),
        "constant": mutant(entry, lambda a: ~a if a.dtype.kind == "b" else a + constant(a)),
        "order": mutant(entry, lambda a: a[..., ::-1] if a.ndim and a.shape[-1] > 1 else a + 1),
    }


def constant(a: Any) -> Any:
    """A ten-thousandth of the size of what is in ``a``; 1 for integers."""
    return 1e-4 * (1 + np.max(np.abs(a[np.isfinite(a)]), initial=0.0)) if a.dtype.kind == "f" else 1


def mutant(entry: Entry, change: Callable[[Any], Any]) -> Entry:
    """The entry with its first result changed."""

    def run(*args: Any, **kwargs: Any) -> Any:
        assert entry.evaluate is not None
        result = entry.evaluate(*args, **kwargs)
        first = change(np.asarray(result[0] if isinstance(result, tuple) else result))
        return (first, *result[1:]) if isinstance(result, tuple) else first

    if isinstance(entry.evaluate, types.FunctionType):  # its signature tells which arguments it takes
        run = functools.wraps(entry.evaluate)(run)
    else:
        run.__module__ = "numpy"
    return dataclasses.replace(entry, evaluate=run)


def is_symmetric(made: Material) -> bool:
    """Whether a result reads the same backwards, or is all zero, so that a mutant may not show."""
    value = made.code.value("output-0")
    if value is None:
        return True
    kinds = {"float32": np.float32, "float64": np.float64, "int64": np.int64, "bool": np.bool_, "int32": np.int32}
    if value.dtype not in kinds:
        return True
    array = np.frombuffer(value.data, dtype=kinds[value.dtype]).reshape(value.shape)
    if array.size == 0 or not np.any(array) or not np.all(np.isfinite(array.astype(np.float64))):
        return True
    return bool(array.ndim and np.array_equal(array, array[..., ::-1]))


def test_a_changed_formula_is_seen_for_every_function() -> None:
    caught: dict[str, set[str]] = {}
    tried: dict[str, set[str]] = {}
    for index in range(len(CALLS)):
        made = material(index)
        if is_symmetric(made):
            continue
        call = call_in(made)
        if call.entry.compare is not None and call.name.startswith("arg"):
            continue  # places are compared by what lies there
        for what, entry in mutants(call.entry).items():
            tried.setdefault(call.name, set()).add(what)
            if check(made, dataclasses.replace(call, entry=entry)).verdict != "checked":
                caught.setdefault(call.name, set()).add(what)
    missed = {name: kinds - caught.get(name, set()) for name, kinds in tried.items()}
    assert len(tried) > 200
    assert {name: kinds for name, kinds in missed.items() if kinds} == {}


# Writing --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", range(len(CALLS)), ids=name_of)
def test_the_formula_of_a_call_is_well_formed(index: int) -> None:
    made = material(index)
    drafts = drafts_of(made)
    symbols = Symbols(made.document, drafts, Spans(made.document, made.code))
    formula = single.formula(call_in(made), symbols, check(made))
    assert_well_formed(formula)


def assert_well_formed(formula: Formula) -> None:
    assert brackets_balance(formula.latex), formula.latex
    assert not {"\0", "\1"} & set(formula.latex)
    assert "<" not in formula.latex.replace(r"\lt", ""), formula.latex
    for term in formula.terms:
        assert f"\\htmlData{{light={term.id}}}" in formula.latex
    assert len({term.id for term in formula.terms}) == len(formula.terms)


def test_a_fault_in_one_formula_is_told_and_costs_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(STRICT)
    made = recorded("torch.sin", torch.rand(3))
    monkeypatch.setattr(single, "formula", lambda *_: 1 / 0)
    drafts = drafts_of(made)
    write(made, drafts)
    (found,) = drafts.unmatched
    assert found.what == "formula"
    assert found.reason.startswith(f"{FAULT} (ZeroDivisionError: division by zero, at annotation/formulas/step.py:")


def test_a_value_that_is_not_at_hand_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    made = recorded("torch.sin", torch.rand(3))
    monkeypatch.setattr(type(made.code), "value", lambda *_: None)
    assert check(made) == FormulaCheck(
        verdict="not checked", error=None, detail="a captured value is not at hand", missing=True
    )


def test_unknown_functions_and_random_ones_are_told() -> None:
    made = recorded("torch.bernoulli", torch.rand(3))
    drafts = drafts_of(made)
    write(made, drafts)
    assert drafts.nodes[OPERATION].formulas[0].check == FormulaCheck(
        verdict="not checked", error=None, detail="it draws random numbers"
    )
    assert [(found.what, found.reason) for found in drafts.unmatched] == [("evaluation", "it draws random numbers")]
    made = recorded("torch.sinc", torch.rand(3))
    drafts = drafts_of(made)
    write(made, drafts)
    assert drafts.nodes[OPERATION].formulas == []
    assert [(found.what, found.reason) for found in drafts.unmatched] == [
        ("formula", "the operation table does not know sinc")
    ]
