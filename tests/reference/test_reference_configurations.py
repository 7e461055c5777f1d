"""Configurations that contradict themselves or ask for something else are one clear error."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmodelatlas.errors import ConfigurationError
from openmodelatlas.reference import kimi_k2, kimi_k3
from openmodelatlas.reference.kimi_k2_configuration import KimiK2Configuration
from openmodelatlas.reference.kimi_k3_configuration import KimiK3Configuration
from tests.reference.small_models import published, small_k2_configuration, small_k3_configuration


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"qk_rope_head_dim": 7}, "qk_rope_head_dim: Rotary positions turn pairs of features, but 7 is odd"),
        ({"num_experts_per_tok": 13}, "num_experts_per_tok: 13 experts cannot be chosen from the 12 that exist"),
        ({"n_group": 4, "topk_group": 1, "num_experts_per_tok": 4}, "4 experts cannot be chosen from the 3"),
        ({"n_group": 5}, "n_group: 12 experts do not fall into 5 groups"),
        ({"n_group": 2, "topk_group": 3}, "topk_group: 3 of 2 groups cannot be kept"),
        ({"n_group": 12, "topk_group": 12}, "ranks by its two best experts, but holds 1"),
        ({"num_key_value_heads": 2}, "num_key_value_heads"),
        ({"scoring_func": "softmax"}, "scoring_func: Kimi K2 is written for 'sigmoid', not 'softmax'"),
        ({"attention_bias": True}, "attention_bias"),
        ({"hidden_size": 0}, r"hidden_size"),
        ({"hidden_size": "48"}, r"Expected `int`, got `str` - at `\$.hidden_size`"),
        ({"hidden_size": None}, r"hidden_size"),
        (
            {"rope_scaling": {"type": "yarn"}},
            "rope_scaling: The configuration lacks keys .*: beta_fast, beta_slow, fac",
        ),
        (
            {"rope_scaling": {**published("kimi-k2")["rope_scaling"], "type": "linear"}},
            "stretched by YaRN or not at all",
        ),
        ({"rope_scaling": {**published("kimi-k2")["rope_scaling"], "new": 1}}, "does not know: new"),
        ({"sliding_window": 128, "attention_sinks": 4}, "does not know: attention_sinks, sliding_window"),
    ],
)
def test_bad_k2_configurations(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        kimi_k2.build(small_k2_configuration(**change))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"num_experts_per_token": 13}, "num_experts_per_token: 13 experts cannot be chosen from the 12"),
        ({"linear_attn_config": {"kda_layers": [1, 2, 3, 4, 5, 6, 7]}}, r"Layers are listed twice: \[4\]"),
        ({"linear_attn_config": {"kda_layers": [1, 2, 3, 5, 7]}}, r"Layers are in neither list: \[6\]"),
        ({"linear_attn_config": {"kda_layers": [1, 2, 3, 5, 6, 7, 10]}}, r"has 9 layers, but these are listed: \[10\]"),
        ({"linear_attn_config": {"kda_layers": [0, 1, 2, 3, 5, 6, 7]}}, "kda_layers"),
        ({"linear_attn_config": {"gate_lower_bound": 5.0}}, "gate_lower_bound"),
        ({"linear_attn_config": {"use_full_rank_gate": False}}, "use_full_rank_gate"),
        ({"linear_attn_config": {"head_size": 3}}, "linear_attn_config: .* does not know: head_size"),
        ({"mla_use_nope": False}, "mla_use_nope: Kimi K3 is written for True, not False"),
        ({"hidden_act": "silu"}, "hidden_act"),
        ({"attn_res_block_size": None}, "attn_res_block_size"),
        ({"rope_theta": 10000.0}, "text_config: .* does not know: rope_theta"),
    ],
)
def test_bad_k3_configurations(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        kimi_k3.build(small_k3_configuration(**change))


def test_unknown_keys_beside_the_text_configuration_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="does not know: audio_config"):
        kimi_k3.build({**small_k3_configuration(), "audio_config": {}})


def test_a_text_configuration_alone_is_read_too() -> None:
    whole = published("kimi-k3")
    assert KimiK3Configuration.from_published(whole) == KimiK3Configuration.from_published(whole["text_config"])


@given(name=st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=12))
def test_any_key_is_handled_ignored_or_refused(name: str) -> None:
    known = published("kimi-k2")
    if name not in known and name not in ("dtype", "pad_token_id", "_name_or_path"):
        with pytest.raises(ConfigurationError, match=f"does not know: {name}"):
            KimiK2Configuration.from_published({**known, name: 1})


@pytest.mark.parametrize("key", KimiK2Configuration.__struct_fields__)
def test_each_key_of_k2_is_needed(key: str) -> None:
    configuration = published("kimi-k2")
    del configuration[key]
    with pytest.raises(ConfigurationError, match=f"lacks keys .*: {key}"):
        KimiK2Configuration.from_published(configuration)


@pytest.mark.parametrize("key", KimiK3Configuration.__struct_fields__)
def test_each_key_of_k3_is_needed(key: str) -> None:
    configuration = published("kimi-k3")
    del configuration["text_config"][key]
    with pytest.raises(ConfigurationError, match=f"lacks keys .*: {key}"):
        KimiK3Configuration.from_published(configuration)
