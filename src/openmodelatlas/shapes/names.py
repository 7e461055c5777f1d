"""How sizes are called: short symbols, spoken names, and the order in which they are written.

A *key* is a configuration key as the model's code reads it (``hidden_size``; dotted inside a nested configuration:
``linear_attn_config.num_heads``) or one of the sizes of a run: ``B``, ``T``, ``P``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

RUN_NAMES = ("B", "T", "P")
"""Sizes that a run chooses, not the configuration: batch, positions of the prefill, positions cached before a step."""

KEY_PATTERN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*\Z")
"""Keys that can be written in an expression."""

# Symbols as the papers write them: "Attention Is All You Need" (d_model as d, h, d_ff), DeepSeek-V2 section 2.1
# (ranks of the low-rank paths, decoupled rotary part), Mamba-2 (N for the state, P for the head is taken by us).
_SYMBOLS: dict[str, tuple[str, str]] = {
    "B": ("B", "batch"),
    "T": ("T", "positions"),
    "P": ("P", "cached positions"),
    "hidden_size": ("d", "hidden size"),
    "n_embd": ("d", "hidden size"),
    "d_model": ("d", "hidden size"),
    "num_hidden_layers": ("L", "layers"),
    "n_layer": ("L", "layers"),
    "num_attention_heads": ("h", "heads"),
    "n_head": ("h", "heads"),
    "num_key_value_heads": ("h_kv", "key-value heads"),
    "head_dim": ("d_h", "head size"),
    "global_head_dim": ("d_h,global", "head size of global layers"),
    "intermediate_size": ("d_ff", "feed-forward size"),
    "n_inner": ("d_ff", "feed-forward size"),
    "moe_intermediate_size": ("d_e", "expert feed-forward size"),
    "shared_expert_intermediate_size": ("d_s", "shared expert feed-forward size"),
    "routed_expert_hidden_size": ("d_r", "routed expert input size"),
    "vocab_size": ("V", "vocabulary"),
    "n_routed_experts": ("E", "experts"),
    "num_experts": ("E", "experts"),
    "num_local_experts": ("E", "experts"),
    "n_shared_experts": ("E_s", "shared experts"),
    "num_shared_experts": ("E_s", "shared experts"),
    "num_experts_per_tok": ("k", "experts per token"),
    "num_experts_per_token": ("k", "experts per token"),
    "n_group": ("G", "expert groups"),
    "num_expert_group": ("G", "expert groups"),
    "topk_group": ("k_G", "chosen expert groups"),
    "q_lora_rank": ("r_q", "query rank"),
    "kv_lora_rank": ("r_kv", "key-value rank"),
    "qk_nope_head_dim": ("d_nope", "head size without rotary"),
    "qk_rope_head_dim": ("d_rope", "rotary head size"),
    "qk_head_dim": ("d_qk", "query and key head size"),
    "v_head_dim": ("d_v", "value head size"),
    "index_head_dim": ("d_idx", "indexer head size"),
    "index_n_heads": ("h_idx", "indexer heads"),
    "index_topk": ("k_idx", "indexed positions"),
    "sliding_window": ("w", "window"),
    "attention_chunk_size": ("c_a", "attention chunk"),
    "max_position_embeddings": ("T_max", "greatest position count"),
    "n_positions": ("T_max", "greatest position count"),
    "n_ctx": ("T_max", "greatest position count"),
    "state_size": ("N", "state size"),
    "ssm_state_size": ("N", "state size"),
    "mamba_d_state": ("N", "state size"),
    "num_heads": ("h", "heads"),
    "n_groups": ("G", "groups"),
    "expand": ("e", "expansion"),
    "conv_kernel": ("K", "convolution kernel"),
    "short_conv_kernel_size": ("K", "convolution kernel"),
    "linear_conv_kernel_dim": ("K", "convolution kernel"),
    "mamba_d_conv": ("K", "convolution kernel"),
    "chunk_size": ("c", "chunk"),
    "time_step_rank": ("r_Δ", "time step rank"),
    "attn_res_block_size": ("b", "layers per residual block"),
    "patch_size": ("p", "patch"),
    "image_size": ("s_img", "image side"),
    "num_channels": ("C", "channels"),
}

_WIDTHS_NAMED_LIKE_COUNTS = frozenset({"n_embd", "n_inner", "n_positions", "n_ctx"})
_COUNT = re.compile(r"(?:num_|n_)|.*(?:_heads|_experts|_per_tok|_per_token|_groups?|_n_head|top_?k)\Z")
_SEAM = re.compile(
    r"(?!.*(?:group|expert|moe)).*(?:window|chunk|block_size|topk|max_position|n_positions|n_ctx)", re.IGNORECASE
)

# Of keys with the same sizes the earlier one is shown.
_STANDARD: tuple[str, ...] = (
    "B",
    "T",
    "P",
    "hidden_size",
    "n_embd",
    "d_model",
    "vocab_size",
    "num_attention_heads",
    "n_head",
)
_STANDARD += ("head_dim", "intermediate_size", "n_inner", "moe_intermediate_size", "n_routed_experts")
_STANDARD += ("num_experts", "num_local_experts", "num_experts_per_tok", "num_experts_per_token", "num_key_value_heads")
_STANDARD += ("kv_lora_rank", "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim")
_PREFERENCE = {key: rank for rank, key in enumerate(_STANDARD)}


def last_part(key: str) -> str:
    """The key without the names of the nested configurations around it."""
    return key.rpartition(".")[2]


def is_count(key: str) -> bool:
    """Whether the key counts things (heads, experts, groups) rather than measuring a width."""
    part = last_part(key)
    return part not in _WIDTHS_NAMED_LIKE_COUNTS and _COUNT.match(part) is not None


def is_seam(key: str) -> bool:
    """Whether the key is a length at which code changes its path: a window, a chunk, a block, a sparse top-k."""
    return _SEAM.match(last_part(key)) is not None


@lru_cache(maxsize=1024)
def order_key(key: str) -> tuple[int, str, str]:
    """Position of a key among the factors of a product: B, T, P, then counts, then widths, each by name."""
    if key in RUN_NAMES:
        return RUN_NAMES.index(key), "", key
    return (3 if is_count(key) else 4), last_part(key), key


def preference(key: str) -> tuple[int, int, str]:
    """Sort key: which of several keys with the same sizes to show (standard keys first, less nested before more)."""
    return _PREFERENCE.get(key, len(_PREFERENCE)), key.count("."), key


def symbol_for(key: str) -> tuple[str, str]:
    """Short symbol and spoken name of a size.

    The symbol is a letter, optionally with an underscore and a subscript (``r_kv``); the spoken name fits into
    ``[B batch, T positions, 7168 d]``. A nested standard key carries the part of the model it belongs to
    (``linear_attn_config.num_heads``: ``h_linear``, "linear heads"); an unknown key is its own symbol and is spoken
    with spaces.
    """
    if key in _SYMBOLS:
        return _SYMBOLS[key]
    part = last_part(key)
    scope = _scope(key)
    if part not in _SYMBOLS:
        spoken = part.replace("_", " ")
        return part, f"{scope} {spoken}" if scope else spoken
    symbol, spoken = _SYMBOLS[part]
    if not scope:
        return symbol, spoken
    base, _, subscript = symbol.partition("_")
    return f"{base}_{subscript},{scope}" if subscript else f"{base}_{scope}", f"{scope} {spoken}"


def symbols_for(keys: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Symbols of all sizes of one model, made different: of keys with the same symbol, later ones are spelled out.

    Returns:
        key to (symbol, spoken name), in the order of ``keys``.
    """
    table: dict[str, tuple[str, str]] = {}
    taken: set[str] = set()
    for key in keys:
        symbol, spoken = symbol_for(key)
        if symbol in taken:
            symbol, spoken = key, key.replace("_", " ").replace(".", " ")
        taken.add(symbol)
        table[key] = (symbol, spoken)
    return table


def published_sizes(configuration: Mapping[str, Any], keys: Iterable[str]) -> dict[str, int]:
    """Values of ``keys`` in a published configuration, in elements.

    A key is looked up at the top and, for models that wrap a language model, within ``text_config``. Keys without an
    integer value there are left out: their size is not known from the file.
    """
    found: dict[str, int] = {}
    inner = configuration.get("text_config")
    places = [configuration, inner] if isinstance(inner, Mapping) else [configuration]
    for key in keys:
        for place in places:
            value = _nested(place, key)
            if value is not None:
                found[key] = value
                break
    return found


def _nested(configuration: Mapping[str, Any], key: str) -> int | None:
    value: Any = configuration
    for part in key.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return None
        value = value[part]
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _scope(key: str) -> str:
    """The word for the nested configuration a key lies in: ``linear`` for ``linear_attn_config.num_heads``."""
    outer = key.rpartition(".")[0]
    if not outer:
        return ""
    word = re.sub(r"_(?:config|cfg|attn|attention)(?=_|\Z)", "", last_part(outer))
    return "" if word == "text" else word.replace("_", " ")
