"""An atlas that says what its sources and values say passes; any alteration is found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from openmodelatlas import builder
from openmodelatlas.annotation.knowledge import Knowledge
from openmodelatlas.bundle import store
from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.graph.document import Document, Node
from openmodelatlas.shapes.dimension import Constant, Symbolic
from openmodelatlas.verification.coverage import coverage
from openmodelatlas.verification.verify import verify

TINY = "tests.corpus.tiny_transformer:tiny"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Atlas:
    """A real model, captured and annotated once."""
    return builder.build(TINY, home=tmp_path_factory.mktemp("home"))


def rewritten(home: Path, atlas: Atlas, document: Document | None = None, knowledge: Knowledge | None = None) -> Atlas:
    """The same atlas with other facts or other knowledge, whole by its hashes."""
    given = document or atlas.document
    texts = {file.sha256: "\n".join(atlas.lines_of(path)) + "\n" for path, file in atlas.document.files.items()}
    folder = store.write(
        given,
        texts=texts,
        values=atlas.folder / "values.safetensors",
        home=home,
        model=given.model,
        knowledge=knowledge or atlas.knowledge,
    )
    return store.read(folder)


def with_node(document: Document, address: str, **changes: Any) -> Document:
    nodes: dict[str, Node] = dict(document.nodes)
    nodes[address] = msgspec.structs.replace(nodes[address], **changes)
    return msgspec.structs.replace(document, nodes=nodes)


def test_an_unaltered_atlas_passes(tiny: Atlas) -> None:
    result = verify(tiny)

    assert result.drifts == ()
    assert result.claims > 10
    assert result.shapes > 20


def symbolic_tensor(document: Document) -> Node:
    return next(
        node
        for node in document.nodes.values()
        if node.tensor is not None
        and any(isinstance(size, Symbolic) and size.value is not None for size in node.tensor.shape)
    )


def test_a_wrong_size_is_found(tmp_path: Path, tiny: Atlas) -> None:
    document = tiny.document
    node = symbolic_tensor(document)
    assert node.tensor is not None
    shape = tuple(
        msgspec.structs.replace(size, value=size.value + 1)
        if isinstance(size, Symbolic) and size.value is not None
        else size
        for size in node.tensor.shape
    )
    altered = with_node(document, node.address, tensor=msgspec.structs.replace(node.tensor, shape=shape))

    found = verify(rewritten(tmp_path, tiny, altered)).drifts

    assert [drift.where for drift in found if drift.kind == "shape"] == [node.address]
    # Roles are found by shapes, too, so that names may follow.
    assert {drift.kind for drift in found} <= {"shape", "knowledge", "formula"}


def test_a_size_that_the_value_does_not_have_is_found(tmp_path: Path, tiny: Atlas) -> None:
    document = tiny.document
    node = next(each for each in document.nodes.values() if each.tensor is not None and each.tensor.value is not None)
    assert node.tensor is not None
    shape = tuple(Constant(value=977) for _ in node.tensor.shape)
    altered = with_node(document, node.address, tensor=msgspec.structs.replace(node.tensor, shape=shape))

    found = verify(rewritten(tmp_path, tiny, altered)).drifts

    assert ("shape", node.address) in {(drift.kind, drift.where) for drift in found}


def test_altered_knowledge_is_found(tmp_path: Path, tiny: Atlas) -> None:
    document = tiny.document
    known = tiny.knowledge
    address, node = next((address, node) for address, node in known.nodes.items() if node.claims)
    claim = msgspec.structs.replace(node.claims[0], sha256="0" * 64)
    altered = msgspec.structs.replace(
        known, nodes={**known.nodes, address: msgspec.structs.replace(node, title="Nonsense", claims=(claim,))}
    )

    found = verify(rewritten(tmp_path, tiny, document, altered)).drifts

    assert {drift.kind for drift in found if drift.where == address} == {"claim", "knowledge"}
    assert any("title was Nonsense" in drift.text for drift in found)


def test_an_altered_file_is_found(tmp_path: Path, tiny: Atlas) -> None:
    atlas = rewritten(tmp_path, tiny)
    file = next(iter(atlas.folder.glob("sources/*.txt")))
    file.write_text(file.read_text().replace("def ", "def altered_", 1))

    kinds = {drift.kind for drift in verify(store.read(atlas.folder)).drifts}

    assert "file" in kinds


def test_coverage_counts_what_is_there(tiny: Atlas) -> None:
    shares = {share.what: share for share in coverage(tiny).shares}

    evidence = shares["operations with direct evidence"]
    assert evidence.have == evidence.total > 0
    assert coverage(tiny).claims_without_lines == 0


@pytest.mark.parametrize("missing", ["title", "claims"])
def test_coverage_notices_what_is_missing(tmp_path: Path, tiny: Atlas, missing: str) -> None:
    bare = rewritten(tmp_path, tiny, knowledge=Knowledge(notes=("nothing",)))

    shares = {share.what: share.have for share in coverage(bare).shares}

    assert shares["nodes named by role or mechanism" if missing == "title" else "nodes with direct evidence"] == 0
