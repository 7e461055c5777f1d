"""The same place in other layers, what tells them apart, the strip, and the library's figures."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from openmodelatlas.annotation.knowledge import Knowledge, NodeKnowledge
from openmodelatlas.graph.document import Branch, Lines, Node, Repeat
from openmodelatlas.site.layers import Layers
from openmodelatlas.site.listing import active_parameters, list_atlas
from openmodelatlas.site.naming import named
from openmodelatlas.site.page import PageBuilder
from openmodelatlas.site.strip import strip_html


def _node(address: str, kind: Any, label: str, members: tuple[int, ...] = (), **facts: Any) -> Node:
    parent = None if address == "" else address.rpartition("/")[0]
    return Node(address=address, kind=kind, title=label, label=label, parent=parent, members=members, **facts)


@pytest.fixture
def nodes() -> dict[str, Node]:
    """Three layers of two kinds: the second stores, and its attention is of another class."""
    lines = Lines(file="model.py", first=7, last=8)
    branch = Branch(test="self.stores", lines=lines, taken={"true": (2,), "false": (1, 3)})
    tree = [
        _node("", "model", "Model", children=("layers", "norm")),
        _node("layers", "layer group", "3 layers", (1, 2, 3), children=("layers/plain", "layers/storing")),
        _node("layers/plain", "layer group", "2 plain layers", (1, 3), branches=(branch,)),
        _node("layers/plain/attn", "module", "Attention", (1, 3), class_name="Local", attributes={"window": 128}),
        _node("layers/plain/attn/mix", "operation", "Mix", (1, 3)),
        _node("layers/storing", "layer group", "1 storing layer", (2,), branches=(branch,)),
        _node("layers/storing/attn", "module", "Attention", (2,), class_name="Global", attributes={"window": None}),
        _node("layers/storing/store", "module", "Store", (2,), class_name="Store"),
        _node("norm", "module", "Norm", class_name="Norm"),
    ]
    return {node.address: node for node in tree}


def test_the_same_place_or_the_nearest_around_it(nodes: dict[str, Node]) -> None:
    layers = Layers(nodes)
    found = layers.same_place(nodes["layers/plain/attn/mix"])
    assert [(item.address, item.members, item.here) for item in found] == [
        ("layers/plain/attn/mix", (1, 3), True),
        ("layers/storing/attn", (2,), False),
    ]
    assert [item.address for item in layers.same_place(nodes["norm"])] == ["layers/plain", "layers/storing"]
    assert [item.here for item in layers.same_place(nodes["norm"])] == [False, False]


def test_what_differs_is_told_both_ways(nodes: dict[str, Node]) -> None:
    layers = Layers(nodes)
    there, back = nodes["layers/storing"], nodes["layers/plain"]
    assert layers.differences(back, there) == (
        "`self.stores` is true, here false",
        "Attention is `Global`, here `Local`",
        "`window` of Attention is `None`, here `128`",
        "has Store, `Store`",
    )
    assert "has no Store" in layers.differences(there, back)
    assert layers.differences(there, there) == ()


def test_models_without_layers_have_no_strip() -> None:
    layers = Layers({"": _node("", "model", "Model")})
    assert layers.same_place(_node("", "model", "Model")) == ()


def test_every_layer_is_a_cell_that_leads_to_its_own_group(samples: list[Any]) -> None:
    builder = PageBuilder(samples[0])
    page = builder.page(builder.atlas["layers/moe/self-attn/softmax"])
    html = strip_html(page, lambda address: f"/{address}")
    cells = re.findall(
        r'<a class="cell variant-(\d)" href="([^"]+)"(?: data-note="[^"]*")?( aria-current="true")?>(\d+)</a>', html
    )
    assert [int(cell[3]) for cell in cells] == list(range(1, 62))
    assert cells[0][:2] == ("1", "/layers/dense/self-attn/softmax")
    assert {cell[:2] for cell in cells[1:]} == {("2", "/layers/moe/self-attn/softmax")}
    assert [bool(cell[2]) for cell in cells] == [False, *[True] * 60]
    assert html.count("data-note") == 2
    block = builder.page(builder.atlas["layers/moe"])
    assert "Mlp is SampleMLP, here SampleExperts" in strip_html(block, lambda address: f"/{address}")
    model = builder.page(builder.atlas[""])
    assert "60 MoE blocks; Mlp is SampleExperts" in strip_html(model, lambda address: f"/{address}")


def test_knowledge_names_nodes_and_keeps_their_conditions(samples: list[Any]) -> None:
    document = samples[0].document
    moe = msgspec.structs.replace(
        document.nodes["layers/moe"], label="60 blocks, unless self.dense", kind="layer group"
    )
    document = msgspec.structs.replace(document, nodes={**document.nodes, "layers/moe": moe})
    known = Knowledge(nodes={"layers/moe": NodeKnowledge(label="60 MoE blocks"), "layers": NodeKnowledge(title="All")})
    renamed = named(document, known).nodes
    assert renamed["layers/moe"].label == "60 MoE blocks, unless self.dense"
    assert (renamed["layers"].title, renamed["layers"].label) == ("All", "All")
    assert renamed["embed-tokens"] is document.nodes["embed-tokens"]
    assert named(document, Knowledge()) is document


def test_the_library_counts_what_one_token_uses(samples: list[Any]) -> None:
    entry = list_atlas(PageBuilder(samples[0]))
    assert (entry.parameters, len(entry.layers), [kind.label for kind in entry.kinds]) == (
        1_026_408_209_408,
        61,
        ["1 dense block", "60 MoE blocks"],
    )
    document = samples[0].document
    loop = document.nodes["layers/moe/mlp/experts"]
    count = 384 * 1000
    with_experts = msgspec.structs.replace(loop, parameter_count=count)
    document = msgspec.structs.replace(document, nodes={**document.nodes, loop.address: with_experts})
    assert active_parameters(document) == 1_026_408_209_408 - count * 376 // 384
    unknown = Repeat(observed=(2, 5), expression=None, of=None, note="2 to 5 in the probes")
    silent = msgspec.structs.replace(with_experts, repeat=unknown)
    document = msgspec.structs.replace(document, nodes={**document.nodes, loop.address: silent})
    assert active_parameters(document) is None
