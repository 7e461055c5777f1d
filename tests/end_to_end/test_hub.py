"""Whole builds of two repositories on a hub: their code, the versions they ask for, and what the atlas says of them."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import openmodelatlas
from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.bundle.home import list_built
from openmodelatlas.errors import (
    HubUnreachableError,
    SourceGatedError,
    SourceNotFoundError,
    TrustError,
)
from openmodelatlas.graph.document import Node
from openmodelatlas.shapes.dimension import DataDependent, Symbolic, Unresolved, Varying
from openmodelatlas.site.page import build_page
from tests.end_to_end.conftest import Build, corpus_files
from tests.hub import Hub, Repository, SilentServer

LYNX_PARAMETERS = 16_335_417_024
OTTER_PARAMETERS = 11_712_310_272

Ensure = Callable[[str], Path]


class Built:
    """One build that several tests look at, with the hub it came from."""

    def __init__(self, atlas: Atlas, repository: Repository, requests: list[str], address: str) -> None:
        self.atlas = atlas
        self.commit = repository.branches["main"]
        self.requests = requests
        self.address = address


def built(name: str, corpus: str, version: str, folder: Path, ensure: Ensure, revision: str) -> Built:
    overlay = ensure(f"transformers=={version}")
    (folder / "home").mkdir()
    (folder / "home" / "overlays").symlink_to(overlay.parent)
    with pytest.MonkeyPatch.context() as patch, Hub() as hub:
        for variable in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_TOKEN", "HF_HUB_CACHE"):
            patch.delenv(variable, raising=False)
        patch.setenv("HF_HOME", str(folder / "huggingface"))
        patch.setenv("NO_PROXY", "127.0.0.1")
        patch.setenv("HF_ENDPOINT", hub.address)
        repository = hub.add(name, corpus_files(corpus))
        repository.tags["v1"] = repository.branches["main"]
        repository.branches["release"] = repository.branches["main"]
        atlas = openmodelatlas.build(name, revision=revision, trust=True, home=folder / "home")
        return Built(atlas, repository, list(hub.requests), hub.address)


@pytest.fixture(scope="module")
def lynx_built(tmp_path_factory: pytest.TempPathFactory, overlay_of: Ensure) -> Built:
    return built("acme/lynx-moe", "lynx_moe", "4.48.3", tmp_path_factory.mktemp("lynx"), overlay_of, "v1")


@pytest.fixture(scope="module")
def otter_built(tmp_path_factory: pytest.TempPathFactory, overlay_of: Ensure) -> Built:
    return built("acme/otter-linear", "otter_linear", "4.56.2", tmp_path_factory.mktemp("otter"), overlay_of, "release")


@pytest.fixture(scope="module", params=["lynx", "otter"])
def either(request: pytest.FixtureRequest) -> Built:
    return request.getfixturevalue(f"{request.param}_built")  # type: ignore[no-any-return]


def groups(atlas: Atlas, inside: str = "layers") -> dict[str, tuple[int, ...]]:
    return {node.label: node.members for node in atlas.children(inside) if node.kind == "layer group"}


def below(atlas: Atlas, address: str) -> Iterator[Node]:
    return (node for node in atlas if node.address.startswith(f"{address}/"))


# What holds of both -----------------------------------------------------------------------------------------------


def test_revision_is_the_full_hash_and_what_was_asked_for_is_kept(lynx_built: Built, otter_built: Built) -> None:
    for given, requested in ((lynx_built, "v1"), (otter_built, "release")):
        origin = given.atlas.document.provenance
        assert origin.source == "hub"
        assert re.fullmatch("[0-9a-f]{40}", origin.revision)
        assert origin.revision == given.commit
        assert origin.requested_revision == requested
        assert origin.configuration_origin.endswith(f"/config.json@{given.commit}")


def test_only_code_and_configuration_is_fetched(either: Built) -> None:
    paths = {request.split()[1].rpartition("/")[2] for request in either.requests if "/resolve/" in request.split()[1]}
    assert paths
    assert all(path.endswith((".py", ".json")) for path in paths)
    assert not paths & {"tokenizer.json", "README.md"}


def test_the_version_that_the_configuration_asks_for_ran(lynx_built: Built, otter_built: Built) -> None:
    for given, version in ((lynx_built, "4.48.3"), (otter_built, "4.56.2")):
        document = given.atlas.document
        assert document.provenance.versions["transformers"] == version
        theirs = [file for file in document.files.values() if file.repository == "transformers"]
        assert all(file.revision == version for file in theirs)


def test_parameters_are_those_of_the_model_at_full_size(lynx_built: Built, otter_built: Built) -> None:
    for given, count in ((lynx_built, LYNX_PARAMETERS), (otter_built, OTTER_PARAMETERS)):
        assert given.atlas.root.parameter_count == count
        check = next(c for c in given.atlas.document.checks if c.name.startswith("parameters from the solved"))
        assert check.passed
        assert f"{count:,} on the meta device" in check.detail


def test_every_dimension_is_resolved_or_names_what_it_depends_on(either: Built) -> None:
    facts = [node.tensor for node in either.atlas if node.tensor is not None]
    facts += either.atlas.document.inputs.values()
    open_ends = [axis for fact in facts for axis in fact.shape if isinstance(axis, Unresolved)]
    assert open_ends == []
    dependent = [axis for fact in facts for axis in fact.shape if isinstance(axis, DataDependent)]
    assert dependent
    assert all(axis.name and axis.depends_on for axis in dependent)
    failed = [check for check in either.atlas.document.checks if check.passed is False]
    assert failed == []


def test_experts_repeat_and_their_tokens_depend_on_the_routing(lynx_built: Built, otter_built: Built) -> None:
    for given, chosen, existing, text in (
        (lynx_built, "num_experts_per_tok", "n_routed_experts", "6 of 64 per token"),
        (otter_built, "num_experts_per_token", "num_experts", "8 of 64 per token"),
    ):
        loops = [node for node in given.atlas if node.repeat is not None and node.repeat.of == existing]
        assert loops
        for loop in loops:
            assert loop.repeat is not None
            assert loop.repeat.note.startswith(text)
            assert loop.repeat.expression is None
            assert loop.repeat.observed[0] >= 1
        prefill = next(loop for loop in loops if loop.phase == "prefill")
        routed = [
            axis
            for node in below(given.atlas, prefill.address)
            if node.tensor is not None
            for axis in node.tensor.shape
            if isinstance(axis, DataDependent)
        ]
        assert {axis.name for axis in routed} == {"tokens routed to this expert"}
        assert {axis.bound for axis in routed} == {f"sum over the rounds: B*T*{chosen}"}


def test_no_condition_on_routed_tokens_is_told_as_a_difference_of_layers(either: Built) -> None:
    tests = {branch.test for node in either.atlas for branch in node.branches}
    assert not any("num_tokens" in test for test in tests)


def test_pages_carry_repository_revision_and_address_with_lines(either: Built) -> None:
    repository = either.atlas.document.provenance.repository
    seen = 0
    for node in list(either.atlas)[::40]:
        for source in build_page(either.atlas, node.address).sources:
            if source.repository != repository:
                continue
            seen += 1
            assert source.revision == either.commit
            first, last = source.lines
            assert source.url == (f"{either.address}/{repository}/blob/{either.commit}/{source.file}#L{first}-L{last}")
            lines = either.atlas.lines_of(source.file)
            assert source.excerpt.splitlines()[0] in lines
    assert seen > 10


def test_decode_step_has_the_same_layers(either: Built) -> None:
    assert groups(either.atlas, "decode/layers") == groups(either.atlas)


# Lynx: a dense block, then experts --------------------------------------------------------------------------------


def test_lynx_layers(lynx_built: Built) -> None:
    atlas = lynx_built.atlas
    assert atlas["layers"].label == "28 transformer blocks"
    assert groups(atlas) == {"1 dense block": (1,), "27 MoE blocks": tuple(range(2, 29))}
    assert [node.address for node in atlas.children("layers")][:2] == ["layers/dense", "layers/moe"]
    for layer in (1, 13, 27):
        assert atlas[f"model.layers.{layer}"].address == "layers/moe"
    assert atlas["model.layers.0"].address == "layers/dense"


def test_lynx_shapes_are_named(lynx_built: Built) -> None:
    atlas = lynx_built.atlas

    def shape(module: str) -> list[object]:
        node = atlas[module]
        port = node.outputs[0]
        fact = atlas.document.nodes[port.tensor].tensor
        assert fact is not None
        return [axis.expression if isinstance(axis, Symbolic) else axis for axis in fact.shape]

    assert shape("layers.3.self_attn.q_a_proj") == ["B", "T", "q_lora_rank"]
    assert shape("layers.3.self_attn.q_b_proj") == [
        "B",
        "T",
        "num_attention_heads*(qk_nope_head_dim + qk_rope_head_dim)",
    ]
    assert shape("layers.3.self_attn.kv_a_proj_with_mqa") == ["B", "T", "kv_lora_rank + qk_rope_head_dim"]
    assert shape("layers.3.mlp.shared_experts.gate_proj") == ["B", "T", "n_shared_experts*moe_intermediate_size"]
    router = [
        axis.expression
        for node in below(atlas, "layers/moe/mlp/gate")
        if node.tensor is not None
        for axis in node.tensor.shape
        if isinstance(axis, Symbolic)
    ]
    assert {"n_group", "n_routed_experts//n_group", "topk_group", "num_experts_per_tok"} <= set(router)


def test_lynx_run_at_full_size_says_why_it_stopped(lynx_built: Built) -> None:
    check = next(c for c in lynx_built.atlas.document.checks if c.name.startswith("run at full size"))
    assert check.passed is None
    line = next(
        number
        for number, text in enumerate(lynx_built.atlas.lines_of("modeling_lynx.py"), 1)
        if ".cpu().numpy()" in text
    )
    assert f"modeling_lynx.py:{line}" in check.detail


# Otter: linear and full attention, state that grows ---------------------------------------------------------------


def test_otter_layers(otter_built: Built) -> None:
    full = tuple(range(4, 25, 4))
    starts = (7, 13, 19)
    rest = tuple(number for number in range(2, 25) if number not in (*full, *starts))
    assert otter_built.atlas["layers"].label == "24 layers"
    assert groups(otter_built.atlas) == {
        "First layer": (1,),
        "14 KDA layers, unless self.layer_idx % self.block_size == 0": rest,
        "6 attention layers": full,
        "3 KDA layers, where self.layer_idx % self.block_size == 0": starts,
    }


def test_otter_branches_name_the_layers_of_each_way(otter_built: Built) -> None:
    every = tuple(range(1, 25))
    starts, full = (1, 7, 13, 19), tuple(range(4, 25, 4))
    expected = {
        "block_residual.shape[1] > 0": ((1,), every[1:]),
        "self.layer_idx % self.block_size == 0": (tuple(n for n in every if n not in starts), starts),
        "self.is_linear_attn is False": (tuple(n for n in every if n not in full), full),
        "prefix_sum is not None": (starts, tuple(n for n in every if n not in starts)),
        'hasattr(self, "block_sparse_moe")': ((1,), every[1:]),
    }
    for group in otter_built.atlas.children("layers"):
        if group.kind == "layer group":
            found = {branch.test: (branch.taken["false"], branch.taken["true"]) for branch in group.branches}
            assert found == expected
            for branch in group.branches:
                assert otter_built.atlas.text_of(branch.lines).lstrip().startswith("if ")


def test_otter_state_grows_with_depth(otter_built: Built) -> None:
    atlas = otter_built.atlas
    full = atlas["layers/attention"]
    varying = [
        axis.values
        for node in below(atlas, full.address)
        if node.tensor is not None and node.phase == "prefill"
        for axis in node.tensor.shape
        if isinstance(axis, Varying)
    ]
    # Stored sums before layer 4, 8, …, 24 (one for each start of a block), and the running one.
    assert set(varying) == {tuple((number - 1) // 6 + 1 + 1 for number in full.members)}


def test_otter_uses_kernels_for_linear_attention(otter_built: Built) -> None:
    atlas = otter_built.atlas
    kernels = {(node.function, node.phase) for node in atlas if node.kind == "kernel"}
    assert ("fla.ops.kda.chunk_kda", "prefill") in kernels
    assert ("fla.ops.kda.fused_recurrent_kda", "decode") in kernels
    assert ("fla.ops.kda.fused_recurrent_kda", "prefill") not in kernels
    assert any("ShortConvolution" in str(node.class_name) for node in atlas)


def test_every_node_inside_a_layer_group_stands_for_layers_of_the_group(either: Built) -> None:
    for group in either.atlas.children("layers"):
        for node in below(either.atlas, group.address):
            assert set(node.members) <= set(group.members), node.address


def test_otter_text_model_is_what_runs(otter_built: Built) -> None:
    notes = " ".join(otter_built.atlas.document.notes)
    assert "modeling_otter_linear.OtterLinearForCausalLM runs with text_config" in notes
    assert "modeling_otter.py" not in otter_built.atlas.document.files


# The hub ----------------------------------------------------------------------------------------------------------


def test_without_trust(lynx: Repository, home: Path, oma: Build) -> None:
    with pytest.raises(TrustError, match=r"acme/lynx-moe.*--trust-remote-code"):
        openmodelatlas.build("acme/lynx-moe")
    assert list_built(home) == ()
    done = oma("build", "acme/lynx-moe")
    assert done.returncode == 4
    assert "nobody has said to trust it" in done.stderr
    assert "Traceback" not in done.stderr


def test_branch_moves_and_the_cache_serves_without_the_hub(
    hub: Hub, home: Path, overlay_of: Ensure, monkeypatch: pytest.MonkeyPatch
) -> None:
    overlay_of("transformers==4.48.3")
    files = corpus_files("lynx_moe")
    configuration = json.loads(files["config.json"]) | {"num_hidden_layers": 3}
    repository = hub.add("acme/small", files | {"config.json": json.dumps(configuration).encode()})
    before = repository.branches["main"]
    first = openmodelatlas.build("acme/small", trust=True)
    assert first.document.provenance.revision == before
    assert len(first["layers"].members) == 3

    configuration["num_hidden_layers"] = 4
    after = repository.commit(files | {"config.json": json.dumps(configuration).encode()})
    second = openmodelatlas.build("acme/small", trust=True)
    assert second.document.provenance.revision == after != before
    assert len(second["layers"].members) == 4

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    requests = len(hub.requests)
    third = openmodelatlas.build("acme/small", trust=True, force=True)
    assert third.document.provenance.revision == after
    old = openmodelatlas.build("acme/small", revision=before[:12], trust=True)
    assert old.document.provenance.revision == before
    assert len(hub.requests) == requests


def test_hub_down_with_an_empty_cache_is_noticed_in_time(
    hub: Hub, home: Path, oma: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    with SilentServer() as silent:
        monkeypatch.setenv("HF_ENDPOINT", silent.address)
        started = time.monotonic()
        with pytest.raises(HubUnreachableError, match="not in the local cache"):
            openmodelatlas.build("acme/lynx-moe", trust=True)
        assert time.monotonic() - started < 3
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    done = oma("build", "acme/lynx-moe", "--trust-remote-code", timeout=20)
    assert done.returncode == 3
    assert "cannot be reached" in done.stderr
    assert "Traceback" not in done.stderr


def test_gated_and_missing(hub: Hub, home: Path, oma: Build) -> None:
    hub.add("acme/gated", corpus_files("lynx_moe")).gated = "files"
    with pytest.raises(SourceGatedError, match=r"gated.*HF_TOKEN"):
        openmodelatlas.build("acme/gated", trust=True)
    with pytest.raises(SourceNotFoundError, match="no such repository"):
        openmodelatlas.build("acme/nothing", trust=True)
    hub.add("acme/lynx-moe", corpus_files("lynx_moe"))
    with pytest.raises(SourceNotFoundError, match="no revision 'v9'"):
        openmodelatlas.build("acme/lynx-moe", revision="v9", trust=True)
    done = oma("build", "acme/nothing", "--trust-remote-code")
    assert (done.returncode, "Traceback" in done.stderr) == (3, False)
