"""Where tensors go as pages tell it: to what is outside, to later rounds, to the next layers."""

from __future__ import annotations

from typing import Any

from openmodelatlas.graph.document import Node
from openmodelatlas.site.neighbours import Neighbours

STATE = "layers/plain/scan/write"


def _node(address: str, kind: Any, label: str, members: tuple[int, ...] = ()) -> Node:
    parent = None if address == "" else address.rpartition("/")[0]
    return Node(address=address, kind=kind, title=label, label=label, parent=parent, members=members)


def _neighbours(members: tuple[int, ...]) -> Neighbours:
    """Layers in which a loop hands a state to its later rounds."""
    tree = [
        _node("", "model", "Model"),
        _node("layers", "layer group", "Layers", (1, 2, 3)),
        _node("layers/plain", "layer group", "Plain layers", members),
        _node("layers/plain/norm", "operation", "Norm", members),
        _node("layers/plain/scan", "loop", "Scan", members),
        _node("layers/plain/scan/read", "operation", "Read", members),
        _node(STATE, "operation", "Write", members),
        _node("layers/plain/add", "operation", "Add", members),
        _node("head", "operation", "Head"),
    ]
    return Neighbours({node.address: node for node in tree})


def _readers(members: tuple[int, ...], page: str, producer: str, *consumers: str) -> list[str]:
    neighbours = _neighbours(members)
    node = neighbours._nodes[page]
    return [crumb.label for crumb in neighbours.readers(node, producer, consumers)]


def test_a_state_goes_to_later_rounds_where_there_are_rounds() -> None:
    assert _readers((1,), STATE, STATE, "layers/plain/scan/read") == ["Read of a later round"]
    assert _readers((1,), "layers/plain/scan", STATE, "layers/plain/scan/read") == ["Read of a later round"]


def test_it_leaves_neither_the_layer_nor_goes_to_the_next_one() -> None:
    readers = ("layers/plain/scan/read", "head")
    assert _readers((1,), "layers/plain", STATE, *readers) == ["Head"]
    assert _readers((1, 2), "layers/plain", STATE, *readers) == ["Head"]


def test_layers_that_follow_each_other_hand_on_what_they_give() -> None:
    found = _readers((1, 2), "layers/plain", "layers/plain/add", "layers/plain/norm", "head")
    assert found == ["the next of these layers", "Head"]


def test_what_is_read_later_in_the_same_layer_does_not_leave_it() -> None:
    assert _readers((1, 2), "layers/plain", "layers/plain/norm", "layers/plain/add") == []


def test_rounds_are_told_from_layers() -> None:
    neighbours = _neighbours((1, 2))
    inside, before = neighbours._nodes[STATE], neighbours._nodes["layers/plain/norm"]
    assert neighbours.rounds_of(inside, [STATE])
    assert not neighbours.rounds_of(inside, ["layers/plain/add"])
    assert not neighbours.rounds_of(before, ["layers/plain/add"])
