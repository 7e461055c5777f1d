"""From folds to what a reader walks: wrappers left out, the way to the layers opened, one operation one node."""

from __future__ import annotations

import pytest

from openmodelatlas.graph.hierarchy import Draft

from .driver import Built
from .specimens import MODELS, specimen


def drafts(built: Built) -> list[Draft]:
    return list(built.draft.walk())


def test_the_layers_stand_directly_below_the_model():
    built = specimen("dense")
    assert built.nodes["layers"].parent == ""
    assert not any(node.module == "model" for node in built.nodes.values())
    assert [built.nodes[child].label for child in built.nodes[""].children if child] == [
        "Embed tokens",
        "Causal",
        "4 transformer blocks",
        "Norm",
        "Lm head",
    ]


def test_a_torch_module_and_its_operation_are_one_node():
    node = specimen("dense").nodes["layers/mlp/up-proj"]
    assert node.kind == "module"
    assert node.function == "torch.nn.functional.linear"
    assert node.class_name == "torch.nn.Linear"
    assert node.events == 4


def test_a_decorators_wrapper_is_left_out_and_its_expression_kept():
    built = specimen("wrapped")
    functions = built.of_kind("function")
    assert [node.function for node in functions] == ["rotate"]
    assert functions[0].symbol is not None
    assert functions[0].symbol.text == "rotate(y)"


def test_a_comprehension_is_no_node_of_its_own():
    built = specimen("comprehension")
    assert built.of_kind("function") == []
    group = built.nodes["heads"]
    assert group.parent == ""
    assert group.members == (1, 2, 3)


def test_one_variant_is_the_group_itself():
    built = specimen("dense")
    assert [node.address for node in built.of_kind("layer group")] == ["layers"]
    assert built.nodes["layers"].class_name == "Block"


def test_several_variants_stand_below_a_group_in_order_of_their_first_layer():
    built = specimen("three-to-one")
    group = built.nodes["layers"]
    variants = [built.nodes[child] for child in group.children if built.nodes[child].kind == "layer group"]
    assert [variant.members[0] for variant in variants] == [1, 4]
    assert group.members == tuple(range(1, 9))
    assert group.count == 8
    assert [variant.count for variant in variants] == [6, 2]


def test_a_module_that_runs_twice_is_two_nodes_with_the_same_parameters():
    built = specimen("reused")
    once, again = built.nodes["shared"], built.nodes["shared-2"]
    assert once.parameters == again.parameters
    assert built.nodes[""].parameter_count == 4096 * 4096 + 4096 + 4096


def test_a_merged_loop_is_a_loop():
    loop = specimen("stacked").of_kind("loop")
    assert [node.symbol.text for node in loop if node.symbol is not None] == [
        "for expert_idx in chosen.unique().tolist()"
    ]


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_site_is_in_exactly_one_draft(name):
    built = specimen(name)
    seen: set[int] = set()
    for draft in drafts(built):
        for site in (*draft.sites, *draft.operation):
            if not site.is_call:
                assert id(site) not in seen
                seen.add(id(site))
    leaves = [s for s in built.wiring.sites if not s.is_call]
    assert seen == {id(site) for site in leaves}


@pytest.mark.parametrize("name", sorted(MODELS))
def test_drafts_hold_parallel_members(name):
    for draft in drafts(specimen(name)):
        if draft.sites and draft.layers and draft.variant is None:
            assert len(draft.sites) == len(draft.layers)
        if draft.operation:
            assert len(draft.operation) == len(draft.sites)


def test_a_module_whose_forward_is_wrapped_is_one_node():
    nodes = specimen("wrapped-forward").nodes
    chosen = nodes["chosen"]
    assert [(nodes[child].kind, child) for child in chosen.children] == [
        ("operation", "chosen/multiply-doubled"),
        ("operation", "chosen/add"),
        ("tensor", "chosen/output"),
    ]
    assert [port.name for port in chosen.inputs] == ["hidden_states"]
    assert chosen.function == "Chosen.forward"


def test_a_forward_that_only_calls_a_method_of_its_class_is_that_method():
    built = specimen("delegating")
    assert built.of_kind("function") == []
    layer = built.nodes["layers"]
    assert layer.kind == "layer group"
    assert layer.class_name == "Delegates"
    assert [child for child in layer.children if built.nodes[child].kind == "operation"] == [
        "layers/add-shifted",
        "layers/multiply",
    ]
    code = built.nodes["layers/add-shifted"].code
    assert code is not None
    assert code.last - code.first == 2
