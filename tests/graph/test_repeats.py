"""How often loops go round, where every probe sees the same number as where none does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from openmodelatlas.capture.child.recorder import Recorder
from openmodelatlas.capture.recording import Probe, Recording
from openmodelatlas.graph.build import build_document
from openmodelatlas.graph.document import Repeat
from openmodelatlas.shapes.dimension import DataDependent
from tests.corpus.models import loops

from . import driver
from .driver import CORPUS, Make, column, handed_over, record, subject, summary

FEW_EXPERTS = {"num_experts": (4, 6, 3, 5, 64), "num_experts_per_tok": (1, 3, 2, 4, 8)}
"""So few that every probe's tokens reach all of them."""


@pytest.fixture(scope="module", autouse=True)
def few_experts() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for key, row in FEW_EXPERTS.items():
            patch.setitem(driver.SIZES, key, row)
        yield


def at_full_size(make: Make) -> Recording:
    """The run on the meta device, as a capture does it; where it asks for a value it ends."""
    with torch.device("meta"):
        model = make(column(-1)).eval()
    recorder = Recorder(model, roots={"source": CORPUS}, keep_values=False)
    states = torch.empty(3, 29, column(-1)["hidden_size"], device="meta")
    failure = None
    try:
        with torch.no_grad(), recorder.record("prefill", {"hidden_states": states}):
            model(states)
    except Exception as error:
        failure = str(error)
    probe = Probe(name="true-size", role="true-size", sizes={}, batch=3, tokens=29, dtype="float32", seed=0)
    return handed_over(recorder.finish(probe, failure)[0])


def repeat_of(make: Make) -> Repeat:
    document = build_document(subject(), [*record(make), at_full_size(make)], summary(make))
    (loop,) = [node for node in document.nodes.values() if node.kind == "loop"]
    assert loop.repeat is not None
    return loop.repeat


@pytest.mark.parametrize("make", [loops.ChosenExperts, loops.CountedTokens])
def test_a_loop_over_what_values_choose_is_not_counted_though_every_expert_was_hit(make: Make) -> None:
    repeat = repeat_of(make)
    assert repeat.observed == (3, 6)
    assert repeat.expression is None
    assert repeat.of == "num_experts"
    assert repeat.note == "8 of 64 per token; the probes reached 3 to 6"


def test_a_loop_over_all_experts_is_counted() -> None:
    repeat = repeat_of(loops.AllExperts)
    assert repeat.expression == "num_experts"
    assert repeat.note == "num_experts = 64 times"
    assert repeat.observed == (3, 6)


def test_a_loop_over_chunks_is_counted() -> None:
    repeat = repeat_of(loops.Chunked)
    assert repeat.expression == "ceil(T, 4)"
    assert repeat.note == "⌈T / 4⌉ times"
    assert repeat.observed == (2, 4)


def test_the_size_of_a_chunk_has_a_bound() -> None:
    document = build_document(subject(), [*record(loops.Chunked), at_full_size(loops.Chunked)], summary(loops.Chunked))
    axes = {axis for node in document.nodes.values() if node.tensor is not None for axis in node.tensor.shape}
    (by_round,) = [axis for axis in axes if isinstance(axis, DataDependent)]
    assert by_round.name == "n of `for start in range(0, x.shape[1], self.length)`"
    assert by_round.bound == "at most 4"


def test_a_loop_that_the_run_at_full_size_goes_around_is_counted() -> None:
    """It takes the other arm of a condition there, which says nothing of the loop."""
    assert repeat_of(lambda sizes: loops.Chunked(sizes, 1, most=16)).expression == "T"


@pytest.mark.parametrize("make", [loops.AsksBefore, loops.AsksBetween])
def test_a_loop_that_the_run_at_full_size_does_not_finish_is_counted(make: Make) -> None:
    assert at_full_size(make).failure is not None
    assert repeat_of(make).note == "T times"


def test_a_loop_that_goes_round_once_says_so() -> None:
    repeat = repeat_of(loops.Once)
    assert repeat.note == "once"
    assert repeat.observed == (1, 1)
