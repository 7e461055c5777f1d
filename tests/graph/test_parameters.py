"""Parameters: experts counted, tied weights once, totals, owners and readers."""

from __future__ import annotations

from math import prod

import pytest
import torch
from torch import nn

from openmodelatlas.graph.labels import Labels, Name
from openmodelatlas.graph.ownership import main_layers
from openmodelatlas.graph.parameters import parameter_key
from openmodelatlas.shapes.dimension import Symbolic, Unresolved

from .driver import Built, build, column, summary
from .specimens import MODELS, specimen


def counted(built: Built) -> int:
    return sum(prod(p.shape) for p in summary(built.make).parameters if p.kind == "parameter")


@pytest.mark.parametrize("name", sorted(MODELS))
def test_totals_equal_the_model_at_full_size(name):
    built = specimen(name)
    assert built.nodes[""].parameter_count == counted(built)
    checks = {check.name: check.passed for check in built.document.checks}
    assert checks["parameters from the solved expressions equal the model at full size"] is True
    assert checks["parameter shapes have expressions"] is True
    assert not any(isinstance(d, Unresolved) for fact in built.document.parameters.values() for d in fact.shape)


@pytest.mark.parametrize(
    ("name", "layers", "key"),
    [
        ("model.layers.3.mlp.experts.5.up.weight", "model.layers", (3, "model.layers.*.mlp.experts.*.up.weight")),
        ("model.norm.weight", "model.layers", (-1, "model.norm.weight")),
        ("model.layers.3.w", "", (-1, "model.layers.*.w")),
        ("model.layersnorm.3", "model.layers", (-1, "model.layersnorm.*")),
    ],
)
def test_keys(name, layers, key):
    assert parameter_key(name, layers) == key


def test_equal_layers_are_one_fact():
    facts = specimen("dense").document.parameters
    fact = facts["model.layers.*.self_attn.q_proj.weight"]
    assert (fact.count, fact.each) == (4, 4096 * 32 * 128)
    assert fact.owner == "layers/self-attn/q-proj"
    assert fact.readers == ("layers/self-attn/q-proj",)
    assert fact.shape == (
        Symbolic(expression="num_heads*head_dim", value=4096),
        Symbolic(expression="hidden_size", value=4096),
    )
    assert fact.dtype == "bfloat16"
    assert fact.value is not None


def test_experts_are_counted_whether_or_not_they_were_hit():
    facts = specimen("listed").document.parameters
    fact = facts["layers.*.mlp.experts.*.up_proj.weight"]
    sizes = column(-1)
    assert fact.count == 3 * sizes["num_experts"]
    assert fact.each == sizes["hidden_size"] * sizes["moe_intermediate_size"]


def test_stacked_experts_have_an_axis_for_them():
    fact = specimen("stacked").document.parameters["layers.*.mlp.up"]
    assert [getattr(d, "expression", None) for d in fact.shape] == [
        "num_experts",
        "moe_intermediate_size",
        "hidden_size",
    ]
    assert fact.count == 3


def test_a_tied_weight_counts_once():
    tied, untied = specimen("tied"), specimen("dense")
    sizes = column(-1)
    saved = sizes["vocab_size"] * sizes["hidden_size"]
    assert untied.nodes[""].parameter_count - tied.nodes[""].parameter_count == saved
    (fact,) = [fact for fact in tied.document.parameters.values() if fact.aliases]
    assert fact.aliases == ("lm_head.weight",)
    assert fact.count == 1
    assert set(fact.readers) == {"embed-tokens", "lm-head"}
    assert tied.nodes["lm-head"].parameters == tied.nodes["embed-tokens"].parameters


def test_counts_of_nodes_add_up_over_children_without_shared_weights():
    built = specimen("dense")
    for node in built.nodes.values():
        parts = [built.nodes[child].parameter_count for child in node.children]
        if node.kind in ("model", "layer group") or (node.kind == "module" and sum(parts)):
            assert node.parameter_count == sum(parts), node.address


def test_counts_of_one_member():
    node = specimen("dense").nodes["layers"]
    assert node.parameter_count == 4 * node.parameter_count_each


def test_variants_do_not_share_facts():
    built = specimen("listed")
    first, others = (set(built.nodes[child].parameters) for child in built.nodes["layers"].children)
    assert not first & others
    assert set(built.nodes["layers"].parameters) == first | others


def test_the_decode_step_shows_the_same_parameters():
    nodes = specimen("cached").nodes
    for address, node in nodes.items():
        if address.startswith("decode/") and node.kind == "module":
            assert node.parameters == nodes[address.removeprefix("decode/")].parameters
    assert nodes["decode"].parameter_count == nodes[""].parameter_count


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("dense", ("model.layers", [[0, 1, 2, 3]])),
        ("listed", ("layers", [[0], [1, 2, 3]])),
        ("nested", ("layers", [[0, 1]])),
        ("reused", ("", [])),
        ("recurrence", ("", [])),
    ],
)
def test_what_the_layers_are(name, expected):
    built = specimen(name)
    labels = Labels(built.trees, built.trees[0].syntax, column(-1))
    labels.assign(built.draft, "", Name("Model", "Model", "model"))
    assert main_layers(built.draft, labels) == expected


def test_layers_that_hold_a_sequence_share_their_facts():
    """Siblings of other shapes are told apart, and still fold over the layers."""
    built = specimen("nested")
    facts = built.document.parameters
    assert {name: fact.count for name, fact in facts.items()} == {
        "layers.*.stack.0.weight": 2,
        "layers.*.stack.0.bias": 2,
        "layers.*.stack.2.weight": 2,
        "layers.*.stack.2.bias": 2,
    }
    assert built.nodes["layers"].parameter_count == built.nodes[""].parameter_count == counted(built)
    assert all(len(fact.readers) == 1 for fact in facts.values())
    assert len({fact.owner for fact in facts.values()}) == 2
    first, silu, last = (built.nodes[child] for child in built.nodes["layers/stack/stack"].children)
    assert [node.parameter_count for node in (first, silu, last)] == [2 * 45_099_776, 0, 2 * 45_092_864]


def test_a_layer_that_is_called_again_counts_once():
    built = specimen("called-again")
    facts = built.document.parameters.values()
    assert built.nodes[""].parameter_count == sum(fact.each * fact.count for fact in facts)
    group = next(node for node in built.document.nodes.values() if node.kind == "layer group")
    assert group.parameter_count == built.nodes[""].parameter_count


def around(function):
    def wrapper(*given):
        return function(*given) + 1

    return wrapper


class Unseen(nn.Module):
    """Nothing that runs is the call of a module."""

    def __init__(self, sizes):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(sizes["hidden_size"]))

    def run(self, x):
        return (x * self.scale).sin()

    forward = around(run)


def test_what_no_module_is_seen_to_own_is_the_models():
    document = build(Unseen).document
    assert {fact.owner for fact in document.parameters.values()} == {""}
    assert document.nodes[""].parameters == ("scale",)
