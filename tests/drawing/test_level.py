"""What a level shows: boxes, streams, the spine, plumbing on edges, state, branches."""

from __future__ import annotations

import msgspec
import pytest

from openmodelatlas.annotation.knowledge import Knowledge, NodeKnowledge
from openmodelatlas.drawing.draw import draw_levels
from openmodelatlas.drawing.drawing import Drawing, DrawnEdge, DrawnNode
from openmodelatlas.drawing.flow import read_flow
from openmodelatlas.graph.document import Document, TensorFact
from openmodelatlas.shapes.dimension import Constant, Dimension
from tests.drawing.sample import HIDDEN, ONE, B, D, E, H, Sample, T, decoder, knowledge


@pytest.fixture(scope="module")
def levels() -> dict[str, Drawing]:
    return draw_levels(decoder(), knowledge())


def named(drawing: Drawing, address: str, role: str = "node") -> DrawnNode:
    return next(node for node in drawing.nodes if node.address == address and node.role == role)


def edge(drawing: Drawing, source: str, target: str) -> DrawnEdge:
    by_id = {node.id: node.address for node in drawing.nodes}
    return next(each for each in drawing.edges if (by_id[each.source], by_id[each.target]) == (source, target))


def test_every_node_with_something_inside_has_a_level(levels: dict[str, Drawing]) -> None:
    assert list(levels) == ["", "block", "block/attention", "block/choose", "block/choose/each-expert", "decode"]


def test_boxes_are_the_children_without_plumbing_and_tensors(levels: dict[str, Drawing]) -> None:
    shown = {(node.role, node.address) for node in levels["block"].nodes}

    assert shown == {
        ("node", "block/norm"),
        ("node", "block/attention"),
        ("addition", "block/add"),
        ("node", "block/choose"),
        ("addition", "block/add-2"),
        ("input", "embed/output"),
        ("input", "mask/output"),
        ("input", "cosines/output"),
        ("input", "sines/output"),
        ("output", "block/add-2/output"),
        ("output", "block/attention/append/output"),
    }


def test_residual_additions_are_found_from_structure() -> None:
    additions = read_flow(decoder(), Knowledge()).additions

    assert {each.address: (each.skip, each.result) for each in additions.values()} == {
        "block/add": ("embed/output", "block/add/output"),
        "block/add-2": ("block/add/output", "block/add-2/output"),
    }


def test_the_spine_runs_straight_through_the_additions(levels: dict[str, Drawing]) -> None:
    spine = [each for each in levels["block"].edges if each.kind == "residual"]

    assert [each.tensor for each in spine] == ["embed/output", "block/add/output", "block/add-2/output"]
    assert len({x for each in spine for x, _ in each.points}) == 1


def test_plumbing_sits_on_the_edge_with_the_shape_after_it(levels: dict[str, Drawing]) -> None:
    drawing = levels["block"]
    found = edge(drawing, "block/norm", "block/attention")

    assert found.plumbing == ("block/view", "block/transpose")
    (knot,) = (drawing.knots[number] for number in found.knots)
    assert [step.title.text for step in knot.steps] == ["view", "transpose"]
    assert knot.shape is not None
    assert knot.shape.text == "[B, h, T, dh]"


def test_edges_carry_name_and_shape(levels: dict[str, Drawing]) -> None:
    found = edge(levels["block"], "block/norm", "block/attention")

    assert found.label is not None
    assert found.shape is not None
    assert (found.label.text, found.shape.text) == ("normed", "[B, T, d]")


def test_what_enters_says_where_it_comes_from(levels: dict[str, Drawing]) -> None:
    entering = named(levels["block"], "embed/output", "input")

    assert entering.note is not None
    assert (entering.title.text, entering.note.text, entering.link) == ("hidden_states", "from embed", "embed")


def test_what_enters_for_one_box_stands_in_a_stack(levels: dict[str, Drawing]) -> None:
    drawing = levels["block"]
    rows = [named(drawing, f"{name}/output", "input") for name in ("mask", "cosines", "sines")]
    lines = [edge(drawing, f"{name}/output", "block/attention") for name in ("mask", "cosines", "sines")]

    assert len({(row.x, row.width) for row in rows}) == 1
    assert [row.y for row in rows] == sorted(row.y for row in rows)
    assert all(line.points[0] == (row.x, row.y + row.height / 2) for row, line in zip(rows, lines, strict=True))
    assert [line.points[-1][0] for line in lines] == sorted(line.points[-1][0] for line in lines)


def test_state_for_another_phase_has_an_edge_of_its_own(levels: dict[str, Drawing]) -> None:
    leaving = edge(levels["block"], "block/attention", "block/attention/append/output")

    assert leaving.kind == "state"
    assert named(levels["block"], "block/attention/append/output", "output").family == "state"
    assert edge(levels[""], "block", "decode").kind == "state"


def test_a_branch_says_which_way_these_layers_go_and_how_many_go_the_other(levels: dict[str, Drawing]) -> None:
    branch = named(levels["block"], "block/choose")

    assert branch.title.text == "Feed forward"
    assert branch.formula is not None
    assert branch.note is not None
    assert branch.formula.text == "if self.is_sparse"
    assert branch.note.text == "these layers: yes; 2 layers go the other way"


def test_folded_groups_and_loops_show_how_often_they_run(levels: dict[str, Drawing]) -> None:
    group, loop = named(levels[""], "block"), named(levels["block/choose"], "block/choose/each-expert")

    assert group.badge is not None
    assert loop.badge is not None
    assert (group.title.text, group.badge.text, group.count) == ("Blocks", "×3", 3)
    assert loop.badge.text == "8 of 384"


def test_titles_families_and_symbols_come_from_knowledge(levels: dict[str, Drawing]) -> None:
    norm, attention = named(levels["block"], "block/norm"), named(levels["block"], "block/attention")

    assert norm.formula is not None
    assert (norm.title.text, norm.family, norm.formula.text, norm.formula.latex) == (
        "Input norm", "norm", "x̂n", r"\hat{x}_n",
    )  # fmt: skip
    assert [(run.text, run.style) for run in attention.title.runs] == [("Attention over ", "plain"), ("keys", "code")]
    assert attention.family == "attention"


def test_parameters_belong_to_the_boxes_that_read_them(levels: dict[str, Drawing]) -> None:
    assert not any(node.address == "layers.*.attention.weight" for node in levels["block"].nodes)


def test_the_same_document_gives_the_same_drawings() -> None:
    assert draw_levels(decoder(), knowledge()) == draw_levels(decoder(), knowledge())


def test_a_box_of_several_outputs_shows_what_is_read_on() -> None:
    sample = Sample()
    sample.add("", "model")
    sample.inputs["x"] = TensorFact(shape=HIDDEN, dtype="bfloat16", value_note="not kept")
    sample.box("split", {"x": "x"}, (B, ONE), gives="unread", kind="operation")
    for name, shape in (("keys", (B, T, H, E)), ("values", (B, T, D))):
        sample.tensor(f"split/{name}", "split", shape, name)
        sample.leave("split", name, f"split/{name}")
    sample.box("late", {"x": "split/values"}, kind="operation")
    sample.box("later", {"x": "split/keys"}, kind="operation")
    known = Knowledge(nodes={"split": NodeKnowledge(symbols={"split/keys": "k", "split/output": "u"})})

    for knowledge_of_it, text in ((known, "k and 1 more"), (Knowledge(), "keys and 1 more")):
        box = named(draw_levels(sample.document(), knowledge_of_it)[""], "split")
        assert box.formula is not None
        assert box.shape is not None
        assert (box.formula.text, box.shape.text) == (text, "[B, T, h, dh]")


def test_what_enters_has_the_shape_in_which_it_comes_in() -> None:
    sample = Sample()
    sample.add("", "model")
    sample.inputs["x"] = TensorFact(shape=HIDDEN, dtype="bfloat16", value_note="not kept")
    normed = sample.box("norm", {"x": "x"}, kind="operation")
    sample.box("view", {"x": normed}, (B, T, H, E), kind="operation", plumbing=True, function="torch.Tensor.view")
    sample.box("attention", {"x": (normed, ("view",))})
    sample.box("attention/mix", {"x": (normed, ("view",))}, kind="operation")

    entering = named(draw_levels(sample.document(), Knowledge())["attention"], normed, "input")

    assert entering.shape is not None
    assert entering.shape.text == "[B, T, h, dh]"


def small(shape: tuple[Dimension, ...] | None) -> Document:
    """Positions that a module is handed and does not read, beside features that it reads."""
    sample = Sample()
    sample.add("", "model")
    features = sample.box("features", {}, kind="function")
    positions = sample.box("positions", {}, kind="function")
    sample.box("module", {"x": features, "position_ids": positions})
    sample.box("module/add", {"x": features}, kind="operation", function="torch.Tensor.add")
    sample.leave("", "output", "module/output")
    node = sample.nodes["module"]
    inputs = (msgspec.structs.replace(node.inputs[0], shape=shape), *node.inputs[1:])
    outputs = tuple(msgspec.structs.replace(port, shape=shape) for port in node.outputs)
    sample.nodes["module"] = msgspec.structs.replace(node, inputs=inputs, outputs=outputs)
    return sample.document()


def test_what_nothing_reads_has_no_line_to_the_node_that_is_handed_it() -> None:
    drawing = draw_levels(small(None), Knowledge())[""]
    ends = {node.id: node.address for node in drawing.nodes}
    lines = {(ends[edge.source], ends[edge.target]) for edge in drawing.edges}
    assert ("features", "module") in lines
    assert not any(source == "positions" for source, _ in lines)


def test_a_box_says_the_numbers_that_its_members_return_and_a_level_those_that_they_read() -> None:
    drawings = draw_levels(small((Constant(value=8), Constant(value=4096))), Knowledge())
    (box,) = (node for node in drawings[""].nodes if node.address == "module")
    (entering,) = (node for node in drawings["module"].nodes if node.role == "input")
    for node in (box, entering):
        assert node.shape is not None
        assert "".join(run.text for run in node.shape.runs) == "[8, 4096]"
