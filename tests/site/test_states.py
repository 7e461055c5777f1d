"""Caches that a call leaves to the next one are told where they are read, whatever no argument names."""

from __future__ import annotations

from openmodelatlas.graph.document import Node
from openmodelatlas.site.describe import describe_node
from openmodelatlas.site.states import States
from tests.drawing.sample import decoder


def test_what_encloses_a_reader_of_another_phase_reads_its_cache() -> None:
    document = decoder()
    states = States(document)

    assert [(port.name, port.tensor) for port in states.of(document.nodes["decode"])] == [
        ("keys", "block/attention/append/output")
    ]
    assert states.of(document.nodes["decode/attention"]) == (), "its own argument names it"
    assert states.of(document.nodes["block"]) == ()
    assert states.of(document.nodes[""]) == ()


def test_the_decode_step_is_described_in_a_sentence() -> None:
    phase = Node(address="decode", kind="phase", title="Decode step", label="Decode step", phase="decode", parent="")

    assert describe_node(phase, {"decode": phase}, operations=819) == "It runs 819 operations."
    assert describe_node(phase, {"decode": phase}, operations=1) == "It runs 1 operation."
