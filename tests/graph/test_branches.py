"""Conditions that layers take differently, and lines that nothing reached."""

from __future__ import annotations

import ast

import pytest

from openmodelatlas.graph.branches import Coverage, Decision, outcome_of
from openmodelatlas.graph.node_source import computed_in
from openmodelatlas.graph.outcomes import branches_of, outcome_for
from openmodelatlas.graph.syntax import Condition, FileSyntax

from .specimens import specimen


def condition(first: int, last: int, body: tuple[int, int], orelse: tuple[int, int] | None) -> Condition:
    return Condition(first, last, "x", body, orelse, (), 0, 0)


@pytest.mark.parametrize(
    ("lines", "with_else", "without"),
    [
        ({1}, None, "false"),
        ({1, 2}, "true", "true"),
        ({1, 5}, "false", "false"),
        ({1, 2, 5}, "both", "true"),
        ({9}, None, None),
        (set(), None, None),
    ],
)
def test_outcomes(lines, with_else, without):
    assert outcome_of(condition(1, 6, (2, 3), (5, 6)), lines) == with_else
    assert outcome_of(condition(1, 3, (2, 3), None), lines) == without


def test_layers_by_outcome():
    layer = specimen("branches").group("layers/first")
    taken = {branch.test: branch.taken for branch in layer.branches}
    assert taken == {
        "self.layer_idx % 2 == 0": {"true": (1, 3, 5), "false": (2, 4)},
        "self.layer_idx == 0": {"true": (1,), "false": (3, 5)},
        "self.layer_idx == 3": {"true": (4,), "false": (2,)},
    }


def test_conditions_that_all_layers_take_alike_are_no_branches():
    for node in specimen("branches").nodes.values():
        assert not any(branch.test in ("step == 1", "self.debug") for branch in node.branches)
    assert all(not node.branches for node in specimen("dense").nodes.values())


def test_a_condition_that_goes_as_values_go_says_nothing_of_layers():
    for name in ("listed", "stacked"):
        tests = {branch.test for node in specimen(name).nodes.values() for branch in node.branches}
        assert "hit[index] == 0" not in tests


def test_branches_nest_and_hold_what_ran_in_them():
    nodes = specimen("branches").nodes
    branches = [node for node in nodes.values() if node.kind == "branch"]
    assert len(branches) == 8  # an outer and an inner one in each of four variants
    inner = [node for node in branches if nodes[node.parent].kind == "branch"]
    assert len(inner) == 4
    assert sorted(nodes[node.children[0]].function.rpartition(".")[2] for node in inner) == [
        "cos",
        "exp",
        "sin",
        "tanh",
    ]


def test_unreached_lines_name_the_condition_that_kept_them_out():
    built = specimen("branches")
    layer = built.group("layers/first")
    text = next(file.text for file in built.recordings[0].files if file.path == layer.code.file).splitlines()
    found = {u.condition: [line.strip() for line in text[u.lines.first - 1 : u.lines.last]] for u in layer.unreached}
    assert found["self.debug"][0] == "print(x.mean())"
    assert found["self.debug"][-1] == 'raise ValueError("not a number")'
    assert found[None] == ["x = x - 1", "return x.abs()"]
    assert len(found) == 2


def test_lines_that_any_layer_reached_are_reached():
    for address, node in specimen("branches").nodes.items():
        if node.unreached:
            assert {u.condition for u in node.unreached} == {"self.debug", None}, address


TEXT = """def f(x):
    if x:
        a = 1
        if y:
            b = 2
    else:
        c = 3
    return a
    d = 4
"""


def unreached(lines: set[int]) -> list[tuple[int, int, str | None]]:
    function = FileSyntax(TEXT).function(1, "f")
    assert function is not None
    coverage = Coverage()
    coverage.lines["f", "f", 1] = lines
    found = coverage.unreached(("f", "f", 1), function)
    return [(first, last, guard.test if guard else None) for first, last, guard in found]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ({2, 3, 4, 5, 7, 8, 9}, []),
        ({2, 3, 4, 8}, [(5, 5, "y"), (7, 7, "x"), (9, 9, None)]),
        ({2, 7, 8}, [(3, 5, "x"), (9, 9, None)]),
        (set(), [(2, 9, None)]),
    ],
)
def test_ranges_of_unreached_lines(lines, expected):
    assert unreached(lines) == expected


def test_outcome_of_a_layer():
    decision = Decision(condition(1, 3, (2, 3), None), {"true": (1, 2), "false": (4,)})
    assert [decision.outcome(layer) for layer in (1, 2, 3, 4)] == ["true", "true", None, "false"]


@pytest.mark.parametrize(
    ("code", "other_first", "shown"),
    [
        ("if sparse:\n    y = experts(x)\nelse:\n    y = mlp(x)", False, "experts(x)"),
        ("if sparse:\n    y = experts(x)\nelse:\n    y = mlp(x)", True, "mlp(x)"),
        ("if kept is None:\n    kept = update\nelse:\n    kept = kept + update", False, "kept + update"),
        ("if starts:\n    kept = update\nelse:\n    kept = kept + update", True, "kept + update"),
        ("if starts:\n    stored = join(stored, x)", True, "join(stored, x)"),
        ("if starts:\n    kept = update", False, "update"),
    ],
)
def test_a_branch_shows_what_ran_unless_that_only_gives_a_new_name(code: str, other_first: bool, shown: str) -> None:
    (statement,) = ast.parse(code).body
    assert isinstance(statement, ast.If)
    computed = computed_in(statement, other_first=other_first)
    assert computed is not None
    assert ast.unparse(computed) == shown


@pytest.mark.parametrize(("name", "layers"), [("pads", ()), ("pads-in-layers", (2, 3, 4, 5, 6)), ("tables", ())])
def test_rounds_of_a_loop_that_runs_no_layers_are_no_layers(name, layers):
    built = specimen(name)
    around = "layers/equal/" if layers else ""
    inside = [
        built.nodes[address]
        for loop in built.of_kind("loop")
        for address in built.nodes
        if loop.address.startswith(around) and f"{address}/".startswith(f"{loop.address}/")
    ]
    assert len(inside) > 10
    assert {node.members for node in inside} == {layers}
    branches = [branch for node in inside for branch in node.branches]
    assert branches
    assert {branch.by for branch in branches} == {"round"}
    for node in inside:
        for branch in branches_of(node, built.nodes):
            assert outcome_for(branch, node) in ("true", "false")
            assert outcome_for(branch, node) == next(way for way, own in branch.taken.items() if node.rounds[0] in own)


def test_what_lies_in_a_round_stands_for_it():
    nodes = specimen("pads").nodes
    rounds = {node.rounds for address, node in nodes.items() if address.startswith("loop/round-3-4")}
    assert rounds == {(3, 4)}
    assert nodes["loop"].rounds == nodes["left"].rounds == ()
    assert nodes["loop/round-3-4"].count == nodes["loop/round-3-4/padded"].count == 2
    assert nodes["loop"].count == 1


def test_conditions_of_layers_count_layers():
    branches = [branch for node in specimen("branches").nodes.values() for branch in node.branches]
    assert branches
    assert {branch.by for branch in branches} == {"layer"}


def test_layers_in_a_loop_are_layers_of_theirs():
    nodes = specimen("steps").nodes
    loop, group = nodes["each"], nodes["each/layers"]
    assert (loop.members, loop.count, loop.repeat.note) == ((), 1, "3 times")
    assert group.members == nodes["each/layers/proj"].members == (1, 2)
    assert nodes["each/multiply-x"].members == ()


def test_a_list_of_modules_within_a_layer_has_rounds():
    nodes = specimen("nested").nodes
    layers = nodes["layers"].members
    assert layers == (1, 2)
    inside = [node for address, node in nodes.items() if address.startswith("layers/")]
    assert {node.members for node in inside} == {layers}
    assert {node.rounds for node in inside if node.kind == "layer group"} == {(), (1,), (2,), (3,)}


def test_a_round_says_which_it_is_and_the_word_that_it_alone_hands_on():
    def notes(name: str) -> list[str]:
        nodes = specimen(name).of_kind("loop")
        return [node.repeat.note for node in nodes if node.repeat is not None and node.rounds]

    assert notes("tables") == ['round 1 of 2; for "full"', 'round 2 of 2; for "sliding"']
    assert notes("pads") == ["round 1 of 4", "round 2 of 4", "rounds 3–4 of 4"]
