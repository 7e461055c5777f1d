"""Every invariant, violated on purpose: the error names the node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from openmodelatlas.errors import GraphError
from openmodelatlas.graph import invariants
from openmodelatlas.graph.document import Document, Port
from openmodelatlas.shapes.dimension import DataDependent

from .specimens import MODELS, specimen

replace = msgspec.structs.replace
Spoil = Callable[[Document], Document]


def changed(document: Document, at: str, **fields: Any) -> Document:
    return replace(document, nodes={**document.nodes, at: replace(document.nodes[at], **fields)})


def tensor(document: Document, address: str, **fields: Any) -> Document:
    fact = document.nodes[address].tensor
    assert fact is not None
    return changed(document, address, tensor=replace(fact, **fields))


def owned(document: Document, name: str, owner: str) -> Document:
    return replace(document, parameters={**document.parameters, name: replace(document.parameters[name], owner=owner)})


def without(document: Document, address: str) -> Document:
    return replace(document, nodes={key: node for key, node in document.nodes.items() if key != address})


def renamed(document: Document, address: str, new: str) -> Document:
    nodes = {new if key == address else key: node for key, node in document.nodes.items()}
    return replace(document, nodes=nodes)


MATMUL = "layers/self-attn/matmul"
PORT = Port(name="p", tensor="nowhere", source="tensor")

CASES: list[tuple[str, str, str, Spoil]] = [
    ("addresses", "norm-other", "calls itself 'norm'", lambda d: renamed(d, "norm", "norm-other")),
    ("addresses", "Norm", "other characters", lambda d: renamed(changed(d, "norm", address="Norm"), "norm", "Norm")),
    ("one tree", "", "does not exist", lambda d: without(d, "lm-head")),
    ("one tree", "", "names 'norm' as parent", lambda d: changed(d, "lm-head", parent="norm")),
    ("one tree", "lm-head", "no node has it as a child", lambda d: changed(d, "", children=d.nodes[""].children[:-1])),
    (
        "one tree",
        "",
        "also a child of",
        lambda d: changed(d, "", children=(*d.nodes[""].children, "lm-head")),
    ),
    (
        "operations read",
        MATMUL,
        "reads 'nowhere', which is no tensor",
        lambda d: changed(d, MATMUL, operands={"0": {"tensor": "nowhere"}}),
    ),
    ("ports", MATMUL, "is no tensor", lambda d: changed(d, MATMUL, inputs=(PORT,))),
    ("ports", MATMUL, "is no tensor", lambda d: changed(d, MATMUL, outputs=(replace(PORT, tensor="norm"),))),
    (
        "ports",
        MATMUL,
        "is no plumbing",
        lambda d: changed(d, MATMUL, inputs=(replace(PORT, tensor="norm/output", via=("norm/power",)),)),
    ),
    (
        "ports",
        MATMUL,
        "is no tensor",
        lambda d: changed(d, MATMUL, inputs=(replace(PORT, tensor="norm/output", others=("gone",)),)),
    ),
    ("one producer", "norm/output", "producer 'gone'", lambda d: tensor(d, "norm/output", producer="gone")),
    ("one producer", "norm/output", "producer None", lambda d: tensor(d, "norm/output", producer=None)),
    ("one producer", "norm/output", "consumer 'gone'", lambda d: tensor(d, "norm/output", consumers=("gone",))),
    ("one producer", "norm/output", "no facts", lambda d: changed(d, "norm/output", tensor=None)),
    (
        "one producer",
        "norm/output",
        "nothing that is named",
        lambda d: tensor(d, "norm/output", shape=(DataDependent(name="rows", depends_on="", bound=None),)),
    ),
    ("add up", "", "parameters add up to", lambda d: changed(d, "", parameter_count=1)),
    ("add up", "norm", "'gone' does not exist", lambda d: changed(d, "norm", parameters=("gone",))),
    (
        "add up",
        "gone",
        "does not exist",
        lambda d: owned(d, "model.norm.weight", "gone"),
    ),
    ("cited file", "", "not among the files", lambda d: replace(d, files={})),
]


@pytest.mark.parametrize(("rule", "where", "text", "spoil"), CASES)
def test_a_violated_invariant_names_the_node(rule, where, text, spoil):
    document = specimen("dense").document
    invariants.check(document)
    with pytest.raises(GraphError) as caught:
        invariants.check(spoil(document))
    assert rule in str(caught.value)
    assert text in str(caught.value)
    if where:
        assert caught.value.where == where


@pytest.mark.parametrize(
    ("members", "text"),
    [((1, 2), "a layer is in two variants"), ((1,), "do not hold all layers")],
)
def test_every_layer_is_in_exactly_one_variant(members, text):
    document = specimen("alternating").document
    group = document.nodes["layers"]
    first = group.children[0]
    with pytest.raises(GraphError) as caught:
        invariants.check(changed(document, first, members=members))
    assert text in str(caught.value)
    assert caught.value.where == "layers"


def test_every_operation_is_in_exactly_one_node():
    built = specimen("dense")
    recorded = len(built.recordings[0].operations)
    invariants.check_events(built.document, recorded)
    for wrong in (changed(built.document, "norm/power", events=0), changed(built.document, "norm/power", events=2)):
        with pytest.raises(GraphError, match="recorded operations"):
            invariants.check_events(wrong, recorded)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_document_keeps_every_invariant(name):
    built = specimen(name)
    for rule, find in invariants.INVARIANTS.items():
        assert list(find(built.document)) == [], rule
    invariants.check_events(built.document, len(built.recordings[0].operations))


def test_every_invariant_is_violated_above():
    spoiled = {rule for rule, *_ in CASES} | {"exactly one variant"}
    assert all(any(rule in invariant for rule in spoiled) for invariant in invariants.INVARIANTS)
