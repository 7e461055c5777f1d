"""What layers keep for the next step, and the order of a state's axes, from shapes and operations alone."""

from __future__ import annotations

from typing import Any

import pytest

from openmodelatlas.annotation.explanations.axes import StateAxes
from openmodelatlas.annotation.explanations.caches import Caches
from openmodelatlas.annotation.material import Draft, Drafts
from openmodelatlas.graph.document import Document, Lines, Node, Port, Provenance, SizeName, Symbol, TensorFact
from openmodelatlas.shapes.dimension import Constant, Dimension, Symbolic, Varying

B, T, WIDTH = Symbolic("B", None), Symbolic("T", None), Symbolic("width", 64)
WINDOW = Symbolic("min(T, window - 1)", None)
SIZES = {
    "width": SizeName(symbol="w", name="width", value=64),
    "window": SizeName(symbol="W", name="window", value=128),
}
LINES = Lines(file="m.py", first=3, last=3)


def node(address: str, kind: Any, **fields: Any) -> Node:
    parent = address.rpartition("/")[0] if address else None
    return Node(address=address, kind=kind, title=address, label=address, parent=parent, **fields)


def layers(kept: dict[str, tuple[tuple[Dimension, ...], str]], members: dict[str, tuple[int, ...]]) -> Document:
    """Layers of two kinds at most, each of which keeps one tensor of the given shape and type."""
    everywhere = tuple(number for numbers in members.values() for number in numbers)
    nodes = [node("", "model"), node("layers", "layer group", members=everywhere)]
    for name, numbers in members.items():
        shape, dtype = kept[name]
        group, tensor = f"layers/{name}", f"layers/{name}/kept"
        nodes += [
            node(group, "layer group", members=numbers),
            node(f"{group}/write", "operation", symbol=Symbol(text="write", lines=LINES)),
            node(tensor, "tensor", tensor=TensorFact(shape=shape, dtype=dtype, producer=f"{group}/write")),
        ]
    nodes.append(node("decode", "phase", phase="decode"))
    for name, numbers in members.items():
        read = (Port(name="kept", tensor=f"layers/{name}/kept", source="tensor"),)
        nodes += [
            node(f"decode/layers/{name}", "layer group", phase="decode", members=numbers),
            node(f"decode/layers/{name}/read", "operation", phase="decode", inputs=read),
        ]
    return document(nodes)


def document(nodes: list[Node]) -> Document:
    return Document(
        format=1,
        model="m",
        title="M",
        provenance=Provenance(
            source="folder",
            repository="",
            revision="",
            requested_revision=None,
            entry="",
            configuration_origin="",
            preferred=(),
            versions={},
            choices=(),
            probes=(),
        ),
        configuration={},
        configuration_defaults=(),
        sizes=SIZES,
        nodes={each.address: each for each in nodes},
        parameters={},
        files={},
        checks=(),
        notes=(),
    )


def said(found: Document, address: str) -> list[str]:
    drafts = Drafts(nodes={each: Draft(title="Cached keys" if each.endswith("kept") else None) for each in found.nodes})
    return [each.text for each in Caches(found, drafts).statements(found.nodes[address])]


def test_what_grows_with_each_token() -> None:
    found = layers({"all": ((B, T, WIDTH), "bfloat16")}, {"all": (1, 2, 3)})

    assert said(found, "layers/all") == [
        "Each of these layers keeps for the next step 64 elements per token (128 bytes in bfloat16)."
    ]
    assert said(found, "") == ["The caches over 3 layers grow by 192 elements per token (384 bytes in bfloat16)."]
    assert said(found, "decode/layers/all") == []


def test_what_grows_until_a_window_is_full() -> None:
    kept: dict[str, tuple[tuple[Dimension, ...], str]] = {
        "full": ((B, T, WIDTH), "float32"),
        "sliding": ((B, WIDTH, WINDOW), "float32"),
    }
    found = layers(kept, {"full": (1,), "sliding": (2, 3)})

    assert said(found, "layers/sliding")[0].endswith("(256 bytes in float32); of the last 127 tokens only.")
    assert said(found, "layers/full")[0].startswith("The layer keeps for the next step 64 elements per token")
    assert said(found, "layers") == [
        "The caches over 3 layers grow by 192 elements per token (768 bytes in float32) until the windows hold 127 "
        "tokens, and by 64 (256 bytes in float32) per further token."
    ]


def test_what_does_not_grow() -> None:
    found = layers({"all": ((B, Constant(2), WIDTH, WIDTH), "float32")}, {"all": (1, 2)})

    assert said(found, "layers/all") == [
        "Each of these layers keeps for the next step 8,192 elements whatever the length (32,768 bytes in float32)."
    ]
    assert said(found, "") == [
        "The states of 2 layers are 16,384 elements whatever the length (65,536 bytes in float32)."
    ]


def test_a_size_that_is_not_known_is_not_guessed() -> None:
    found = layers({"all": ((B, Varying(values=(1, 2)), WIDTH), "float32")}, {"all": (1, 2)})

    assert said(found, "layers/all") == said(found, "") == []


@pytest.mark.parametrize(
    ("function", "arguments", "order", "expected"),
    [
        ("torch.Tensor.sum", {"dim": -2}, ("products",), "key features, value features"),
        ("torch.Tensor.sum", {"dim": 2}, ("products",), "key features, value features"),
        ("torch.Tensor.sum", {"1": -1}, ("products",), "value features, key features"),
        ("torch.matmul", {}, ("keys", "state"), "key features, value features"),
        ("torch.Tensor.__matmul__", {}, ("state", "keys"), "value features, key features"),
        ("torch.matmul", {}, ("keys", "keys"), None),
        ("torch.Tensor.sum", {"dim": 1}, ("products",), None),
    ],
)
def test_the_axes_of_a_state(
    function: str, arguments: dict[str, Any], order: tuple[str, ...], expected: str | None
) -> None:
    shape = (B, Constant(2), WIDTH, WIDTH)
    operands = {str(index): {"tensor": f"layers/{name}"} for index, name in enumerate(order)}
    symbol = Symbol(text="recalled", lines=LINES)
    recall = node(
        "layers/recall", "operation", function=function, arguments=arguments, operands=operands, symbol=symbol
    )
    tensors = [node(f"layers/{name}", "tensor", tensor=TensorFact(shape=shape, dtype=None)) for name in set(order)]
    found = document([node("", "model"), node("layers", "layer group", members=(1, 2)), recall, *tensors])
    drafts = Drafts(nodes={each: Draft(title=each.rpartition("/")[2]) for each in found.nodes})
    drafts.nodes["layers/recall"].role = "recall"

    texts = [each.text for each in StateAxes(found, drafts).statements(found.nodes["layers"])]

    assert [f"batch, heads, {expected}:" in text for text in texts] == ([] if expected is None else [True])
