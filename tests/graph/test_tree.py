"""Events as trees: places, iterations, comprehensions, containers, what is not worth a node."""

from __future__ import annotations

import msgspec
import pytest

from openmodelatlas.graph.preparation import Preparation
from openmodelatlas.graph.tree import Keys, LoopRun, Tree, starred

from .driver import TOKENS
from .specimens import specimen


def runs(tree: Tree) -> list[LoopRun]:
    found: list[LoopRun] = []

    def visit(items):
        for item in items:
            if isinstance(item, LoopRun):
                found.append(item)
                for part in item.iterations:
                    visit(part)

    for call in range(len(tree.children)):
        visit(tree.items(call))
    return found


def flat(items) -> list[int]:
    events: list[int] = []
    for item in items:
        events.extend([item] if isinstance(item, int) else [e for part in item.iterations for e in flat(part)])
    return events


@pytest.mark.parametrize(
    ("name", "new"),
    [
        ("model.layers.3.mlp.experts.12.up", "model.layers.*.mlp.experts.*.up"),
        ("0.weight", "*.weight"),
        ("layer0.w1.10", "layer0.w1.*"),
        ("3", "*"),
        ("", ""),
    ],
)
def test_starred(name, new):
    assert starred(name) == new


def test_keys_are_interned_and_relative_without_indices():
    keys = Keys()
    one, other = (keys.number("module", 7, f"layers.{i}.mlp", None) for i in (0, 5))
    assert one == keys.number("module", 7, "layers.0.mlp", None)
    assert one != other
    assert keys.relative(one) == keys.relative(other)
    assert keys.describe(keys.relative(one))[2] == "layers.*.mlp"
    operation = keys.number("operation", 7, "torch.add")
    assert keys.relative(operation) == operation


@pytest.mark.parametrize("name", ["dense", "listed", "recurrence", "comprehension", "branches", "tries"])
def test_every_event_is_in_exactly_one_place(name):
    for tree in specimen(name).trees:
        events = [event for call in range(len(tree.children)) for event in flat(tree.items(call))]
        assert len(events) == len(set(events))
        operations = {event for event in events if event >= 0}
        assert operations == set(range(len(tree.recording.operations)))
        assert len(tree.roots) == 1


def test_rounds_come_from_the_trace():
    for tree, tokens in zip(specimen("recurrence").trees, (*TOKENS, TOKENS[0]), strict=True):
        (loop,) = runs(tree)
        assert len(loop.iterations) == tokens
        assert {len(part) for part in loop.iterations} == {4}
        keys = [[tree.relative_key(event) for event in flat(part)] for part in loop.iterations]
        assert all(row == keys[0] for row in keys)


def test_rounds_without_events_are_left_out_but_keep_the_others_apart():
    tree = specimen("branches").trees[0]
    loops = [run for run in runs(tree) if run.loop is not None and run.loop.text.startswith("for step")]
    assert len(loops) == 5
    assert all(len(run.iterations) == 1 for run in loops)


def test_a_comprehension_is_a_loop_whose_rounds_repeat_the_same_places():
    tree = specimen("comprehension").trees[0]
    (run,) = runs(tree)
    assert [len(part) for part in run.iterations] == [2, 2, 2]


def test_children_of_a_container_are_rounds():
    (run,) = runs(specimen("sequence").trees[0])
    assert run.loop is None
    assert [len(part) for part in run.iterations] == [1, 1, 1]


def test_equal_places_of_all_recordings_have_equal_keys():
    first, *others = specimen("dense").trees
    for other in others:
        assert first.event_keys == other.event_keys


def test_helpers_without_operations_are_not_worth_a_place():
    recording = specimen("wrapped").recordings[0]
    last = recording.calls[-1]
    idle = msgspec.structs.replace(last, kind="function", module=-1, order=10**6, parent=0, step=1, result=None)
    longer = msgspec.structs.replace(recording, calls=[*recording.calls, idle])
    tree = Preparation().trees([longer])[0][0]
    assert ~(len(longer.calls) - 1) not in tree.children[0]


def test_places_are_spans_of_the_source():
    tree = specimen("operands").trees[0]
    texts = set()
    for event in range(len(tree.recording.operations)):
        place = tree.place(event)
        assert place is not None
        texts.add(tree.syntax[place[0]].segment(place[1:]))
    assert {"scale * größe", "1.0 - scaled", "rest[rows]", "x > 0", "self.proj(x)"} <= texts


def test_functions_of_torchs_modules_have_no_text():
    tree = specimen("dense").trees[0]
    linear = next(i for i, call in enumerate(tree.recording.calls) if call.name == "Linear")
    assert tree.function(linear) is None
    assert tree.function(0) is not None


def test_method_calls_over_several_lines_are_whole_expressions():
    """The interpreter says they begin at the method's name; a place is the expression, its receiver included."""
    nodes = specimen("chained").nodes
    texts = {node.symbol.text for node in nodes.values() if node.kind == "operation" and node.symbol is not None}
    chain = "self.proj(x) .topk(2, dim=-1)"
    assert texts == {chain, f"{chain}[0] .sum(dim=-1)"}
    assert "sum-scores" in nodes
    assert [port.tensor for port in nodes["sum-scores"].inputs] == ["topk/output-1"]
