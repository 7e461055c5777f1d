"""The atlas as one uses it in Python."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from openmodelatlas.annotation.knowledge import Knowledge, NodeKnowledge
from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.bundle.store import read, write
from openmodelatlas.errors import BundleError, UsageError
from openmodelatlas.graph.document import Lines
from tests.site.sample import Source, build_running_sum, build_sample, sample_document, sample_values, texts_of


@pytest.fixture(scope="module")
def atlas(tmp_path_factory: pytest.TempPathFactory) -> Atlas:
    return read(build_sample(tmp_path_factory.mktemp("home")))


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("", ""),
        ("sample", ""),
        ("layers/dense/self-attn", "layers/dense/self-attn"),
        ("/sample/layers/dense/self-attn/", "layers/dense/self-attn"),
        ("layers.0.self_attn", "layers/dense/self-attn"),
        ("model.layers.0.self_attn", "layers/dense/self-attn"),
        ("model.layers.1.self_attn", "layers/moe/self-attn"),
        ("model.layers.60", "layers/moe"),
        ("model.layers.*", "layers/moe"),
        ("layers.4.mlp.experts.383", "layers/moe/mlp/experts/expert"),
        ("model.layers.7.self_attn.q_proj.weight", "layers/moe/self-attn/q-proj"),
        ("layers.4.mlp.experts.7.up.weight", "layers/moe/mlp/experts/expert"),
        ("lm_head.weight", "embed-tokens"),
    ],
)
def test_names_lead_to_nodes(atlas: Atlas, name: str, address: str) -> None:
    assert atlas[name].address == address


def test_every_layer_number_finds_its_group(atlas: Atlas) -> None:
    for index in range(61):
        assert index + 1 in atlas[f"model.layers.{index}.self_attn"].members
    with pytest.raises(UsageError):
        atlas["model.layers.61.self_attn"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("self_attn", "may mean 2 places of sample: model.layers.0.self_attn"),
        ("layers/dens/self-attn", "Close to it: layers/dense/self-attn"),
        ("softmax", "Close to it: layers/dense/self-attn/softmax"),
        ("../../etc", "`oma tree sample` lists what there is"),
    ],
)
def test_other_names_are_answered_with_what_comes_close(atlas: Atlas, name: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        atlas[name]
    assert message in str(caught.value)


def test_iteration_children_parents_and_search(atlas: Atlas) -> None:
    assert len(atlas) == len(sample_document().nodes) == len(list(atlas))
    assert next(iter(atlas)) is atlas.root
    softmax = atlas["layers/dense/self-attn/softmax"]
    assert [node.address for node in atlas.parents(softmax)] == ["", "layers", "layers/dense", "layers/dense/self-attn"]
    assert softmax in atlas.children("layers/dense/self-attn")
    assert softmax in atlas.find("TORCH.SOFTMAX")
    for name in ("layers", "model.layers.0.self_attn", next(iter(atlas.document.parameters)), softmax):
        assert name in atlas
    for name in ("layer", "model.layers.99", 3, None, msgspec.structs.replace(softmax, title="other")):
        assert name not in atlas


def test_texts_are_those_of_the_source(atlas: Atlas) -> None:
    symbol = atlas["layers/dense/add"].symbol
    assert symbol is not None
    assert atlas.text_of(symbol.lines) == "residual + hidden_states"
    whole = Lines(file="modeling_sample.py", first=1, last=len(Source("modeling_sample.py").lines))
    assert atlas.text_of(whole) == Source("modeling_sample.py").text
    with pytest.raises(BundleError, match="has no lines 0–1"):
        atlas.text_of(Lines(file="modeling_sample.py", first=0, last=1))
    with pytest.raises(BundleError, match=r"cites \.\./secret without holding it"):
        atlas.text_of(Lines(file="../secret", first=1, last=1))


def test_values_are_read_on_demand(atlas: Atlas) -> None:
    value = atlas.value("7")
    assert (value.dtype, value.shape) == ("float32", (1, 2, 3))
    assert value.elements() == [0, 0.25, 0.5, 0.75, 1, 1.25]
    with pytest.raises(BundleError, match="no value 'nothing'"):
        atlas.value("nothing")


def test_notebooks_show_escaped_text(tmp_path: Path, atlas: Atlas) -> None:
    assert "60 MoE blocks" in atlas._repr_html_()
    shown = read(build_running_sum(tmp_path))._repr_html_()
    assert "Running sum &lt;&amp;&gt;" in shown
    assert "<&>" not in shown


def test_notebooks_show_the_names_of_the_pages(tmp_path: Path) -> None:
    document = sample_document()
    known = NodeKnowledge(title="Attention with <latents>", label="Latent <attention>")
    knowledge = Knowledge(nodes={"layers/dense/self-attn": known})
    given = {"texts": texts_of(document), "values": sample_values(), "home": tmp_path, "model": document.model}
    folder = write(document, knowledge=knowledge, **given)  # type: ignore[arg-type]
    assert "Latent &lt;attention&gt;" in read(folder)._repr_html_()
    (read(folder).folder / "knowledge.json").unlink()
    assert document.nodes["layers/dense/self-attn"].label in read(folder)._repr_html_()
