"""What tensors and operations of one place are called: words that tell two things apart, and symbols that do."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.graph import driver
from tests.graph.specimens import specimen

from openmodelatlas.annotation.knowledge import Knowledge, NodeKnowledge
from openmodelatlas.annotation.material import Draft, Drafts
from openmodelatlas.annotation.roles.addresses import new_addresses
from openmodelatlas.annotation.roles.naming import _groups
from openmodelatlas.annotation.roles.unique import make_unique
from openmodelatlas.graph.document import Document

from .renaming import changed
from .test_roles import Roles, found, source

SPACE = '''
import torch
from torch import nn


class Space(nn.Module):
    """A state space, one position after the other; names of matrices say nothing."""

    def __init__(self, sizes: dict[str, int]) -> None:
        super().__init__()
        width, self.count, self.each, self.room = sizes["hidden_size"], sizes["num_heads"], sizes["head_dim"], 5
        self.pace = nn.Linear(width, self.count, bias=False)
        self.first = nn.Linear(width, self.room, bias=False)
        self.second = nn.Linear(width, self.room, bias=False)
        self.third = nn.Linear(width, self.count * self.each, bias=False)
        self.start = nn.Parameter(torch.ones(self.count))
        self.A_log = nn.Parameter(torch.ones(self.count))
        self.back = nn.Linear(self.count * self.each, width, bias=False)

    def forward(self, features: torch.Tensor) -> torch.Tensor:
        batch, length, _ = features.shape
        steps = torch.nn.functional.softplus(self.pace(features) + self.start)
        rate = -torch.exp(self.A_log)
        one, two = self.first(features), self.second(features)
        three = self.third(features).view(batch, length, self.count, self.each)
        memory = features.new_zeros(batch, self.count, self.each, self.room)
        results = []
        for place in range(length):
            step = steps[:, place][..., None]
            kept = torch.exp(step * rate[:, None])
            inner = step * one[:, place].unsqueeze(1)
            memory = memory * kept[..., None] + inner.unsqueeze(2) * three[:, place].unsqueeze(-1)
            results.append((memory * two[:, place][:, None, None]).sum(dim=-1))
        return self.back(torch.stack(results, dim=1).reshape(batch, length, self.count * self.each))
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("words")
    before, driver.CORPUS = driver.CORPUS, path
    yield path
    driver.CORPUS = before


@pytest.fixture(scope="module")
def space(folder: Path) -> Roles:
    return found(folder, SPACE, "space", "Space", "Space")


def titled(roles: Roles, variable: str) -> set[str]:
    """Titles of the tensors that the code calls so."""
    document, drafts = roles
    return {
        drafts.nodes[address].title or ""
        for address, node in document.nodes.items()
        if node.tensor is not None and node.tensor.variable == variable
    }


def test_what_enters_a_state_and_what_reads_it_are_told_apart(space: Roles) -> None:
    assert titled(space, "one") == {"Input matrix"}
    assert titled(space, "two") == {"Output matrix"}
    assert any("tate input" in title for title in titled(space, "three"))
    assert any("tep size" in title for title in titled(space, "steps"))


def test_what_is_computed_from_a_parameter_is_not_called_it(space: Roles) -> None:
    document, drafts = space
    told = [drafts.nodes[address].title or "" for address, node in document.nodes.items() if node.kind == "operation"]
    assert any("decay rate" in title for title in told)
    assert not [title for title in told if "A_log" in title]


def test_one_plus_a_stored_gain_has_another_symbol_than_the_gain(folder: Path) -> None:
    text = changed(source(), "return self.gain * scaled.to", "return (1.0 + self.gain) * scaled.to")
    document, drafts = found(folder, text, "shifted", "Transformer", "Transformer")
    shifted = [address for address in document.nodes if drafts.nodes[address].title == "One plus the stored gain"]
    assert shifted
    for address in shifted:
        stored, whole = document.nodes[address].inputs[0].tensor, document.nodes[address].outputs[0].tensor
        assert drafts.tensor_symbols[whole] == drafts.tensor_symbols[stored] + "'"


def test_segments_leave_out_articles_and_no_names() -> None:
    document = specimen("cached").document
    address = next(address for address, node in document.nodes.items() if node.kind == "operation")
    for title, segment in (
        ("Reshape the parameter A_log", "reshape-parameter-a-log"),
        ("Insert an axis into a mask", "insert-axis-into-mask"),
        ("The A of the keys", "a-of-keys"),
    ):
        table = new_addresses(document, Knowledge(nodes={address: NodeKnowledge(title=title)}))
        assert table[address].rpartition("/")[2] == segment


def siblings(document: Document) -> list[str]:
    for node in document.nodes.values():
        inside = [child for child in node.children if document.nodes[child].kind == "operation"]
        if len(inside) > 1:
            return inside[:2]
    raise AssertionError


@pytest.mark.parametrize(
    ("sentences", "titles"),
    [
        (
            ("Add the bias to the keys.", "Add the bias to the values."),
            ["Add the bias to the keys", "Add the bias to the values"],
        ),
        (("Add the bias to the keys.", "Add the bias to the keys."), ["Add the bias", "Add the bias (2)"]),
        (("Shift it.", "Add the bias to the keys."), ["Add the bias", "Add the bias (2)"]),
    ],
)
def test_siblings_of_one_title_are_told_apart_by_what_their_sentences_add(
    sentences: tuple[str, str], titles: list[str]
) -> None:
    document = specimen("cached").document
    drafts = Drafts(nodes={address: Draft() for address in document.nodes})
    both = siblings(document)
    for address, sentence in zip(both, sentences, strict=True):
        drafts.nodes[address].title, drafts.nodes[address].sentence = "Add the bias", sentence
    make_unique(document, drafts)
    assert [drafts.nodes[address].title for address in both] == titles


@pytest.mark.parametrize(
    ("kept", "of", "title", "sentence"),
    [
        ("4", "8", "Keep the best 4 of 8 groups", "Choose the 4 groups with the best scores."),
        ("1", "8", "Keep the best 1 of 8 groups", "Choose the group with the best score."),
        ("1", "1", "Keep the only group", "Choose the only group: there is no other, so that nothing is left out."),
    ],
)
def test_a_choice_of_all_groups_changes_nothing(kept: str, of: str, title: str, sentence: str) -> None:
    assert _groups(kept, of) == {"Groups": title, "groups": sentence}
