"""Ports: past plumbing, of all members, at the borders of loops and branches."""

from __future__ import annotations

import pytest

from openmodelatlas.graph.document import Node, Port
from openmodelatlas.shapes.dimension import Constant, Varying

from .driver import Built
from .specimens import MODELS, specimen


def port(node: Node, name: str) -> Port:
    (found,) = (port for port in (*node.inputs, *node.outputs) if port.name == name)
    return found


def test_views_are_passed_and_listed_in_order():
    node = specimen("dense").nodes["layers/self-attn/matmul"]
    query, key = node.inputs
    assert query.tensor == "layers/self-attn/q-proj/output"
    assert query.via == ("layers/self-attn/view", "layers/self-attn/transpose-query")
    assert key.via[-1] == "layers/self-attn/transpose"
    assert len(key.via) == 3


def test_consumers_are_readers_on_the_whole_way():
    built = specimen("dense")
    tensor = built.nodes["layers/self-attn/q-proj/output"].tensor
    assert tensor is not None
    assert tensor.consumers == (
        "layers/self-attn/view",
        "layers/self-attn/transpose-query",
        "layers/self-attn/matmul",
    )


def test_what_other_members_read_is_told():
    built = specimen("dense")
    state, mask = built.nodes["layers"].inputs[:2]
    assert (state.tensor, state.others) == ("embed-tokens/output", ("layers/output",))
    assert (mask.tensor, mask.others) == ("causal/output", ())
    produced = built.nodes["layers/output"].tensor
    assert produced is not None
    assert "norm/power" in produced.consumers  # after the last layer
    assert any(consumer.startswith("layers/") for consumer in produced.consumers)  # in the next layer


def test_the_tensor_of_the_mask_tells_windowed_layers():
    built = specimen("windowed")
    windowed, full = (built.nodes[c] for c in built.nodes["layers"].children)
    assert port(full, "mask").tensor == "causal/output"
    assert port(windowed, "mask").tensor == "and/output"


def test_modules_name_what_the_code_hands_over_and_their_parameters():
    node = specimen("dense").nodes["layers/mlp/up-proj"]
    assert [(p.name, p.source) for p in node.inputs] == [("x", "tensor"), ("weight", "parameter")]


def test_inputs_of_the_model():
    built = specimen("dense")
    (given,) = built.nodes[""].inputs
    assert (given.tensor, given.source) == ("input_ids", "input")
    assert built.document.inputs["input_ids"].shape[0].expression == "B"
    assert {name.partition("/")[0] for name in specimen("cached").document.inputs} == {"input_ids", "decode"}


def test_the_decode_step_reads_what_the_prefill_cached():
    built = specimen("cached")
    cats = [node for node in built.operations("cat") if node.address.startswith("decode/")]
    assert [cat.inputs[0].tensor for cat in cats] == [
        "layers/chunk-query/output-key",
        "layers/chunk-query/output-value",
    ]
    key = built.nodes["layers/chunk-query/output-key"].tensor
    assert key is not None
    assert cats[0].address in key.consumers


def test_a_loop_has_what_crosses_its_border():
    built = specimen("recurrence")
    (loop,) = built.of_kind("loop")
    assert [(p.name, p.tensor) for p in loop.inputs] == [("state", "zeros-like-state/output"), ("x", "hidden_states")]
    assert [p.tensor for p in loop.outputs] == [f"{loop.address}/add-state/output"]


def test_a_branch_has_what_crosses_its_border():
    built = specimen("branches")
    for branch in built.of_kind("branch"):
        (state,) = branch.inputs
        (result,) = branch.outputs
        assert state.name == result.name == "x"
        assert result.tensor.startswith(branch.address)


def test_in_place_writes_read_the_version_before():
    built = specimen("in-place")
    chain = [n for n in built.of_kind("operation") if n.function.rpartition(".")[2] in ("__iadd__", "mul_", "relu_")]
    assert [node.inputs[0].tensor for node in chain] == [
        "write-selection/output",
        chain[0].outputs[0].tensor,
        chain[1].outputs[0].tensor,
    ]


def test_results_have_the_variables_of_a_tuple_target():
    nodes = specimen("cached").nodes
    outputs = nodes["layers/chunk-query"].outputs
    assert [port.name for port in outputs] == ["query", "key", "value"]
    assert [nodes[port.tensor].tensor.variable for port in outputs] == ["query", "key", "value"]


@pytest.mark.parametrize("name", sorted(MODELS))
def test_producers_return_what_they_make_and_consumers_read_it(name):
    built = specimen(name)
    for address, node in built.nodes.items():
        fact = node.tensor
        if fact is None:
            continue
        producer = built.nodes[fact.producer]
        assert address in {port.tensor for port in producer.outputs}
        for consumer in fact.consumers:
            reader = built.nodes[consumer]
            ways = [(port.tensor, *port.via, *port.others) for port in reader.inputs]
            direct = any(address in way for way in ways)
            passed = any(fact.producer in way for way in ways)
            assert direct or passed or producer.plumbing or any(w[1:] for w in ways), (address, consumer)


@pytest.mark.parametrize("name", sorted(MODELS))
def test_every_input_tensor_lists_its_reader(name):
    built: Built = specimen(name)
    for address, node in built.nodes.items():
        if node.kind != "operation":
            continue
        for given in node.inputs:
            if given.source == "tensor":
                fact = built.nodes[given.tensor].tensor
                assert fact is not None
                assert address in fact.consumers


OPERANDS = {
    "multiply-scaled": ["größe"],
    "subtract-rest": ["scaled"],
    "select-picked": ["rest", "rows"],
    "index-add-added": ["out", "rows", "picked"],
    "where": ["x > 0", "scaled", "added"],
}


@pytest.mark.parametrize("address", sorted(OPERANDS))
def test_ports_are_named_by_the_operand_they_are(address):
    node = specimen("operands").nodes[address]
    assert [port.name for port in node.inputs] == OPERANDS[address]


def test_a_recurrence_reads_its_own_result():
    """Rounds after the first read what the round before made; the page must not say that all read the zeros."""
    built = specimen("recurrence")
    (loop,) = built.of_kind("loop")
    made = f"{loop.address}/add-state/output"
    multiply = built.nodes[f"{loop.address}/multiply"]
    assert multiply.inputs[0].others == (made,)
    fact = built.nodes[made].tensor
    assert fact is not None
    assert multiply.address in fact.consumers


@pytest.mark.parametrize("name", ["listed", "stacked", "windowed", "branches"])
def test_the_layers_return_what_the_model_returns(name):
    built = specimen(name)
    assert {p.tensor for p in built.nodes[""].outputs} <= {p.tensor for p in built.nodes["layers"].outputs}


def test_results_of_a_layer_are_told_apart():
    nodes = specimen("growing").nodes
    results = [nodes[port.tensor] for port in nodes["layers"].outputs]
    assert [node.title for node in results] == ["Layer output: hidden_states", "Layer output: stored"]
    assert [node.address for node in results] == ["layers/output-hidden-states", "layers/output-stored"]


def test_results_that_a_call_drops_have_the_name_the_function_gives_them():
    nodes = specimen("drops").nodes
    pair = next(node for node in nodes.values() if node.function == "pair")
    assert [nodes[port.tensor].title for port in pair.outputs] == ["Pair output: kept", "Pair output: weights"]


@pytest.mark.parametrize("name", ["windowed", "tables"])
def test_layers_read_what_any_kind_of_them_reads(name):
    built = specimen(name)
    group = built.nodes["layers"]
    kinds = [built.nodes[child] for child in group.children if built.nodes[child].kind == "layer group"]
    wanted = {p.tensor for kind in kinds for p in kind.inputs if not p.tensor.startswith("layers/")}
    assert len(kinds) > 1
    assert {p.tensor for p in group.inputs} == wanted
    assert not {p.tensor for p in group.inputs} & {other for p in group.inputs for other in p.others}


def test_ports_of_one_name_stand_together_with_their_own_plumbing():
    offsets = [p for p in specimen("tables").nodes["layers"].inputs if p.name == "offsets"]
    assert len(offsets) == 2
    assert [len(p.via) for p in offsets] == [1, 1]
    assert len({p.via for p in offsets}) == 2
    (state, *others) = specimen("windowed").nodes["layers"].inputs
    assert [state.name, *(p.name for p in others)] == ["hidden_states", "mask", "mask"]
    assert {other.rpartition("/")[2] for other in state.others} == {"output"}  # the layers hand it on


def test_what_some_rounds_read_instead_enters_the_loop():
    built = specimen("pads")
    (loop,) = (node for node in built.of_kind("loop") if node.parent == "")
    read = {p.tensor for p in loop.inputs}
    assert {"sin/output", "cos-left/output", "exp-right/output", "hidden_states"} == read
    last = built.nodes[[child for child in loop.children if built.nodes[child].kind == "loop"][-1]]
    assert [(p.tensor, p.others) for p in last.inputs] == [("cos-left/output", ()), ("exp-right/output", ())]


def test_what_other_layers_read_enters_no_loop_of_theirs():
    built = specimen("pads-in-layers")
    group = built.nodes["layers/equal"]
    (loop,) = (built.nodes[child] for child in group.children if built.nodes[child].kind == "loop")
    (state,) = (p for p in loop.inputs if p.tensor == "layers/first/output")
    assert state.others == ("layers/equal/output",)
    assert "layers/equal/output" not in {p.tensor for p in loop.inputs}


@pytest.mark.parametrize("name", sorted(MODELS))
def test_what_is_handed_in_lists_its_readers_in_order(name):
    built: Built = specimen(name)
    order = list(built.nodes)
    for key, fact in built.document.inputs.items():
        wanted = [
            node.address
            for node in built.nodes.values()
            if node.events and any(key in (given.tensor, *given.others) for given in node.inputs)
        ]
        assert list(fact.consumers) == wanted
        assert wanted
        assert sorted(wanted, key=order.index) == wanted


def test_members_say_which_of_the_numbers_of_a_growing_tensor_they_read_and_return():
    nodes = specimen("growing").nodes
    group = nodes["layers"]
    (handed,) = (given for given in group.inputs if given.name == "stored")
    (other,) = handed.others
    stored = nodes[other]
    assert stored.tensor is not None
    assert stored.tensor.shape[1] == Varying(values=(2, 3, 4, 5))
    joined = next(node for node in nodes.values() if node.function == "torch.cat")
    read = joined.inputs[0]
    assert read.shape is not None
    assert handed.shape is not None
    assert read.shape[1] == handed.shape[1] == Varying(values=(1, 2, 3, 4))
    given = next(given for given in group.outputs if given.tensor == stored.address)
    assert given.shape is None  # what the tensor's own page says


@pytest.mark.parametrize("name", sorted(MODELS))
def test_ports_have_a_shape_of_their_own_only_where_numbers_vary(name):
    built: Built = specimen(name)
    for node in built.nodes.values():
        for given in (*node.inputs, *node.outputs):
            if given.shape is not None:
                assert node.members or given.tensor.startswith("layers/")
                assert any(isinstance(axis, Constant | Varying) for axis in given.shape)
