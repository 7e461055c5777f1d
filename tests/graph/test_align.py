"""The same place in all probes: which loops keep their rounds apart and which become one body."""

from __future__ import annotations

import pytest

from openmodelatlas.graph.align import Aligner, LoopSite, Site, sites_in

from .driver import TOKENS, Built
from .specimens import specimen


def loop(built: Built, text: str) -> LoopSite:
    found = [site for site in built.loops() if site.loop is not None and site.loop.text.startswith(text)]
    return found[0]


def test_layers_are_kept_apart():
    site = loop(specimen("dense"), "for index, layer")
    assert not site.merged
    assert len(site.rounds) == 4
    assert site.counts == ((4,),) * 5


def test_rounds_that_differ_between_probes_are_merged():
    site = loop(specimen("recurrence"), "for t")
    assert site.merged
    assert len(site.rounds) == 1
    assert site.counts == tuple((tokens,) for tokens in (*TOKENS, TOKENS[0]))
    assert [len(part.instances[0]) for part in site.rounds[0]] == [TOKENS[0]] * 4


def test_runs_that_hit_other_experts_are_one_body():
    built = specimen("stacked")
    site = loop(built, "for expert_idx")
    assert site.merged
    assert len({count for row in site.counts for count in row}) > 1
    (body,) = site.rounds
    functions = [built.trees[s.probe].operation(s.event).function.rpartition(".")[2] for s in body if not s.is_call]
    assert functions[0] == "__eq__"
    assert functions[-1] == "index_add_"
    for part in body:
        for probe in range(5):
            assert len(part.instances[probe]) == site.counts[probe][0]


def test_experts_in_a_list_align_without_their_indices():
    site = loop(specimen("listed"), "for index, expert")
    assert site.merged
    calls = [part for part in site.rounds[0] if isinstance(part, Site) and part.is_call]
    assert len(calls) == 1
    assert len(calls[0].instances[0]) > 1


@pytest.mark.parametrize("name", ["dense", "listed", "stacked", "recurrence", "branches", "comprehension", "reused"])
def test_every_operation_of_every_probe_is_in_exactly_one_site(name):
    built = specimen(name)
    seen: list[set[int]] = [set() for _ in built.trees]
    for site in sites_in(built.root.children):
        for probe, events in enumerate(site.instances):
            assert not seen[probe] & set(events)
            seen[probe] |= set(events)
    for tree, events in zip(built.trees, seen, strict=True):
        assert {event for event in events if event >= 0} == set(range(len(tree.recording.operations)))


@pytest.mark.parametrize("name", ["dense", "listed", "recurrence", "growing"])
def test_sites_are_one_place_of_the_code(name):
    built = specimen(name)
    for site in sites_in(built.root.children):
        for tree, events in zip(built.trees, site.instances, strict=True):
            assert {tree.relative_key(event) for event in events} <= {tree.keys.relative(site.key)}


def test_a_run_that_stopped_early_does_not_merge_the_layers():
    built = specimen("dense")
    first = built.trees[0]
    only = Aligner([first, built.trees[1]], 1)
    root = only.align(0)
    assert root is not None
    assert only.align(1) is None


def test_modules_that_run_twice_stay_two_sites():
    built = specimen("reused")
    names = [built.trees[0].recording.calls[~s.event].name for s in built.root.children if s.is_call]
    assert names == ["forward", "Linear", "forward", "Linear"]
