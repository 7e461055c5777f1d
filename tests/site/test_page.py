"""What a page says, field by field."""

from __future__ import annotations

import ast
import hashlib
import json
from typing import Any

import jsonschema
import msgspec
import pytest

from openmodelatlas.bundle.schema import encode_schema
from openmodelatlas.errors import UsageError
from openmodelatlas.site.dimensions import shape_text
from openmodelatlas.site.fields import Page
from openmodelatlas.site.page import PageBuilder, build_page
from openmodelatlas.site.schema import page_schema
from tests.site.sample import Source

PROMISED = {
    "model": str,
    "address": str,
    "title": str,
    "kind": str,
    "breadcrumb": list,
    "symbol": dict,
    "description": str,
    "parameters": dict,
    "formula": type(None),
    "inputs": list,
    "outputs": list,
    "explanation": list,
    "code": dict,
    "sources": list,
    "layers": dict,
}


def _json(page: Page) -> dict[str, Any]:
    decoded: dict[str, Any] = json.loads(msgspec.json.encode(page))
    return decoded


def test_the_promised_keys(samples: list[Any]) -> None:
    page = _json(build_page(samples[0], "layers/dense/self-attn/softmax"))
    assert {name: type(page[name]) for name in PROMISED} == PROMISED
    assert page["breadcrumb"] == [
        {"label": "61 transformer blocks", "address": "layers"},
        {"label": "1 dense block", "address": "layers/dense"},
        {"label": "Self attn", "address": "layers/dense/self-attn"},
    ]
    assert set(page["symbol"]) >= {"text", "file", "lines"}
    assert set(page["parameters"]) >= {"count", "tensors"}
    assert set(page["code"]) >= {"file", "lines", "text"}
    assert set(page["layers"]) == {"members", "branches"}
    assert set(page["inputs"][0]) >= {"name", "shape", "dtype", "producer"}
    assert set(page["outputs"][0]) >= {"name", "shape", "dtype", "consumers"}
    assert set(page["inputs"][0]["shape"][1]) >= {"symbol", "name", "value", "expression"}
    promised = ["kind", "from", "claim", "id", "repository", "file", "revision", "lines", "url", "sha256", "excerpt"]
    assert set(page["sources"][0]) >= set(promised)


def test_every_page_obeys_the_schema_and_cites_what_is_there(samples: list[Any]) -> None:
    schema = json.loads(encode_schema(page_schema()))
    validator = jsonschema.Draft202012Validator(schema)
    validator.check_schema(schema)
    for atlas in samples:
        builder = PageBuilder(atlas)
        for node in atlas:
            page = builder.page(node)
            assert [error.message for error in validator.iter_errors(_json(page))] == []
            for source in page.sources:
                lines = Source(source.file).lines[source.lines[0] - 1 : source.lines[1]]
                text = "".join(f"{line}\n" for line in lines)
                assert source.sha256 == hashlib.sha256(text.encode()).hexdigest()
                assert source.url == (
                    f"https://example.org/example/Sample/blob/{source.revision}/{source.file}"
                    f"#L{source.lines[0]}-L{source.lines[1]}"
                )


def test_shapes_are_written_as_in_the_field(samples: list[Any]) -> None:
    sample, running, _ = samples

    def output(atlas: Any, address: str) -> str:
        return shape_text(build_page(atlas, address).outputs[0].shape)

    assert output(sample, "layers/dense/block-output") == "[B batch, T positions, 7168 d]"
    assert output(sample, "layers/dense/self-attn/query") == "[B batch, T positions, 8192 (h·e)]"
    assert output(sample, "layers/moe/mlp/experts/routed") == "[tokens routed to this expert, 7168 d]"
    assert output(running, "layers/first/stored") == "[B·T, 1–3 by layer, 7168 d, ?]"
    notes = [axis.note for axis in build_page(running, "layers/first/stored").outputs[0].shape or ()]
    assert notes[3] == "not resolved: No expression fits all probes. Observed in the probes: 3, 5, 5."


def test_a_tensor_has_contextual_evidence_from_what_makes_and_encloses_it(samples: list[Any]) -> None:
    page = build_page(samples[0], "layers/dense/block-output")
    assert [(source.kind, source.origin) for source in page.sources] == [
        ("contextual", "Add (second)"),
        ("contextual", "1 dense block"),
    ]
    assert page.description == "The result of `residual + hidden_states`."
    assert page.tensor is not None
    assert page.tensor.value_start == (0.0, 0.25, 0.5, 0.75, 1.0, 1.25)


def test_an_operation_has_direct_evidence_with_its_own_lines(samples: list[Any]) -> None:
    page = build_page(samples[1], "layers/first/add-attention-update")
    direct = page.sources[0]
    code = Source("modeling_running_sum.py")
    assert direct.kind == "direct"
    assert direct.own_lines == (code.number("if running is not None"), code.number("running = update"))
    assert page.code is not None
    assert ast.parse("class _:\n" + page.code.text).body, "the code is a whole function"
    assert page.code.name == "RunningSumBlock.forward"
    assert "false in layers 1, 13, 25, 37, 49, 61, 73, 85" in direct.claim
    assert [item.condition for item in page.code.unreached] == ["output_scores"]


def test_what_cannot_be_had_says_why(samples: list[Any]) -> None:
    page = build_page(samples[0], "layers/dense/self-attn/weights")
    assert page.outputs[0].dtype is None
    assert page.outputs[0].note == "The probe in the published dtype did not run: no kernel for bfloat16."
    assert page.tensor is not None
    assert page.tensor.note == "Only the values of block outputs are kept."
    projection = build_page(samples[0], "layers/dense/self-attn/q-proj")
    assert projection.code is not None
    assert projection.code.name == "SampleAttention", "PyTorch's own module shows the code that runs it"


def test_every_page_names_the_source_and_what_was_passed_over(samples: list[Any]) -> None:
    for node in samples[0]:
        page = build_page(samples[0], node.address)
        assert page.provenance.repository == "example/Sample"
        assert page.provenance.passed_over[0].startswith(
            "example/Sample-Original@fedcba987654 was passed over: the hub"
        )
        assert (page.atlas is not None) == (node.kind == "model")


@pytest.mark.parametrize(
    ("address", "description"),
    [
        ("", "Runs `SampleForCausalLM` (18 operations), 61 layers."),
        ("layers", "61 transformer blocks, in order of execution: 1 dense block, 60 MoE blocks."),
        ("layers/dense/self-attn", "Runs `SampleAttention` (4 operations): Q proj, Softmax, Matmul."),
        ("layers/moe/mlp/experts", "A loop in the model’s code: 8 of 384 per token. Each round: Expert."),
        ("input-ids", "Handed in from outside: no recorded operation computes it."),
        ("embed-tokens", "Runs `torch.nn.Embedding`. Looks up one row of the weight matrix for every index."),
    ],
)
def test_descriptions(samples: list[Any], address: str, description: str) -> None:
    assert build_page(samples[0], address).description == description


def test_a_branch_finds_its_condition_in_the_code_around_it(samples: list[Any]) -> None:
    atlas = samples[1]
    node = atlas["layers/first/add-attention-update"]
    bare = msgspec.structs.replace(node, branches=())
    assert atlas["layers/first"].branches == node.branches
    page = PageBuilder(atlas).page(bare)
    assert page.layers.branches == build_page(atlas, node.address).layers.branches
    assert page.description.startswith("Layers differ here: what runs depends on `running is not None`, which is false")
    assert "the condition `running is not None`" in page.sources[0].claim


def test_neighbours(samples: list[Any]) -> None:
    page = build_page(samples[0], "layers/moe")
    assert page.previous is not None
    assert page.previous.address == "layers/dense"
    assert page.next is None


def test_other_names_work_and_wrong_ones_do_not(samples: list[Any]) -> None:
    assert build_page(samples[0], "layers.3.self_attn").address == "layers/moe/self-attn"
    with pytest.raises(UsageError):
        build_page(samples[0], "layers/third")


def test_a_module_that_is_one_operation_counts_as_one(samples: list[Any]) -> None:
    atlas = samples[0]
    nodes = atlas.document.nodes
    for node in nodes.values():
        inside = [inner for inner in nodes.values() if inner.address.startswith(f"{node.address}/".lstrip("/"))]
        boxes = [
            inner
            for inner in inside
            if inner.kind in ("operation", "kernel")
            or (inner.events and not any(nodes[child].kind != "tensor" for child in inner.children))
        ]
        if node.kind in ("model", "module") and any(nodes[child].kind != "tensor" for child in node.children):
            assert (
                f"({len(boxes)} operation{'' if len(boxes) == 1 else 's'})"
                in build_page(atlas, node.address).description
            )
