"""What layers hand on from one to the next, as their pages tell it."""

from __future__ import annotations

from typing import Any

import msgspec

from openmodelatlas.graph.document import Node, Port, TensorFact
from openmodelatlas.shapes.dimension import Constant, Varying
from openmodelatlas.site.dimensions import DimensionWriter
from openmodelatlas.site.neighbours import Neighbours
from openmodelatlas.site.ports import PortWriter
from tests.site.sample import sample_document

STORED = "layers/first/stored"


def _node(address: str, kind: Any, members: tuple[int, ...] = (), **fields: Any) -> Node:
    parent = None if address == "" else address.rpartition("/")[0]
    return Node(address=address, kind=kind, title=address, label=address, parent=parent, members=members, **fields)


def _writer(nodes: list[Node]) -> PortWriter:
    table = {node.address: node for node in nodes}
    document = msgspec.structs.replace(sample_document(), nodes=table, inputs={}, parameters={})
    return PortWriter(document, DimensionWriter({}), Neighbours(table))


def _layers(port: Port) -> list[Node]:
    """A first layer that makes a tensor, which equal layers and one of another kind read and hand on."""
    fact = TensorFact(
        shape=(Constant(value=1),),
        dtype="float32",
        producer="layers/first/store",
        consumers=("layers/first/mix", "layers/plain/mix", "layers/other/mix", "head"),
    )
    return [
        _node("", "model"),
        _node("layers", "layer group", (1, 2, 3, 4)),
        _node("layers/first", "layer group", (1,)),
        _node("layers/first/store", "operation", (1,)),
        _node("layers/first/mix", "operation", (1,)),
        _node(STORED, "tensor", (1,), tensor=fact),
        _node("layers/plain", "layer group", (2, 4), inputs=(port,), outputs=(port,)),
        _node("layers/plain/mix", "operation", (2, 4)),
        _node("layers/other", "layer group", (3,), inputs=(port,), outputs=(port,)),
        _node("layers/other/mix", "operation", (3,)),
        _node("head", "operation"),
    ]


def test_nothing_is_handed_back_to_a_layer_before() -> None:
    port = Port(name="stored", tensor=STORED, source="tensor")
    nodes = {node.address: node for node in _layers(port)}
    writer = _writer(list(nodes.values()))
    assert writer.output(nodes["layers/plain"], port).consumers == ("layers/plain/mix", "layers/other/mix", "head")
    assert writer.output(nodes["layers/other"], port).consumers == ("layers/plain/mix", "layers/other/mix", "head")
    assert writer.output(nodes["layers/first"], port).consumers[0] == "layers/first/mix"


def test_the_numbers_of_a_port_are_those_that_its_members_see() -> None:
    port = Port(name="stored", tensor=STORED, source="tensor", shape=(Varying(values=(1, 2)),))
    nodes = {node.address: node for node in _layers(port)}
    writer = _writer(list(nodes.values()))
    for shape in (writer.input(nodes["layers/plain"], port).shape, writer.output(nodes["layers/plain"], port).shape):
        assert shape is not None
        assert shape[0].text == "1 or 2 by layer"
        assert shape[0].note == "1 in layer 2; 2 in layer 4"
