"""Every tensor that a document shows has a value in the first probe, though values of equal layers are kept once."""

from __future__ import annotations

import pytest
import torch

from openmodelatlas.capture.child.recorder import Recorder
from openmodelatlas.capture.child.weights import fill
from openmodelatlas.capture.recording import Recording
from openmodelatlas.graph.wiring import read_tensors
from tests.corpus.models import hybrids, kinds

from . import specimens
from .driver import BATCHES, CORPUS, TOKENS, Built, Make, build, column, handed_over
from .specimens import specimen

HYBRIDS: dict[str, Make] = {
    "alternating masks": hybrids.AlternatingMasks,
    "windowed layers": hybrids.Windowed,
    "attention residuals": hybrids.AttentionResiduals,
    "axes": lambda sizes: kinds.Axes(sizes, [1, 2, 1, 2, 2, 1]),
}


def first_probe(make: Make, *, tokens: bool, decode: bool) -> tuple[Recording, set[int]]:
    """The first probe as the driver runs it, with the numbers of the tensors whose values are kept."""
    sizes = column(0)
    model = make(sizes).eval()
    fill(model, 0)
    torch.manual_seed(100)
    if tokens:
        name, value = "input_ids", torch.randint(0, sizes["vocab_size"], (BATCHES[0], TOKENS[0]))
    else:
        name, value = "hidden_states", torch.randn(BATCHES[0], TOKENS[0], sizes["hidden_size"])
    recorder = Recorder(model, roots={"source": CORPUS}, keep_values=True)
    with torch.no_grad(), recorder.record("prefill", {name: value}):
        result = model(value)
    if decode:
        step = torch.randint(0, sizes["vocab_size"], (BATCHES[0], 1))
        with torch.no_grad(), recorder.record("decode", {name: step}):
            model(step, cache=result[1])
    recording, values = recorder.finish(specimen("dense").recordings[0].probe)
    return handed_over(recording), {int(number) for number in values}


def check(others: Built, recording: Recording, kept: set[int]) -> Built:
    """Builds the document with this first probe and the other probes of ``others``."""
    built = Built(others.make, [recording, *others.recordings[1:]])
    shown = [node for node in built.of_kind("tensor") if node.tensor is not None]
    shown = [node for node in shown if node.tensor.value_note is None]
    assert shown
    missing = [node.address for node in shown if node.tensor.value is None or int(node.tensor.value) not in kept]
    assert missing == []
    producers = {recording.tensors[int(node.tensor.value)].index for node in shown}
    read = {number for event in producers for number in read_tensors(event, built.trees[0])}
    assert read <= kept
    for fact in (*built.document.inputs.values(), *built.document.parameters.values()):
        assert fact.value is None or int(fact.value) in kept
    return built


@pytest.mark.parametrize("name", sorted(HYBRIDS))
def test_layers_that_alternate_have_values(name: str) -> None:
    recording, kept = first_probe(HYBRIDS[name], tokens=False, decode=False)
    built = check(build(HYBRIDS[name]), recording, kept)
    assert len(built.variants()) > 1
    made = sum(tensor.origin == "operation" for tensor in recording.tensors)
    assert len([number for number in kept if recording.tensors[number].origin == "operation"]) < 0.9 * made


@pytest.mark.parametrize("name", sorted(specimens.MODELS))
def test_models_of_the_corpus_have_values(name: str) -> None:
    tokens = name in specimens.TOKENS
    check(specimen(name), *first_probe(specimens.MODELS[name], tokens=tokens, decode=name == "cached"))
