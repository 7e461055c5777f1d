"""Rules of the probe sizes, on random configurations."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from openmodelatlas.capture.child import kinds
from openmodelatlas.capture.child.kinds import origins_of
from openmodelatlas.capture.child.relations import LADDER, Rung
from openmodelatlas.capture.child.sizes import Plan, Published, choose, free_sizes
from openmodelatlas.errors import ConfigurationError
from openmodelatlas.sources import registry

BASE = {
    "num_hidden_layers": 12,
    "hidden_size": 4096,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size": 14336,
    "vocab_size": 128256,
    "rope_theta": 1e6,
    "max_position_embeddings": 8192,
}


@st.composite
def configurations(draw: st.DrawFn) -> dict[str, Any]:
    key_heads = draw(st.sampled_from([1, 2, 8, 16]))
    heads = key_heads * draw(st.sampled_from([1, 2, 4, 8]))
    configuration: dict[str, Any] = {
        **BASE,
        "num_hidden_layers": draw(st.integers(1, 100)),
        "num_attention_heads": max(heads, 2),
        "num_key_value_heads": key_heads,
        "hidden_size": max(heads, 2) * draw(st.sampled_from([64, 80, 128])),
    }
    if draw(st.booleans()):
        del configuration["head_dim"]
    if draw(st.booleans()):
        configuration |= {"n_routed_experts": 256, "num_experts_per_tok": draw(st.sampled_from([1, 2, 8]))}
        configuration |= {"n_shared_experts": draw(st.integers(0, 2)), "moe_intermediate_size": 2048}
        if draw(st.booleans()):
            configuration |= {"n_group": 8, "topk_group": draw(st.sampled_from([1, 4]))}
    if draw(st.booleans()):
        configuration |= {"kv_lora_rank": 512, "q_lora_rank": draw(st.sampled_from([None, 1536]))}
        configuration |= {"qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128}
    if draw(st.booleans()):
        configuration["sliding_window"] = draw(st.sampled_from([None, 128, 4096]))
    if draw(st.booleans()):
        configuration["attention_chunk_size"] = 8192
    if draw(st.booleans()):
        configuration["linear_attn_config"] = {"head_dim": 128, "num_heads": 32, "short_conv_kernel_size": 4}
    return configuration


def plan_of(configuration: dict[str, Any], rung: Rung = LADDER[0], **keywords: Any) -> Plan:
    return choose(Published(configuration, {}), rung=rung, **keywords)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(configurations())
def test_sizes_obey_the_rules(configuration: dict[str, Any]) -> None:
    plan = plan_of(configuration)
    assert [probe.role for probe in plan.probes] == ["solve", "solve", "solve", "held-out", "repeat"]
    assert plan.probes[0].sizes == plan.probes[4].sizes
    assert plan.probes[0].seed != plan.probes[4].seed
    for probe, setting in zip(plan.probes, plan.settings, strict=True):
        chunks = [size for key, size in probe.sizes.items() if kinds.kind_of(key) is kinds.CHUNK]
        values = [*probe.sizes.values(), probe.batch, probe.tokens, probe.tokens + 1, probe.batch * probe.tokens]
        assert len(set(values)) == len(values)
        assert probe.batch >= 2
        seam = 0 if probe.role == "held-out" else 1
        assert all(probe.tokens % chunk == seam and probe.tokens > chunk for chunk in chunks)
        heads, key_heads = setting["num_attention_heads"], setting.get("num_key_value_heads", 1)
        assert heads % key_heads == 0
        if configuration["num_key_value_heads"] == configuration["num_attention_heads"]:
            assert heads == key_heads
        elif configuration["num_key_value_heads"] == 1:
            assert "num_key_value_heads" not in setting
        else:
            assert key_heads < heads
        if "head_dim" not in configuration and "qk_rope_head_dim" not in configuration:
            assert setting["hidden_size"] % (2 * heads) == 0
        assert setting.get("qk_rope_head_dim", 2) % 2 == 0
        if "n_routed_experts" in setting:
            groups, chosen_groups = setting.get("n_group", 1), setting.get("topk_group", 1)
            assert setting["n_routed_experts"] % groups == 0
            assert chosen_groups <= groups
            assert setting.get("num_experts_per_tok", 1) < setting["n_routed_experts"]
            assert setting.get("num_experts_per_tok", 1) <= chosen_groups * setting["n_routed_experts"] // groups
        for key, size in setting.items():
            if kinds.kind_of(key) in (kinds.WINDOW, kinds.KERNEL):
                assert size + 2 < probe.tokens
        assert "num_hidden_layers" not in setting


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(configurations())
def test_vectors_differ_and_vary(configuration: dict[str, Any]) -> None:
    plan = plan_of(configuration)
    solving = [probe for probe in plan.probes if probe.role == "solve"]
    vectors = {key: tuple(probe.sizes[key] for probe in solving) for key in solving[0].sizes}
    vectors["B"] = tuple(probe.batch for probe in solving)
    vectors["T"] = tuple(probe.tokens for probe in solving)
    assert len(set(vectors.values())) == len(vectors)
    for key, vector in vectors.items():
        assert len(set(vector)) > 1, f"{key} looks like a constant"


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(configurations(), st.sampled_from(LADDER))
def test_every_rung_obeys_what_it_says(configuration: dict[str, Any], rung: Rung) -> None:
    try:
        plan = plan_of(configuration, rung)
    except ConfigurationError:
        assert rung.keep_ratios  # only whole ratios can be unsatisfiable in the small
        return
    for setting in plan.settings:
        hidden, heads = setting["hidden_size"], setting["num_attention_heads"]
        if rung.heads_divide_hidden:
            assert hidden % heads == 0
        if rung.even_heads:
            assert all(size % 2 == 0 for key, size in setting.items() if key.endswith("head_dim"))
        published = configuration["num_attention_heads"] * configuration.get("head_dim", 0)
        if rung.heads_fill_hidden and configuration["hidden_size"] == published:
            assert hidden == heads * setting["head_dim"]


@pytest.mark.parametrize("name", sorted(registry.MODELS))
def test_registered_configurations_have_no_coincidence(name: str) -> None:
    configuration = registry.model(name).configuration()
    configuration = configuration.get("text_config", configuration)
    solving = plan_of(configuration).probes[:3]
    vectors = {key: tuple(probe.sizes[key] for probe in solving) for key in solving[0].sizes}
    vectors["B"], vectors["T"] = tuple(p.batch for p in solving), tuple(p.tokens for p in solving)
    singles = set(vectors.values())
    names = sorted(vectors)
    forced = {"hidden_size", "num_heads", "head_dim"}  # a state-space model's expand * hidden = heads * head_dim
    for index, first in enumerate(names):
        for second in names[index:]:
            if {first, second} <= forced:
                continue
            total = tuple(a + b for a, b in zip(vectors[first], vectors[second], strict=True))
            product = tuple(a * b for a, b in zip(vectors[first], vectors[second], strict=True))
            assert total not in singles, (first, second)
            assert product not in singles, (first, second)


def test_choice_is_reproducible_and_depends_on_the_seed() -> None:
    assert plan_of(BASE, seed="x").settings == plan_of(BASE, seed="x").settings
    assert plan_of(BASE, seed="x").settings != plan_of(BASE, seed="y").settings


def test_overrides_win_and_relations_follow() -> None:
    plan = plan_of(BASE, overrides={"num_attention_heads": 12, "vocab_size": [31, 33, 35, 37]})
    assert [probe.sizes["num_attention_heads"] for probe in plan.probes] == [12] * 5
    assert [probe.sizes["vocab_size"] for probe in plan.probes] == [31, 33, 35, 37, 31]
    assert all(12 % probe.sizes["num_key_value_heads"] == 0 for probe in plan.probes)
    chosen = {choice.key: choice for choice in plan.choices}
    assert chosen["num_attention_heads"].origin == "override"
    assert chosen["num_hidden_layers"].sizes == []


def test_tokens_exceed_an_overridden_window() -> None:
    plan = plan_of({**BASE, "sliding_window": 4096}, overrides={"sliding_window": 40})
    assert all(probe.tokens > 41 for probe in plan.probes)


@pytest.mark.parametrize(
    ("overrides", "place", "words"),
    [
        ({"no_such_key": 3}, "no_such_key", "names no key"),
        ({"num_attention_heads": 7, "num_key_value_heads": 2}, "num_attention_heads", "multiple of"),
    ],
)
def test_bad_overrides(overrides: dict[str, int], place: str, words: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        plan_of(BASE, overrides=overrides)
    assert place in (caught.value.where or "")
    assert words in caught.value.what


@pytest.mark.parametrize(
    ("key", "named"), [("hidden_sise", "hidden_size"), ("zzz", "hidden_size"), ("b.c", "vocab_size")]
)
def test_an_override_of_no_key_is_answered_with_keys(key: str, named: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        plan_of(BASE, overrides={key: 3})
    assert named in (caught.value.advice or "")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hidden_size", 0),
        ("hidden_size", -4096),
        ("hidden_size", "large"),
        ("num_attention_heads", 32.5),
        ("num_hidden_layers", 0),
        ("num_hidden_layers", "many"),
        ("vocab_size", -1),
        ("kv_lora_rank", -512),
    ],
)
def test_absurd_values_name_their_key(key: str, value: Any) -> None:
    with pytest.raises(ConfigurationError) as caught:
        free_sizes(Published({**BASE, key: value}, {}))
    assert caught.value.where == key
    assert repr(value) in caught.value.what


def test_what_is_switched_off_stays_off() -> None:
    configuration = {**BASE, "sliding_window": None, "n_shared_experts": 0, "q_lora_rank": None, "n_group": 1}
    assert free_sizes(Published(configuration, {})).keys() == free_sizes(Published(BASE, {})).keys()


def test_generation_keys_and_depth_are_no_sizes() -> None:
    configuration = {**BASE, "top_k": 50, "num_beams": 4, "layer_types": ["a", "b"], "first_k_dense_replace": 3}
    configuration["vision_config"] = {"hidden_size": 1024}
    assert free_sizes(Published(configuration, {})).keys() == free_sizes(Published(BASE, {})).keys()


def test_partial_rotary_dimensions_stay_even() -> None:
    configuration = {**BASE, "rope_parameters": {"partial_rotary_factor": 0.25, "rope_theta": 1e4}}
    for setting in plan_of(configuration).settings:
        assert setting["head_dim"] * 0.25 % 2 == 0


def test_state_space_relation() -> None:
    configuration = {"num_heads": 80, "head_dim": 64, "hidden_size": 2560, "expand": 2, "state_size": 128}
    configuration |= {"n_groups": 8, "conv_kernel": 4, "chunk_size": 256, "num_hidden_layers": 64}
    for setting in plan_of(configuration).settings:
        assert setting["num_heads"] * setting["head_dim"] == 2 * setting["hidden_size"]
        assert setting["num_heads"] % setting["n_groups"] == 0


def test_quotients_of_sizes_vary() -> None:
    """Experts in a group are a size of their own: a constant number of them would be taken for a number."""
    configuration = {
        "num_hidden_layers": 2,
        "hidden_size": 2048,
        "num_attention_heads": 16,
        "n_routed_experts": 64,
        "n_group": 8,
        "topk_group": 4,
        "num_experts_per_tok": 6,
        "n_shared_experts": 2,
        "max_position_embeddings": 8192,
    }
    for seed in ("one", "two", "three"):
        plan = choose(Published(configuration, {}), seed=seed)
        solving = [probe.sizes for probe in plan.probes if probe.role == "solve"]
        assert len({sizes["n_routed_experts"] // sizes["n_group"] for sizes in solving}) > 1


def test_what_the_published_sizes_break_is_no_relation() -> None:
    configuration = {**BASE, "num_experts": 1, "moe_topk": 1, "n_routed_experts": 16, "n_group": 8, "topk_group": 8}
    for setting in plan_of(configuration).settings:
        assert "moe_topk" not in setting
        assert setting["n_routed_experts"] % setting["n_group"] == 0


def test_an_indexer_holds_its_rotary_part_and_ranks_become_even_late() -> None:
    configuration = {**BASE, "qk_rope_head_dim": 64, "index_head_dim": 128, "kv_lora_rank": 512, "index_topk": 2048}
    for setting, probe in zip(plan_of(configuration).settings, plan_of(configuration).probes, strict=True):
        assert setting["index_head_dim"] > setting["qk_rope_head_dim"]
        assert setting["index_topk"] + 1 < probe.tokens
    assert all(setting["kv_lora_rank"] % 2 == 0 for setting in plan_of(configuration, LADDER[2]).settings)


def test_a_renamed_group_of_the_file_is_the_files() -> None:
    values = {"rope_parameters.factor": 32.0, "rope_parameters.kind": "yarn", "linear.heads": 4, "eps": 1e-6}
    given = {"rope_scaling.factor": 32.0, "linear.heads": 4, "rope_scaling.kind": "linear"}

    assert origins_of(values, given) == {
        "rope_parameters.factor": "file",
        "rope_parameters.kind": "class default",
        "linear.heads": "file",
        "eps": "class default",
    }
