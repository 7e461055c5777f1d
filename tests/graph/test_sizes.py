"""Dimensions of sites: expressions, what depends on values, sums over rounds, element types."""

from __future__ import annotations

import pytest

from openmodelatlas.graph.align import sites_in
from openmodelatlas.shapes.dimension import Constant, DataDependent, Symbolic, Unresolved

from .driver import Built, build
from .specimens import specimen


def site_of(built: Built, function: str, nth: int = 0):
    found = [s for s in sites_in(built.root.children) if s.event >= 0 and function_of(built, s) == function]
    return found[nth]


def function_of(built: Built, site) -> str:
    return built.trees[site.probe].operation(site.event).function.rpartition(".")[2]


def test_expressions_of_names_batch_and_tokens():
    built = specimen("dense")
    assert built.shape("embed-tokens/output") == ["B", "T", "hidden_size"]
    assert built.shape("layers/self-attn/q-proj/output") == ["B", "T", "num_heads*head_dim"]
    assert built.shape("layers/self-attn/matmul/output") == ["B", "num_heads", "T", "T"]
    assert built.shape("lm-head/output") == ["B", "T", "vocab_size"]


def test_the_decode_step_counts_cached_positions():
    built = specimen("cached")
    assert built.shape("decode/embed/output") == ["B", "1", "hidden_size"]
    assert built.shape("decode/layers/matmul/output") == ["B", "1", "P + 1"]


@pytest.mark.parametrize("name", ["dense", "windowed", "growing", "recurrence", "in-place", "branches"])
def test_everything_that_depends_on_no_value_is_solved(name):
    built = specimen(name)
    dimensions = [d for site in sites_in(built.root.children) for d in built.sizes.signature(site)]
    assert dimensions
    assert {type(dimension) for dimension in dimensions} <= {Symbolic, Constant}


@pytest.mark.parametrize("name", ["listed", "stacked"])
def test_rows_of_an_expert_depend_on_values_in_every_layer(name):
    """What other weights change anywhere depends on values everywhere."""
    built = specimen(name)
    where = [s for s in sites_in(built.root.children) if s.event >= 0 and function_of(built, s) == "where"]
    assert len(where) == 3  # one for each layer with experts
    for site in where:
        rows, slots = built.sizes.signature(site)
        for dimension in (rows, slots):
            assert isinstance(dimension, DataDependent)
            assert dimension.name == "tokens routed to this expert"
            assert dimension.depends_on == "where"


@pytest.mark.parametrize("name", ["listed", "stacked"])
def test_rows_of_all_experts_add_up(name):
    built = specimen(name)
    (rows, *_) = built.sizes.signature(site_of(built, "where"))
    assert isinstance(rows, DataDependent)
    assert rows.bound == "sum over the rounds: B*T*num_experts_per_tok"


def test_dependence_is_inherited_and_other_axes_stay_solved():
    built = specimen("stacked")
    matmul = site_of(built, "__matmul__")
    rows, inner = built.sizes.signature(matmul)
    assert isinstance(rows, DataDependent)
    assert rows.depends_on == "where"
    assert inner == Symbolic(expression="moe_intermediate_size", value=2048)


def test_dependence_in_one_layer_is_dependence_in_all():
    """The repeat changes the rows of one layer only, yet the same place of the other layers depends on values too."""
    built = build(selecting)
    selects = [s for s in sites_in(built.root.children) if s.event >= 0 and function_of(built, s) == "__getitem__"]
    picked = selects[1::2]  # after the one of ``x[..., 0]``
    assert len(picked) == 2
    for site in picked:
        assert isinstance(built.sizes.signature(site)[0], DataDependent)


def selecting(sizes):
    from tests.corpus.models.statements import Selects

    return Selects(sizes)


def test_how_often_a_loop_goes_round():
    nodes = specimen("recurrence").nodes
    (loop,) = [node for node in nodes.values() if node.kind == "loop"]
    assert loop.repeat is not None
    assert loop.repeat.expression == "T"
    (experts,) = [node for node in specimen("stacked").nodes.values() if node.kind == "loop"]
    assert experts.repeat is not None
    assert experts.repeat.expression is None
    assert experts.repeat.of == "num_experts"
    assert experts.repeat.note.startswith("8 of 64 per token")
    low, high = experts.repeat.observed
    assert 0 < low < high <= 49


def test_element_types_are_those_of_the_probe_in_the_published_type():
    built = specimen("dense")
    facts = {node.address: node.tensor for node in built.of_kind("tensor")}
    assert facts["lm-head/output"].dtype == "bfloat16"
    assert facts["causal/output"].dtype == "bool"
    assert built.recordings[0].probe.dtype == "float32"


def test_a_rank_that_differs_between_probes_is_unresolved_with_its_reason():
    built = build(varying_rank)
    site = next(s for s in sites_in(built.root.children) if s.event >= 0 and function_of(built, s) == "__getitem__")
    (dimension,) = built.sizes.output(site, 0)
    assert isinstance(dimension, Unresolved)
    assert "axes" in dimension.reason


def varying_rank(sizes):
    from tests.corpus.models.statements import VaryingRank

    return VaryingRank(sizes)
