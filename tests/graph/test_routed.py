"""Layers that hit different numbers of experts are equal layers."""

from __future__ import annotations

import pytest

from openmodelatlas.shapes.dimension import DataDependent, Symbolic, Unresolved
from tests.corpus.models import routed

from .driver import Built, build


@pytest.fixture(scope="module")
def built() -> Built:
    return build(routed.Routed)


def test_layers_hit_different_numbers_of_experts(built: Built) -> None:
    """The control: without that, folding them would prove nothing."""
    counts = {
        sum(
            1 for call in recording.calls if call.module >= 0 and recording.modules[call.module].name.startswith(prefix)
        )
        for recording in built.recordings[:1]
        for prefix in (f"layers.{layer}.mlp.experts." for layer in range(1, 6))
    }
    assert len(counts) > 1


def test_layers_of_experts_fold_into_one(built: Built) -> None:
    assert built.variants() == [(1,), (2, 3, 4, 5, 6)]


def test_a_condition_on_values_is_no_branch_of_layers() -> None:
    """Few enough experts that some layers hit all of them and never come by the ``continue``."""
    built = build(lambda sizes: routed.Routed(sizes | {"num_experts": 10}))
    assert not built.of_kind("branch")
    assert {branch.test for node in built.nodes.values() for branch in node.branches} == set()


def test_what_is_collected_is_read_once(built: Built) -> None:
    (cat,) = built.operations("torch.cat")
    assert len(cat.inputs) == 1


def test_what_is_written_in_place_in_one_type_only_has_the_shape_of_what_it_writes(built: Built) -> None:
    (multiply,) = built.operations("Tensor.mul_")
    written = [built.nodes[address] for address in multiply.children if built.nodes[address].kind == "tensor"]
    facts = [node.tensor for node in (*written, *built.nodes.values()) if node.tensor is not None]
    assert not [axis for fact in facts for axis in fact.shape if isinstance(axis, Unresolved)]
    assert any(
        isinstance(axis, Symbolic) and axis.expression == "B*T*num_experts_per_tok" for f in facts for axis in f.shape
    )


def test_tokens_of_an_expert_add_up(built: Built) -> None:
    bounds = {
        axis.bound
        for node in built.nodes.values()
        if node.tensor is not None
        for axis in node.tensor.shape
        if isinstance(axis, DataDependent)
    }
    assert bounds == {"sum over the rounds: B*T*num_experts_per_tok"}
