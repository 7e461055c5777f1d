"""New addresses rename and change nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.graph.specimens import MODELS, specimen

from openmodelatlas.annotation.knowledge import Knowledge
from openmodelatlas.annotation.roles.addresses import new_addresses, readdress
from openmodelatlas.graph.document import Document

from .test_roles import annotated


def known(document: Document) -> Knowledge:
    drafts = annotated(document)
    return Knowledge(nodes={address: draft.finished() for address, draft in drafts.nodes.items()})


@pytest.fixture(scope="module", params=["cached", "stacked", "choices", "first", "branches", "in-place"])
def atlas(request: pytest.FixtureRequest) -> tuple[Document, Knowledge]:
    document = specimen(request.param).document
    return document, known(document)


def references(document: Document) -> list[str]:
    """Every address that something in the document points at."""
    found: list[str] = []
    for node in document.nodes.values():
        found += [node.parent] if node.parent is not None else []
        found += node.children
        for port in (*node.inputs, *node.outputs):
            found += [port.tensor] if port.source == "tensor" else []
            found += [*port.via, *port.others]
        if node.tensor is not None:
            found += [node.tensor.producer] if node.tensor.producer is not None else []
            found += node.tensor.consumers
    for fact in document.inputs.values():
        found += fact.consumers
    for parameter in document.parameters.values():
        found += [*parameter.readers, parameter.owner]
    return found


def test_no_two_nodes_get_one_address(atlas: tuple[Document, Knowledge]) -> None:
    document, knowledge = atlas
    table = new_addresses(document, knowledge)
    assert set(table) == set(document.nodes)
    assert len(set(table.values())) == len(table)


def test_the_structure_is_the_same_up_to_renaming(atlas: tuple[Document, Knowledge]) -> None:
    document, knowledge = atlas
    renamed, words = readdress(document, knowledge)
    table = new_addresses(document, knowledge)
    known_places = [reference for reference in references(document) if reference in document.nodes]
    assert [table[reference] for reference in known_places] == [
        reference for reference in references(renamed) if reference in renamed.nodes
    ]
    assert len(references(document)) == len(references(renamed))
    assert list(renamed.nodes) == [table[address] for address in document.nodes]
    for old, new in table.items():
        before, after = document.nodes[old], renamed.nodes[new]
        assert after.address == new
        assert (before.kind, before.symbol, before.arguments, before.members) == (
            after.kind,
            after.symbol,
            after.arguments,
            after.members,
        )
        assert new == "" or after.parent == new.rpartition("/")[0]
        assert words.nodes[new].title == knowledge.nodes[old].title


def test_references_resolve(atlas: tuple[Document, Knowledge]) -> None:
    document, knowledge = atlas
    renamed, words = readdress(document, knowledge)
    assert [r for r in references(document) if r not in document.nodes] == [
        r for r in references(renamed) if r not in renamed.nodes
    ]
    for known_node in words.nodes.values():
        for reference in known_node.symbols:
            assert reference in renamed.nodes or reference in renamed.parameters or reference in renamed.inputs


def test_a_second_time_changes_nothing(atlas: tuple[Document, Knowledge]) -> None:
    once = readdress(*atlas)
    assert readdress(*once) == once


def test_layers_and_modules_keep_their_names(atlas: tuple[Document, Knowledge]) -> None:
    document, knowledge = atlas
    table = new_addresses(document, knowledge)
    for address, node in document.nodes.items():
        if node.kind in ("layer group", "module", "phase"):
            assert table[address].rpartition("/")[2] == address.rpartition("/")[2]


def test_segments_are_the_words_of_titles(build_depth: Callable[[], Document]) -> None:
    document = build_depth()
    table = new_addresses(document, known(document))
    lasts = {address.rpartition("/")[2] for address in table.values()}
    assert {"add-attention-update", "store-running-sum", "score-sums", "squares-of-running-sum"} <= lasts
    assert all(set(last) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for last in lasts)


@pytest.fixture
def build_depth(tmp_path: Path) -> Callable[[], Document]:
    from tests.graph import driver

    from .renaming import SOURCE, load

    def build() -> Document:
        before, driver.CORPUS = driver.CORPUS, tmp_path
        try:
            return driver.build(load(SOURCE.read_text(), tmp_path, "depth_addresses").Depth).document
        finally:
            driver.CORPUS = before

    return build


def test_every_specimen_is_renamed_without_loss() -> None:
    for name in MODELS:
        document = specimen(name).document
        table = new_addresses(document, known(document))
        assert len(set(table.values())) == len(document.nodes), name
