"""Configuration of Kimi K2: which published keys the reference model follows, ignores and refuses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from openmodelatlas.reference.configuration import (
    NonNegative,
    Positive,
    PositiveNumber,
    check_expert_choice,
    decode,
    require,
)

IGNORED_KEYS = frozenset(
    (
        # What names, packages or stores the model.
        *("architectures", "auto_map", "model_type", "torch_dtype", "dtype", "transformers_version", "_name_or_path"),
        "quantization_config",
        # Tokens with a special meaning to the tokenizer or the generation loop, and a default of that loop.
        *("bos_token_id", "eos_token_id", "pad_token_id", "use_cache"),
        # Training only.
        *("attention_dropout", "aux_loss_alpha", "seq_aux", "pretraining_tp"),
        # The length the model was trained for; no table of positions depends on it.
        "max_position_embeddings",
    )
)
"""Published keys that are known and do not change what the model computes."""


class YarnScaling(msgspec.Struct, frozen=True, kw_only=True):
    """``rope_scaling``: YaRN, which stretches the rotary frequencies to longer contexts (arXiv 2309.00071).

    Attributes:
        type: ``yarn``.
        factor: how many times longer the context gets.
        original_max_position_embeddings: length of the contexts before stretching, in positions.
        beta_fast, beta_slow: rotations over the original context above which a frequency is kept, below which it is
            divided by ``factor``.
        mscale, mscale_all_dim: weights of the two temperature corrections.
    """

    type: str
    factor: PositiveNumber
    original_max_position_embeddings: Positive
    beta_fast: PositiveNumber
    beta_slow: PositiveNumber
    mscale: float
    mscale_all_dim: float


class KimiK2Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of the published ``config.json`` that the computation depends on, under their published names.

    Sizes are in elements, counts in pieces. ``rope_scaling`` is ``None`` for a model without YaRN.
    """

    vocab_size: Positive
    hidden_size: Positive
    num_hidden_layers: Positive
    rms_norm_eps: PositiveNumber
    initializer_range: PositiveNumber
    tie_word_embeddings: bool

    num_attention_heads: Positive
    num_key_value_heads: Positive
    q_lora_rank: Positive
    kv_lora_rank: Positive
    qk_nope_head_dim: Positive
    qk_rope_head_dim: Positive
    v_head_dim: Positive
    attention_bias: bool
    rope_theta: PositiveNumber
    rope_scaling: YarnScaling | None

    hidden_act: str
    intermediate_size: Positive
    first_k_dense_replace: NonNegative
    moe_layer_freq: Positive
    moe_intermediate_size: Positive
    n_routed_experts: Positive
    n_shared_experts: Positive
    num_experts_per_tok: Positive
    n_group: Positive
    topk_group: Positive
    topk_method: str
    scoring_func: str
    norm_topk_prob: bool
    routed_scaling_factor: PositiveNumber
    num_nextn_predict_layers: NonNegative

    @classmethod
    def from_published(cls, published: Mapping[str, Any]) -> KimiK2Configuration:
        """Read a published configuration.

        Raises:
            ConfigurationError: a key is missing, unknown, absurd, or asks for something this model does not do.
        """
        where = "Kimi K2 configuration"
        scaling = published.get("rope_scaling")
        if isinstance(scaling, Mapping):
            yarn = decode(scaling, YarnScaling, ignored=(), where=f"{where}, rope_scaling")
            published = {**published, "rope_scaling": msgspec.to_builtins(yarn)}
        configuration = decode(published, cls, ignored=IGNORED_KEYS, where=where)
        configuration.check()
        return configuration

    def check(self) -> None:
        """Raise a ConfigurationError if the values contradict each other or ask for what this model does not do."""
        fixed = {
            "hidden_act": "silu",
            "scoring_func": "sigmoid",
            "topk_method": "noaux_tc",
            "attention_bias": False,
            "tie_word_embeddings": False,
            "num_nextn_predict_layers": 0,
        }
        for key, value in fixed.items():
            require(
                getattr(self, key) == value, f"Kimi K2 is written for {value!r}, not {getattr(self, key)!r}.", where=key
            )
        require(
            self.rope_scaling is None or self.rope_scaling.type == "yarn",
            "Rotary positions are stretched by YaRN or not at all.",
            where="rope_scaling.type",
        )
        require(
            self.qk_rope_head_dim % 2 == 0,
            f"Rotary positions turn pairs of features, but {self.qk_rope_head_dim} is odd.",
            where="qk_rope_head_dim",
        )
        require(
            self.num_key_value_heads == self.num_attention_heads,
            f"Latent attention makes a key and a value for each of its {self.num_attention_heads} heads, not for "
            f"{self.num_key_value_heads}.",
            where="num_key_value_heads",
        )
        check_expert_choice(
            experts=("n_routed_experts", self.n_routed_experts),
            chosen=("num_experts_per_tok", self.num_experts_per_tok),
            groups=("n_group", self.n_group),
            kept_groups=("topk_group", self.topk_group),
        )

    def layer_is_sparse(self, layer_idx: int) -> bool:
        """Whether layer ``layer_idx`` (from 0) has experts instead of one dense feed-forward network."""
        return layer_idx >= self.first_k_dense_replace and layer_idx % self.moe_layer_freq == 0
