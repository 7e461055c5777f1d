"""What pages explain of a small model whose constants come from many places and whose layers take branches."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmodelatlas import builder
from openmodelatlas.annotation.counting import few_layers, few_numbers
from openmodelatlas.annotation.explanations.verbs import is_imperative, lower, past, third_person
from openmodelatlas.annotation.knowledge import Statement
from openmodelatlas.bundle.atlas import Atlas

QUARTZ = Path(__file__).parents[2] / "corpus" / "hub" / "quartz"
GROUP_START, OTHERS = "layers/equal", "layers/equal-from-layer-2"


@pytest.fixture(scope="module")
def quartz(tmp_path_factory: pytest.TempPathFactory) -> Atlas:
    return builder.build(str(QUARTZ), trust=True, home=tmp_path_factory.mktemp("home"))


def statements(atlas: Atlas, address: str) -> tuple[Statement, ...]:
    return atlas.knowledge.nodes[address].explanation


def texts(atlas: Atlas, address: str) -> list[str]:
    return [statement.text for statement in statements(atlas, address)]


def child(atlas: Atlas, address: str, symbol: str) -> str:
    """The address of the node inside ``address`` whose characters in the source contain ``symbol``."""
    found = [each for each in atlas[address].children if (node := atlas[each]).symbol and symbol in node.symbol.text]
    return found[0]


def code_at(atlas: Atlas, statement: Statement) -> list[str]:
    return [atlas.text_of(lines).strip() for lines in statement.lines]


def branch(atlas: Atlas, group: str, test: str) -> str:
    return next(each for each in atlas[group].children for case in atlas[each].branches[:1] if case.test == test)


@pytest.mark.parametrize(
    ("module", "start", "keys"),
    [
        ("norm", "`self.eps` is 1e-05: `norm_eps` of the published configuration.", "eps=config.norm_eps"),
        ("late-norm", "`self.eps` is 0.001: `0.001`, the default of a parameter that is not passed.", "eps=1e-3"),
        ("mlp", "`self.limit` is 30.0: `30.0`, a constant of the code.", "self.limit = 30.0"),
        (
            "mlp",
            "`self.damping` is 0.03125: `self.width ** (-0.5)`, from `intermediate_size` = 1024 of the published "
            "configuration.",
            "self.damping = self.width**-0.5",
        ),
    ],
)
def test_a_constant_is_followed_to_where_it_was_written(quartz: Atlas, module: str, start: str, keys: str) -> None:
    found = [each for each in statements(quartz, f"{GROUP_START}/{module}") if each.text == start]

    assert len(found) == 1
    assert any(keys in code for code in code_at(quartz, found[0]))


def test_a_default_of_the_configuration_class_is_told_from_the_file(quartz: Atlas) -> None:
    assert any("`residual_scale` = 0.5, a default of the configuration class" in text for text in texts(quartz, OTHERS))


def test_a_statement_that_only_renames_says_why(quartz: Atlas) -> None:
    first = statements(quartz, branch(quartz, GROUP_START, "running is not None"))[0]

    assert first.text.startswith("Layers 1, 5, 9 ")
    assert " cleared " in first.text
    assert ", so here " in first.text
    assert code_at(quartz, first)[0].startswith("if self.number % self.group_size == 0:")
    assert code_at(quartz, first)[1].startswith("if running is not None:")


def test_a_statement_that_computes_says_where_it_does_not(quartz: Atlas) -> None:
    found = texts(quartz, branch(quartz, OTHERS, "running is not None"))

    assert "Layers 1, 5, 9 compute nothing here." in found


def test_layers_of_a_group_are_counted(quartz: Atlas) -> None:
    assert any(text.startswith("6 of 9 layers run the same operations") for text in texts(quartz, OTHERS))
    assert any(text.startswith("3 of 9 layers run the same operations") for text in texts(quartz, GROUP_START))


def test_casts_are_told_with_their_lines(quartz: Atlas) -> None:
    casts = [each for each in statements(quartz, f"{OTHERS}/norm") if each.text.startswith("Casts")]

    assert [each.text for each in casts] == ["Casts from bfloat16 to float32.", "Casts from float32 to bfloat16."]
    assert code_at(quartz, casts[0]) == ["features.float()"]


def test_every_claim_cites_lines_with_their_hash(quartz: Atlas) -> None:
    claims = [claim for node in quartz.knowledge.nodes.values() for claim in node.claims]

    assert len(claims) > 20
    assert all(len(claim.sha256) == 64 and claim.lines.file for claim in claims)
    layer = quartz.knowledge.nodes[OTHERS].claims[0]
    assert layer.id == "block"
    assert layer.text.startswith("`QuartzLayer` ")


@pytest.mark.parametrize(
    ("title", "third", "before"),
    [
        ("Add attention update", "adds the attention update", "added the attention update"),
        ("Split into heads", "splits into heads", "split into heads"),
        ("Bend the gate", "bends the gate", "bent the gate"),
        ("Prepare the keys", "prepares the keys", "prepared the keys"),
        ("Scores", "computes the scores", "computed the scores"),
        ("Gate projection", "computes the gate projection", "computed the gate projection"),
        ("Write strength", "computes the write strength", "computed the write strength"),
        ("Scale the scores", "scales the scores", "scaled the scores"),
        ("RMSNorm", "computes RMSNorm", "computed RMSNorm"),
    ],
)
def test_titles_as_verbs(title: str, third: str, before: str) -> None:
    assert third_person(title) == third
    assert past(title) == before
    assert is_imperative(title) == (not third.startswith("computes"))


def test_a_title_within_a_sentence() -> None:
    assert [lower(text) for text in ("Input norm", "L2 norm", "MLP", "T positions")] == [
        "input norm",
        "L2 norm",
        "MLP",
        "T positions",
    ]


def test_long_lists_of_layers_are_cut() -> None:
    assert few_layers(range(1, 10)) == "layers 1–9"
    assert few_layers(range(4, 93, 4)) == "23 layers (4, 8, 12, …, 92)"
    fourth = [*range(4, 93, 4), 93]
    assert few_layers(fourth) == "24 layers (4, 8, 12, …, 92, 93)"
    assert few_layers([*fourth, *range(13, 93, 12)]) == "31 layers (4, 8, 12, 13, 16, 20, …, 92, 93)"
    assert (
        few_numbers(number for number in range(1, 62) if number % 6)
        == "1–5, 7–11, 13–17, 19–23, 25–29, 31–35, …, 55–59, 61"
    )


@given(st.sets(st.integers(0, 40), min_size=1, max_size=9))
def test_short_lists_of_numbers_say_every_one(numbers: set[int]) -> None:
    text = few_numbers(numbers)
    said: list[int] = []
    for part in text.split(", "):
        if part == "…":
            said.append(-1)
            continue
        first, _, last = part.partition("–")
        if said and said[-1] == -1:
            said[-1:] = range(2 * said[-2] - said[-3], int(first), said[-2] - said[-3])
        said += range(int(first), int(last or first) + 1)

    assert said == sorted(numbers)
