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
from openmodelatlas.bundle.manifest import describe_file, encode_manifest
from openmodelatlas.drawing.drawing import Drawing, Drawings
from openmodelatlas.errors import BundleError
from openmodelatlas.graph.document import Document, Lines, Node
from openmodelatlas.shapes.dimension import Constant, Symbolic
from openmodelatlas.verification.coverage import coverage
from openmodelatlas.verification.verify import verify

TINY = "tests.corpus.tiny_transformer:tiny"


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Atlas:
    """A real model, captured and annotated once."""
    return builder.build(TINY, home=tmp_path_factory.mktemp("home"))


def rewritten(
    home: Path,
    atlas: Atlas,
    document: Document | None = None,
    knowledge: Knowledge | None = None,
    drawings: Drawings | None = None,
) -> Atlas:
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
        drawings=drawings or atlas.drawings,
    )
    return store.read(folder)


def with_node(document: Document, address: str, /, **changes: Any) -> Document:
    nodes: dict[str, Node] = dict(document.nodes)
    nodes[address] = msgspec.structs.replace(nodes[address], **changes)
    return msgspec.structs.replace(document, nodes=nodes)


def test_an_unaltered_atlas_passes(tiny: Atlas) -> None:
    result = verify(tiny)

    assert result.drifts == ()
    assert result.claims > 10
    assert result.shapes > 20
    assert result.diagrams >= 3


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
    assert {drift.kind for drift in found} <= {"shape", "knowledge", "formula", "drawing"}


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

    assert {drift.kind for drift in found if drift.where == address} >= {"claim", "knowledge"}
    assert any("title was Nonsense" in drift.text for drift in found)


def test_an_altered_file_is_found(tmp_path: Path, tiny: Atlas) -> None:
    atlas = rewritten(tmp_path, tiny)
    file = next(iter(atlas.folder.glob("sources/*.txt")))
    file.write_text(file.read_text().replace("def ", "def altered_", 1))

    kinds = {drift.kind for drift in verify(store.read(atlas.folder)).drifts}

    assert "file" in kinds


def test_a_damaged_file_is_told_once(tmp_path: Path, tiny: Atlas) -> None:
    atlas = rewritten(tmp_path, tiny)
    path = next(iter(atlas.document.files))
    (atlas.folder / "sources" / f"{atlas.document.files[path].sha256}.txt").write_text("altered")
    drifts = [drift for drift in verify(store.read(atlas.folder)).drifts if "is not what was written" in drift.text]
    assert [(drift.kind, drift.where) for drift in drifts] == [("file", path)]


def test_what_is_no_expression_is_found(tmp_path: Path, tiny: Atlas) -> None:
    node = symbolic_tensor(tiny.document)
    assert node.tensor is not None
    shape = tuple(Symbolic(expression="__import__('os')", value=1) for _ in node.tensor.shape)
    altered = with_node(tiny.document, node.address, tensor=msgspec.structs.replace(node.tensor, shape=shape))

    found = verify(rewritten(tmp_path, tiny, altered)).drifts

    assert any(drift.kind == "shape" and "Not a dimension expression" in drift.text for drift in found)


@pytest.mark.parametrize("probe", [{}, {"sizes": {}, "batch": [], "tokens": 5}])
def test_a_probe_without_sizes_is_found(tmp_path: Path, tiny: Atlas, probe: dict[str, Any]) -> None:
    origin = msgspec.structs.replace(tiny.document.provenance, probes=({"role": "solve", "name": "a", **probe},))
    altered = msgspec.structs.replace(tiny.document, provenance=origin)

    assert any(drift.kind == "graph" for drift in verify(rewritten(tmp_path, tiny, altered)).drifts)


def test_a_probe_whose_sizes_are_none_is_corrupt(tmp_path: Path, tiny: Atlas) -> None:
    origin = msgspec.structs.replace(tiny.document.provenance, probes=({"name": "a", "sizes": "x"},))

    with pytest.raises(BundleError, match="corrupt"):
        rewritten(tmp_path, tiny, msgspec.structs.replace(tiny.document, provenance=origin))


@pytest.mark.parametrize("file", ["atlas.json", "knowledge.json", "drawings.json"])
def test_endless_nesting_is_corrupt(tmp_path: Path, tiny: Atlas, file: str) -> None:
    atlas = rewritten(tmp_path, tiny)
    data = b'{"format":1,"nodes":' + b"[" * 100_000
    (atlas.folder / file).write_bytes(data)
    manifest = msgspec.structs.replace(atlas.manifest, files={**atlas.manifest.files, file: describe_file(data)})
    (atlas.folder / "manifest.json").write_bytes(encode_manifest(manifest))

    with pytest.raises(BundleError, match="corrupt"):
        _ = store.read(atlas.folder).drawings if file == "drawings.json" else store.read(atlas.folder).knowledge


def test_an_altered_diagram_and_a_formula_that_is_not_set_are_found(tmp_path: Path, tiny: Atlas) -> None:
    drawings = tiny.drawings
    address, level = next(iter(drawings.levels.items()))
    levels = {**drawings.levels, address: msgspec.structs.replace(level, width=level.width + 1)}

    found = verify(rewritten(tmp_path, tiny, drawings=Drawings(levels=levels))).drifts

    assert {drift.kind for drift in found} == {"drawing"}
    assert any(drift.where == address and "differs" in drift.text for drift in found)
    assert any("formulas are not set" in drift.text for drift in found)


def with_level(drawings: Drawings, level: Drawing) -> Drawings:
    return msgspec.structs.replace(drawings, levels={**drawings.levels, "layers/block": level})


def forged_drawings(drawings: Drawings) -> dict[str, Drawings]:
    level = next(each for each in drawings.levels.values() if len(each.edges) > 2)
    edge, box = level.edges[0], level.nodes[0]
    change = msgspec.structs.replace

    def edges(**changes: Any) -> Drawings:
        return with_level(drawings, change(level, edges=(change(edge, **changes),)))

    return {
        "line from nowhere": edges(source="no/where"),
        "line to nowhere": edges(target="</script>"),
        "line without course": edges(points=()),
        "knot of nowhere": edges(knots=(99,)),
        "far away": edges(points=((1e300, 0.0), (0.0, -1e300))),
        "one name": with_level(drawings, change(level, nodes=(box, box, *level.nodes[1:]))),
    }


@pytest.mark.parametrize(
    "forged",
    ["line from nowhere", "line to nowhere", "line without course", "knot of nowhere", "far away", "one name"],
)
def test_forged_diagrams_are_corrupt(tmp_path: Path, tiny: Atlas, forged: str) -> None:
    atlas = rewritten(tmp_path, tiny, drawings=forged_drawings(tiny.drawings)[forged])

    with pytest.raises(BundleError, match="corrupt"):
        _ = atlas.drawings
    assert any(drift.kind == "drawing" and "corrupt" in drift.text for drift in verify(atlas).drifts)


@pytest.mark.parametrize("forged", ["mechanism", "context"])
def test_knowledge_that_names_nothing_is_corrupt(tmp_path: Path, tiny: Atlas, forged: str) -> None:
    known = tiny.knowledge
    address, node = next((address, node) for address, node in known.nodes.items() if node.claims)
    if forged == "mechanism":
        node = msgspec.structs.replace(node, mechanisms=("../x",))
    else:
        node = msgspec.structs.replace(node, claims=(msgspec.structs.replace(node.claims[0], of="no/where"),))
    atlas = rewritten(tmp_path, tiny, knowledge=msgspec.structs.replace(known, nodes={**known.nodes, address: node}))

    with pytest.raises(BundleError, match="corrupt"):
        _ = atlas.knowledge


@pytest.mark.parametrize(
    ("address", "changes"),
    [
        ("layers", {"parent": "layers/block"}),
        ("layers", {"children": ("layers",)}),
        ("layers", {"children": ("no/where",)}),
        ("layers", {"children": ()}),
        ("layers", {"children": ("layers/block", "layers/block")}),
        ("layers", {"address": "other"}),
        ("", {"parent": "layers"}),
    ],
)
def test_nodes_that_are_no_tree_are_corrupt(tmp_path: Path, tiny: Atlas, address: str, changes: dict[str, Any]) -> None:
    with pytest.raises(BundleError, match="corrupt"):
        rewritten(tmp_path, tiny, with_node(tiny.document, address, **changes))


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


def test_coverage_counts_claims_whose_lines_no_file_has(tmp_path: Path, tiny: Atlas) -> None:
    address, node = next((address, node) for address, node in tiny.knowledge.nodes.items() if node.claims)
    claim = msgspec.structs.replace(node.claims[0], lines=Lines(file=node.claims[0].lines.file, first=9000, last=9001))
    nodes = {**tiny.knowledge.nodes, address: msgspec.structs.replace(node, claims=(claim,))}
    forged = rewritten(tmp_path, tiny, knowledge=msgspec.structs.replace(tiny.knowledge, nodes=nodes))

    assert coverage(forged).claims_without_lines == 1
