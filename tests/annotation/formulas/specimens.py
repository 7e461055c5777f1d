"""Small models of the corpus with the values of their first probe."""

from __future__ import annotations

import functools

import torch
from tests.graph.driver import BATCHES, CORPUS, TOKENS, Make, column, handed_over, record, subject, summary
from tests.graph.specimens import MODELS
from tests.graph.specimens import TOKENS as OF_TOKENS

from openmodelatlas.annotation.material import Drafts, Material
from openmodelatlas.bundle.tensors import TensorValue
from openmodelatlas.capture.child.recorder import Recorder
from openmodelatlas.capture.child.weights import fill
from openmodelatlas.capture.recording import Probe, Recording
from openmodelatlas.graph.build import build_document
from openmodelatlas.graph.document import Document

from .record import Captured, drafts_of


class WithCode(Captured):
    """Captured values, and the text of the files that ran."""

    def __init__(self, document: Document, recording: Recording) -> None:
        super().__init__()
        self._document = document
        self._texts = {file.sha256: file.text for file in recording.files}

    def lines_of(self, file: str) -> list[str]:
        """The lines of a cited file."""
        return self._texts[self._document.files[file].sha256].splitlines()


def first_probe(make: Make, *, tokens: bool, decode: bool) -> tuple[Recording, dict[str, torch.Tensor]]:
    """The first probe as :func:`tests.graph.driver.run` records it, with its values."""
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
    probe = Probe(name="a", role="solve", sizes=sizes, batch=BATCHES[0], tokens=TOKENS[0], dtype="float32", seed=0)
    recording, values = recorder.finish(probe)
    return handed_over(recording), values


@functools.cache
def material(name: str) -> Material:
    """One model of the corpus as annotation gets it."""
    make = MODELS[name]
    tokens, decode = name in OF_TOKENS, name == "cached"
    recordings = record(make, tokens=tokens, decode=decode)
    first, values = first_probe(make, tokens=tokens, decode=decode)
    recordings[0] = first
    document = build_document(subject(), recordings, summary(make))
    code = WithCode(document, first)
    for key, tensor in values.items():
        code.keep(key, tensor)
    return Material(document=document, code=code)


__all__ = ["Drafts", "TensorValue", "drafts_of", "material"]
