"""Repositories on a small hub whose code holds the seeds' excerpts at their true lines and revisions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from openmodelatlas.sources import MODELS
from tests.hub import Repository
from tests.seeds import seed, stubs

K2_SEED, K3_SEED = "kimi-k2-block-output.txt", "kimi-k3-add-attention-update.txt"


def _text(lines: Mapping[int, str], first: int, last: int) -> str:
    return "\n".join(lines[number] for number in range(first, last + 1))


def kimi_k2() -> Repository:
    """``moonshotai/Kimi-K2-Instruct`` with the block and the norm of the seed."""
    block, norm = seed.sources(seed.read(K2_SEED))
    assert block.omitted is not None
    begin, end = block.omitted
    blocks = {
        1: stubs.K2_HEAD,
        norm.lines[0]: _text(norm.text, *norm.lines),
        norm.lines[1] + 1: stubs.K2_PARTS,
        block.lines[0]: _text(block.text, block.lines[0], begin - 1),
        begin: stubs.K2_FORWARD,
        end + 1: _text(block.text, end + 1, block.lines[1]),
        block.lines[1] + 1: stubs.K2_MODEL,
    }
    first, text = stubs.ending_at(block.lines[0] - 1, stubs.K2_LAYER)
    configuration = {
        "hidden_size": 7168,
        "intermediate_size": 18432,
        "moe_intermediate_size": 2048,
        "num_hidden_layers": 61,
        "num_attention_heads": 64,
        "v_head_dim": 128,
        "n_routed_experts": 384,
        "n_shared_experts": 1,
        "num_experts_per_tok": 8,
        "first_k_dense_replace": 1,
        "moe_layer_freq": 1,
        "rms_norm_eps": 1e-6,
        "vocab_size": 163840,
    }
    return _repository(block, {**blocks, first: text}, "DeepseekV3ForCausalLM", configuration)


def kimi_k3() -> Repository:
    """``moonshotai/Kimi-K3`` with the forward function of the seed."""
    (function,) = seed.sources(seed.read(K3_SEED))
    blocks = {
        1: stubs.K3_HEAD,
        function.lines[0]: _text(function.text, *function.lines),
        function.lines[1] + 1: stubs.K3_MODEL,
    }
    configuration = {
        "hidden_size": 7168,
        "intermediate_size": 33792,
        "moe_intermediate_size": 3072,
        "num_hidden_layers": 93,
        "num_attention_heads": 96,
        "v_head_dim": 128,
        "kv_lora_rank": 512,
        "attn_res_block_size": 12,
        "first_k_dense_replace": 1,
        "rms_norm_eps": 1e-5,
        "vocab_size": 163840,
    }
    return _repository(function, blocks, "KimiLinearForCausalLM", configuration)


def _repository(source: seed.Source, blocks: Mapping[int, str], model: str, values: dict[str, Any]) -> Repository:
    module = source.file.removesuffix(".py")
    configuration = {
        "architectures": [model],
        "auto_map": {
            "AutoConfig": "configuration_stub.StubConfig",
            "AutoModelForCausalLM": f"{module}.{model}",
        },
        "model_type": "stub",
        "dtype": "bfloat16",
        **values,
    }
    specs = [each.spec for entry in MODELS.values() for each in entry.sources]
    revision = next(spec.partition("@")[2] for spec in specs if f"@{source.revision}" in spec)
    files = {
        "config.json": json.dumps(configuration, indent=2).encode(),
        "configuration_stub.py": stubs.CONFIGURATION.encode(),
        source.file: stubs.assemble(blocks).encode(),
    }
    repository = Repository(source.repository, commits={revision: files}, branches={"main": revision})
    repository.resolves_short_hashes = True
    return repository
