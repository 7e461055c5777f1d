"""What each configuration key is: the field's standard terms, with their synonyms, and the sizes a probe gives them.

Keys are matched by their last component: exact names first, then patterns, in the order of :data:`KINDS`. A key that
nothing matches is kept as published. Names were collected from the configuration classes of transformers 5.24.0
(``models/*/configuration_*.py``) and from the configurations of published repositories.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, eq=False)
class Kind:
    """A kind of size.

    Attributes:
        name: the field's term, used in reports.
        low, high: range of a probe's size, inclusive, in elements (tokens for windows, chunks and positions).
        even: whether only even sizes make sense (rotary dimensions are rotated in pairs).
        keep_one: whether a published value of 1 switches a mechanism off and is therefore kept.
        names: exact keys.
        patterns: regular expressions that the whole key must match.
    """

    name: str
    low: int
    high: int
    even: bool = False
    keep_one: bool = True
    names: frozenset[str] = frozenset()
    patterns: tuple[str, ...] = ()
    compiled: tuple[re.Pattern[str], ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "compiled", tuple(re.compile(pattern) for pattern in self.patterns))

    def matches(self, key: str) -> bool:
        """Whether ``key`` (a last component) is of this kind."""
        return key in self.names or any(pattern.fullmatch(key) for pattern in self.compiled)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


KEPT = Kind(
    name="kept",
    low=0,
    high=0,
    names=_names(
        # depth and what schedules it
        "num_hidden_layers n_layer n_layers num_layers first_k_dense_replace layer_types mlp_layer_types "
        "moe_layer_freq attn_res_block_size full_attn_layers kda_layers mlp_only_layers decoder_sparse_step "
        "max_window_layers sliding_window_pattern global_attn_every_n_layers full_attention_interval "
        "interleave_moe_layer_step no_rope_layers no_rope_layer_interval num_nextn_predict_layers num_mtp_layers "
        "n_dense_layers num_dense_layers first_last_layers attn_layer_period attn_layer_offset expert_layer_period "
        "expert_layer_offset layers_block_type hybrid_layer_ids num_kv_shared_layers "
        # ratios, scales and numbers that are values rather than sizes
        "expand mamba_expand partial_rotary_factor rotary_pct rotary_percent query_pre_attn_scalar pretraining_tp "
        "original_max_position_embeddings logits_scaling embedding_multiplier rope_theta factor initializer_range "
        # fields of every configuration that no forward pass reads
        "top_k num_beams num_beam_groups num_return_sequences no_repeat_ngram_size encoder_no_repeat_ngram_size "
        "chunk_size_feed_forward max_length min_length num_labels weight_block_size pad_to_multiple_of "
        "max_new_tokens ignore_index"
    ),
    patterns=(r".*_layers", r".*_layer_freq", r".*_interval", r".*_token_id", r".*_token_index", r".*_pattern"),
)
VOCABULARY = Kind(name="vocabulary", low=59, high=103, names=_names("vocab_size padded_vocab_size n_vocab"))
HIDDEN = Kind(
    name="width of the residual stream",
    low=23,
    high=53,
    names=_names("hidden_size n_embd d_model dim model_dim embed_dim embedding_dim word_embed_proj_dim embedding_size"),
)
KEY_VALUE_HEADS = Kind(
    name="key and value heads",
    low=2,
    high=4,
    names=_names(
        "num_key_value_heads num_kv_heads n_kv_heads n_head_kv multi_query_group_num num_global_key_value_heads"
    ),
    patterns=(r".*num_key_value_heads", r".*num_kv_heads", r".*num_key_heads"),
)
HEADS = Kind(
    name="heads",
    low=3,
    high=8,
    names=_names("num_attention_heads n_head n_heads num_heads index_n_heads mamba_n_heads mamba_num_heads"),
    patterns=(r".*num_heads", r".*num_attention_heads", r".*num_value_heads", r".*_n_heads"),
)
ROTARY_DIMENSION = Kind(
    name="rotary dimensions",
    low=4,
    high=16,
    even=True,
    names=_names("qk_rope_head_dim rotary_dim rope_head_dim rotary_ndims rope_dim"),
)
HEAD_DIMENSION = Kind(
    name="dimensions of a head",
    low=5,
    high=17,
    names=_names("head_dim head_size kv_channels d_kv d_head headdim attention_head_dim mamba_headdim"),
    patterns=(r".*_head_dim", r".*_head_size", r".*_d_head"),
)
RANK = Kind(name="rank", low=9, high=31, names=_names("dt_rank"), patterns=(r".*_rank", r".*_rank_dim"))
EXPERT_GROUPS = Kind(name="expert groups", low=2, high=4, names=_names("n_group num_expert_group n_expert_groups"))
CHOSEN_GROUPS = Kind(
    name="expert groups chosen", low=2, high=3, names=_names("topk_group topk_groups n_limited_groups")
)
CHOSEN_EXPERTS = Kind(
    name="experts per token",
    low=2,
    high=4,
    names=_names(
        "num_experts_per_tok num_experts_per_token moe_top_k moe_topk num_selected_experts num_experts_per_tok "
        "n_activated_experts router_top_k experts_per_token"
    ),
)
SHARED_EXPERTS = Kind(
    name="shared experts",
    low=2,
    high=4,
    keep_one=False,
    names=_names("n_shared_experts num_shared_experts moe_num_shared_experts"),
)
# Few, because a loop over the experts that were hit is half of what a mixture runs.
EXPERTS = Kind(
    name="experts",
    low=5,
    high=8,
    names=_names("n_routed_experts num_experts num_local_experts moe_num_experts n_experts num_routed_experts"),
)
GROUPED_EXPERTS = Kind(name="experts in groups", low=9, high=20)
"""Range of the experts where groups of at least three have to divide them; matches no key by itself."""
INTERMEDIATE = Kind(
    name="width of a feed-forward layer",
    low=13,
    high=59,
    names=_names("intermediate_size n_inner ffn_dim d_ff ffn_hidden_size hidden_dim moe_intermediate_size d_inner"),
    patterns=(r".*intermediate_size.*", r".*ffn_dim", r".*ffn_hidden_size"),
)
POSITIONS = Kind(
    name="positions",
    low=101,
    high=191,
    names=_names(
        "max_position_embeddings n_positions n_ctx max_seq_len max_sequence_length seq_length "
        "model_max_length max_seq_length"
    ),
)
WINDOW = Kind(
    name="window",
    low=4,
    high=9,
    names=_names("sliding_window sliding_window_size attention_window window_size local_attention_window_size"),
    patterns=(r".*sliding_window", r".*_window_size"),
)
CHUNK = Kind(
    name="chunk",
    low=4,
    high=9,
    names=_names("chunk_size attention_chunk_size mamba_chunk_size"),
)
SPARSE_CHOICE = Kind(name="positions chosen by a sparse indexer", low=4, high=9, names=_names("index_topk"))
KERNEL = Kind(
    name="convolution kernel",
    low=3,
    high=6,
    names=_names("conv_kernel d_conv conv_size short_conv_kernel_size conv_L_cache"),
    patterns=(r".*conv_kernel.*", r".*_d_conv"),
)
STATE_GROUPS = Kind(name="state groups", low=2, high=3, names=_names("n_groups mamba_n_groups ngroups"))
STATE = Kind(
    name="size of a recurrent state",
    low=6,
    high=17,
    names=_names("state_size d_state ssm_state_size mamba_d_state"),
    patterns=(r".*_d_state", r".*state_size"),
)
OTHER = Kind(
    name="size",
    low=11,
    high=37,
    names=_names("routed_expert_hidden_size"),
    patterns=(r".*hidden_size.*", r".*_dim", r".*_size", r"dim_.*", r"d_[a-z]+", r".*_width", r".*_channels"),
)

KINDS: tuple[Kind, ...] = (
    KEPT,
    VOCABULARY,
    HIDDEN,
    KEY_VALUE_HEADS,
    HEADS,
    ROTARY_DIMENSION,
    KERNEL,
    HEAD_DIMENSION,
    RANK,
    EXPERT_GROUPS,
    CHOSEN_GROUPS,
    CHOSEN_EXPERTS,
    SHARED_EXPERTS,
    EXPERTS,
    INTERMEDIATE,
    POSITIONS,
    WINDOW,
    CHUNK,
    SPARSE_CHOICE,
    STATE_GROUPS,
    STATE,
    OTHER,
)

DEPTH = _names("num_hidden_layers n_layer n_layers num_layers")
"""The count of layers, which no probe changes."""

ZERO_SWITCHES_OFF = frozenset(
    {SHARED_EXPERTS, EXPERTS, CHOSEN_EXPERTS, EXPERT_GROUPS, RANK, INTERMEDIATE, HEAD_DIMENSION, WINDOW, CHUNK, OTHER}
)
"""Kinds for which a published 0 means "not there" rather than an error."""

MINUS_ONE_IS_UNSET = frozenset({WINDOW, CHUNK, OTHER})
"""Kinds for which a published -1 means "no limit"."""

SKIPPED_BRANCHES = _names(
    "quantization_config vision_config audio_config id2label label2id task_specific_params pruned_heads "
    "generation_config auto_map compression_config rope_parameters rope_scaling"
)
"""Nested dictionaries that hold no size of the text model."""


@functools.cache
def kind_of(path: str) -> Kind | None:
    """Kind of the key at a dotted ``path``; ``None`` if nothing matches."""
    if holds_no_size(path):
        return KEPT
    last = path.rsplit(".", 1)[-1]
    return next((kind for kind in KINDS if kind.matches(last)), None)


def flat(configuration: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Flatten a configuration: every value that is no dictionary, by its dotted path."""
    result: dict[str, Any] = {}
    for key, value in configuration.items():
        if isinstance(value, dict):
            result.update(flat(value, f"{prefix}{key}."))
        else:
            result[prefix + key] = value
    return result


def holds_no_size(path: str) -> bool:
    """Whether the key at ``path`` lies in one of :data:`SKIPPED_BRANCHES`."""
    return not SKIPPED_BRANCHES.isdisjoint(path.split(".")[:-1])


def origins_of(values: dict[str, Any], given: dict[str, Any]) -> dict[str, str]:
    """Where each value was written: ``file`` or ``class default``, by dotted path.

    A value counts as the file's if the file has it at that path, or has the same value under the same last name in a
    group that the class calls otherwise (``rope_scaling.factor`` becomes ``rope_parameters.factor``).
    """
    renamed = {(path.rpartition(".")[2], repr(value)) for path, value in given.items() if path not in values}
    return {
        path: "file" if path in given or (path.rpartition(".")[2], repr(value)) in renamed else "class default"
        for path, value in values.items()
    }
