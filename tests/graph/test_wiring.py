"""Where tensors come from, relative to the code around."""

from __future__ import annotations

import itertools

from openmodelatlas.graph.align import LoopSite, Site, sites_in
from openmodelatlas.graph.arguments import tensors_in
from openmodelatlas.graph.wiring import output_count, read_tensors

from .driver import Built
from .specimens import specimen


def rounds(built: Built) -> list[list[Site]]:
    loop = next(site for site in built.loops() if not site.merged and len(site.rounds) > 1)
    return [[part for part in body if isinstance(part, Site)] for body in loop.rounds]


def references(built: Built, site: Site):
    return built.wiring.references(site)


def test_tensors_in_nested_values():
    value = {"dict": {"a": {"list": [{"tensor": 3}, 4, {"list": [{"tensor": 5}]}]}, "b": {"tensor": 6}}}
    assert list(tensors_in(value, 3)) == [(("a", "0"), 3), (("a", "2", "0"), 5), (("b",), 6)]
    assert list(tensors_in(value, 1)) == [(("b",), 6)]
    assert list(tensors_in([{"tensor": 1}], 3)) == []


def test_layers_read_slots_and_their_fill_is_carried_after_the_first():
    built = specimen("dense")
    layers = rounds(built)
    for index, (layer,) in enumerate(layers):
        hidden, mask = read_tensors(layer.event, built.trees[0])
        assert references(built, layer)[0] == ("slot",)
        assert built.wiring.filled_by(layer, mask)[0] == "before"
        assert built.wiring.filled_by(layer, hidden)[0] == ("before" if index == 0 else "carried")


def test_inside_a_layer_everything_is_relative_to_it():
    built = specimen("dense")
    bodies = [[references(built, site) for site in sites_in(layer.children)] for (layer,) in rounds(built)]
    assert all(body == bodies[0] for body in bodies)
    kinds = {reference[0] for row in bodies[0] for reference in row}
    assert kinds == {"argument", "step", "parameter"}


def test_parameters_are_named_without_indices():
    built = specimen("dense")
    read = [r for (layer,) in rounds(built) for site in sites_in([layer]) for r in references(built, site)]
    names = {reference[1] for reference in read if reference[0] == "parameter"}
    assert "model.layers.*.mlp.up_proj.weight" in names
    assert not any("layers.0" in name for name in names)


def test_what_the_model_is_handed_is_an_argument():
    built = specimen("in-place")
    first = built.root.children[0]
    assert references(built, first) == [("argument", "x", 0)]


def test_a_producer_is_the_site_that_made_it():
    built = specimen("branches")
    for site in sites_in(built.root.children):
        tree = built.trees[0]
        for event in site.instances[0]:
            if event >= 0:
                assert all(built.wiring.producers(0)[tensor] is site for tensor in tree.operation(event).outputs)
    recording = built.trees[0].recording
    given = next(i for i, tensor in enumerate(recording.tensors) if tensor.origin == "input")
    assert built.wiring.producers(0)[given] is None


def test_in_place_writes_make_new_versions_in_order():
    built = specimen("in-place")
    tree = built.trees[0]
    made = [tree.operation(site.event) for site in built.root.children if not site.is_call]
    chain = [operation.function.rpartition(".")[2] for operation in made if operation.writes]
    assert chain == ["__setitem__", "__iadd__", "mul_", "relu_"]
    written = [operation for operation in made if operation.writes]
    for before, after in itertools.pairwise(written):
        assert after.writes == before.outputs


def test_places_hold_their_frame_and_round():
    built = specimen("listed")
    for site in sites_in(built.root.children):
        elements = site.frame.children if site.frame is not None else built.root.children
        element = None
        for step, index in enumerate(site.path):
            part = elements[index] if not isinstance(element, LoopSite) or step % 2 == 0 else None
            if part is None:
                elements = element.rounds[index]
                continue
            element = part
            elements = part.rounds if isinstance(part, LoopSite) else part.children
        assert element is site or site.path[-1:] == site.path[-1:]
        assert site.rounds == site.path[: len(site.rounds)]


def test_rows_of_an_iteration_count_as_one_result():
    tree = specimen("listed").trees[0]
    counts = {o.function.rpartition(".")[2]: output_count(o) for o in tree.recording.operations}
    assert counts["topk"] == 2
    assert counts["linear"] == 1
