"""A real model: the installed transformers' DeepSeek V3 with small widths, prefill and one decode step."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
import torch
import transformers

from openmodelatlas.capture.child.recorder import Recorder

from .recording_of import Seen, check_invariants, numbers, parses

LAYERS = 3


def model() -> transformers.PreTrainedModel:
    configuration = transformers.DeepseekV3Config(
        vocab_size=61,
        hidden_size=24,
        intermediate_size=40,
        moe_intermediate_size=12,
        num_hidden_layers=LAYERS,
        num_attention_heads=4,
        num_key_value_heads=4,
        q_lora_rank=18,
        kv_lora_rank=11,
        qk_nope_head_dim=9,
        qk_rope_head_dim=6,
        v_head_dim=7,
        n_routed_experts=8,
        num_experts_per_tok=2,
        n_group=2,
        topk_group=1,
        first_k_dense_replace=1,
        pad_token_id=None,
        bos_token_id=None,
        eos_token_id=None,
        attn_implementation="eager",
        experts_implementation="eager",
    )
    torch.manual_seed(5)
    return transformers.DeepseekV3ForCausalLM(configuration).eval()


@pytest.fixture(scope="module")
def recorded() -> tuple[Seen, list[torch.Tensor], list[torch.Tensor]]:
    """The recording, the outputs of the recorded run and those of a run that nobody watched."""
    subject = model()
    tokens, step = torch.randint(0, 61, (2, 7)), torch.randint(0, 61, (2, 1))
    recorder = Recorder(
        subject, roots={"source": Path(transformers.__file__).parent / "models/deepseek_v3"}, keep_values=True
    )
    with torch.no_grad():
        plain = subject(input_ids=tokens, use_cache=True)
        plain_step = subject(input_ids=step, cache=plain.cache, use_cache=True)
        with recorder.record("prefill", {"input_ids": tokens}):
            first = subject(input_ids=tokens, use_cache=True)
        with recorder.record("decode", {"input_ids": step}):
            second = subject(input_ids=step, cache=first.cache, use_cache=True)
    return Seen(recorder), [first.logits, second.logits], [plain.logits, plain_step.logits]


def test_recording_changes_no_number(recorded):
    seen, watched, unwatched = recorded
    assert all(torch.equal(a, b) for a, b in zip(watched, unwatched, strict=True))
    check_invariants(seen.recording)
    assert seen.notes == []
    assert [t for t in seen.recording.tensors if t.origin == "outside"] == []


def test_every_operation_has_an_expression_that_parses(recorded):
    seen = recorded[0]
    assert len(seen.recording.operations) > 500
    for span in {operation.span for operation in seen.recording.operations}:
        assert span >= 0
        text = seen.text(span)
        assert parses(text), text
        if "/=" not in text:
            ast.parse(f"({text}\n)", mode="eval")


def test_the_decode_step_reads_what_the_prefill_cached(recorded):
    seen = recorded[0]
    calls, operations = seen.recording.calls, seen.recording.operations
    joined = [o for o in operations if o.function == "torch.cat" and calls[o.call].name == "update"]
    assert len(joined) == 2 * 2 * LAYERS  # keys and values of every layer, in both phases
    prefill, decode = joined[: 2 * LAYERS], joined[2 * LAYERS :]
    for earlier, later in zip(prefill, decode, strict=True):
        assert numbers(later.arguments)[0] == earlier.outputs[0]


def test_layers_differ_as_the_code_says(recorded):
    seen = recorded[0]
    names = {m.name for m in seen.recording.modules}
    assert "model.layers.0.mlp.gate_proj" in names
    assert "model.layers.1.mlp.experts" in names
    for index in range(LAYERS):
        layer = [m.name for m in seen.recording.modules].index(f"model.layers.{index}")
        assert len([c for c in seen.recording.calls if c.module == layer]) == 2
    files = {f.path: f for f in seen.recording.files}
    assert files["modeling_deepseek_v3.py"].origin == "source"
    assert files["transformers/cache_utils.py"].origin == "package"
    assert files["transformers/cache_utils.py"].package == f"transformers {transformers.__version__}"


def test_pure_operations_can_be_computed_again(recorded):
    seen = recorded[0]
    functions = {"__mul__": torch.mul, "__add__": torch.add, "__sub__": torch.sub}
    checked = pure = 0
    for operation in seen.recording.operations:
        again = functions.get(operation.function.rsplit(".", 1)[-1])
        pure += again is not None
        used = [a["tensor"] for a in operation.arguments if isinstance(a, dict) and "tensor" in a]
        kept = all(str(number) in seen.values for number in (*used, *operation.outputs))  # not those of equal layers
        if again is not None and kept:
            first, second = (seen.value(a["tensor"]) if isinstance(a, dict) else a for a in operation.arguments)
            assert torch.equal(again(first, second), seen.value(operation.outputs[0]))
            checked += 1
    assert checked > 0.6 * pure > 100  # two layers of three, and all that is outside of them
