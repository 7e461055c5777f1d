from __future__ import annotations

import json
from pathlib import Path

import pytest

from openmodelatlas.shapes.display import in_shape, latex, short, symbol_latex
from openmodelatlas.shapes.names import is_seam, published_sizes, symbol_for, symbols_for
from openmodelatlas.shapes.parsing import parse


@pytest.mark.parametrize(
    ("key", "symbol", "spoken"),
    [
        ("B", "B", "batch"),
        ("T", "T", "positions"),
        ("P", "P", "cached positions"),
        ("hidden_size", "d", "hidden size"),
        ("num_key_value_heads", "h_kv", "key-value heads"),
        ("kv_lora_rank", "r_kv", "key-value rank"),
        ("linear_attn_config.num_heads", "h_linear", "linear heads"),
        ("linear_attn_config.head_dim", "d_h,linear", "linear head size"),
        ("text_config.hidden_size", "d", "hidden size"),
        ("vision_config.patch_size", "p_vision", "vision patch"),
        ("altup_num_inputs", "altup_num_inputs", "altup num inputs"),
        ("audio_config.unknown_width", "unknown_width", "audio unknown width"),
    ],
)
def test_symbols(key: str, symbol: str, spoken: str) -> None:
    assert symbol_for(key) == (symbol, spoken)


def test_symbols_of_one_model_are_different() -> None:
    table = symbols_for(["num_attention_heads", "num_heads", "hidden_size", "n_embd", "a.width", "b.width"])
    symbols = [symbol for symbol, _ in table.values()]
    assert len(set(symbols)) == len(symbols)
    assert table["num_attention_heads"][0] == "h"
    assert table["num_heads"][0] == "num_heads"


@pytest.mark.parametrize(
    ("text", "in_symbols", "in_latex"),
    [
        ("n_head*(qk_rope_head_dim + v_head_dim)", "h·(d_rope + d_v)", r"h\,(d_{\mathrm{rope}} + d_{\mathrm{v}})"),
        ("T - sliding_window + 1", "T − w + 1", "T - w + 1"),
        ("2*n_groups*state_size", "2·G·N", r"2\,G\,N"),
        ("ceil(T, chunk_size)", "⌈T / c⌉", r"\left\lceil \frac{T}{c} \right\rceil"),
        ("min(T, sliding_window)", "min(T, w)", r"\min(T, w)"),
        ("(hidden_size*T)//2", "⌊(d·T) / 2⌋", None),
        ("-odd_key - 1", "−odd_key − 1", r"-\mathrm{odd\_key} - 1"),
    ],
)
def test_display(text: str, in_symbols: str, in_latex: str | None) -> None:
    node = parse(text)
    if in_latex is not None:
        assert short(node) == in_symbols
        assert latex(node) == in_latex
    assert short(node, {"hidden_size": "X"}).count("X") == text.count("hidden_size")


def test_symbol_with_greek_subscript_is_valid_latex() -> None:
    assert symbol_latex("r_Δ") == r"r_{\mathrm{\Delta}}"


def test_published_sizes_look_into_the_text_configuration() -> None:
    configuration = {
        "text_config": {"hidden_size": 7168, "linear_attn_config": {"num_heads": 96}, "use_cache": True, "x": None},
        "hidden_size": 1,
    }
    keys = ["hidden_size", "linear_attn_config.num_heads", "use_cache", "x", "absent"]
    assert published_sizes(configuration, keys) == {"hidden_size": 1, "linear_attn_config.num_heads": 96}


def test_published_sizes_of_a_real_configuration() -> None:
    path = Path(__file__).parents[3] / "shared" / "data" / "kimi-k3.config.json"
    if not path.exists():
        pytest.skip(f"{path} is not on this machine")
    keys = ["hidden_size", "linear_attn_config.num_heads", "num_experts"]
    found = published_sizes(json.loads(path.read_text()), keys)
    assert found == {"hidden_size": 7168, "linear_attn_config.num_heads": 96, "num_experts": 896}


@pytest.mark.parametrize(
    ("key", "seam"),
    [
        ("sliding_window", True),
        ("index_topk", True),
        ("attention_chunk_size", True),
        ("topk_group", False),
        ("moe_topk", False),
        ("hidden_size", False),
    ],
)
def test_lengths_at_which_code_changes_its_path(key: str, seam: bool) -> None:
    assert is_seam(key) is seam


@pytest.mark.parametrize(
    ("symbol", "value", "text"),
    [
        ("d", 7168, "7168 d"),
        ("d_h,linear", 128, "128 d_h.linear"),
        ("K − 1", 3, "3 (K − 1)"),
        ("h·d_v", 8192, "8192 (h·d_v)"),
        ("B·T", None, "B·T"),
    ],
)
def test_an_axis_cannot_be_read_as_another_size(symbol: str, value: int | None, text: str) -> None:
    assert in_shape(symbol, value) == text
