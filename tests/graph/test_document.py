"""The document as a whole: the same bytes every time, and valid as what it says it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from torch import nn

from openmodelatlas.capture.recording import Probe
from openmodelatlas.errors import GraphError
from openmodelatlas.graph.build import build_document
from openmodelatlas.graph.document import DOCUMENT_FORMAT, Document
from openmodelatlas.graph.preparation import Preparation

from .driver import Built, build, column, subject, summary
from .specimens import MODELS, specimen

ROOT = Path(__file__).parents[2]
SEVERAL = ["cached", "choices", "stacked", "listed", "branches", "recurrence", "windowed"]


def started(seed: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "tests.graph.digest", *SEVERAL]
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)


def test_processes_with_other_hash_seeds_give_the_same_bytes():
    one, other = started("1"), started("4242")
    first, second = (process.communicate(timeout=300)[0] for process in (one, other))
    assert one.returncode == other.returncode == 0
    assert len(first.splitlines()) == len(SEVERAL)
    assert first == second


def test_the_order_of_recordings_does_not_matter():
    built = specimen("stacked")
    shuffled = [built.recordings[index] for index in (3, 1, 4, 0, 2)]
    again = build_document(subject(), shuffled, summary(built.make))
    assert msgspec.json.encode(again) == msgspec.json.encode(built.document)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_documents_survive_json(name):
    document = specimen(name).document
    assert document.format == DOCUMENT_FORMAT
    assert msgspec.json.decode(msgspec.json.encode(document), type=Document) == document


@pytest.mark.parametrize("name", sorted(MODELS))
def test_children_stand_in_order_of_execution_and_after_their_parent(name):
    nodes = specimen(name).nodes
    order = {address: index for index, address in enumerate(nodes)}
    for address, node in nodes.items():
        assert all(order[child] > order[address] for child in node.children)
        steps = [child for child in node.children if nodes[child].kind not in ("tensor", "phase")]
        assert [order[child] for child in steps] == sorted(order[child] for child in steps)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_symbols_are_the_characters_they_cite(name):
    built: Built = specimen(name)
    texts = {file.path: file.text.splitlines() for recording in built.recordings for file in recording.files}
    seen = 0
    for node in built.nodes.values():
        symbol = node.symbol
        if symbol is None or symbol.lines.column is None or node.kind in ("tensor", "branch", "loop", "layer group"):
            continue
        rows = texts[symbol.lines.file][symbol.lines.first - 1 : symbol.lines.last]
        rows[-1] = rows[-1][: symbol.lines.end_column]
        rows[0] = rows[0][symbol.lines.column :]
        assert " ".join(" ".join(rows).split()) == symbol.text
        seen += 1
    assert seen


def test_too_few_probes_are_refused():
    built = specimen("reused")
    with pytest.raises(GraphError, match="too few probes"):
        build_document(subject(), built.recordings[:2], summary(built.make))
    with pytest.raises(GraphError, match="too few probes"):
        build_document(subject(), [built.recordings[0], built.recordings[3]], summary(built.make))


def test_a_recording_without_operations_is_refused():
    built = specimen("reused")
    empty = [msgspec.structs.replace(recording, calls=[], operations=[]) for recording in built.recordings]
    with pytest.raises(GraphError, match="No operation") as caught:
        build_document(subject(), empty, summary(built.make))
    assert caught.value.advice


class Nothing(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.inner = nn.Identity()

    def forward(self, x):
        return self.inner(x)


def test_a_model_that_computes_nothing_is_told_so():
    with pytest.raises(GraphError, match="No operation"):
        _ = build(Nothing).document


def test_the_document_says_what_was_run():
    document = specimen("cached").document
    assert document.configuration == column(-1)
    assert [probe["name"] for probe in document.provenance.probes] == ["a", "b", "c", "d", "e"]
    assert document.provenance.versions["torch"]
    assert document.sizes["hidden_size"].value == 4096
    assert document.sizes["B"].value is None
    assert all(Probe(**probe).batch for probe in document.provenance.probes)
    assert set(document.files) == {"dense.py"}


def test_growth_with_depth_does_not_grow_the_document():
    from tests.corpus.models import dense

    from .driver import build

    small, large = (
        build(lambda s, layers=layers: dense.Dense(s, layers=layers), tokens=True).document for layers in (3, 12)
    )
    assert set(small.nodes) == set(large.nodes)


@pytest.mark.parametrize("order", [(3, 1, 4, 0, 2), (4,), ()])
def test_recordings_prepared_in_any_order_give_the_same_bytes(order):
    built = specimen("stacked")
    preparation = Preparation()
    for index in order:
        preparation.add(built.recordings[index])
    again = build_document(subject(), built.recordings, summary(built.make), preparation)
    assert msgspec.json.encode(again) == msgspec.json.encode(built.document)


def test_a_recording_that_was_replaced_leaves_nothing_behind():
    built = specimen("stacked")
    first = built.recordings[0]
    files = [msgspec.structs.replace(file, text=f"# another text\n{file.text}") for file in first.files]
    preparation = Preparation()
    preparation.add(msgspec.structs.replace(first, files=files))
    again = build_document(subject(), built.recordings, summary(built.make), preparation)
    assert msgspec.json.encode(again) == msgspec.json.encode(built.document)
