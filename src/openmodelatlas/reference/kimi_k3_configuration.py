"""Configuration of Kimi K3: which published keys the reference model follows, ignores and refuses."""

from __future__ import annotations

from collections import Counter
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

IGNORED_FILE_KEYS = frozenset(
    (
        # What names, packages or stores the model.
        *("architectures", "auto_map", "model_type", "dtype", "torch_dtype", "transformers_version", "_name_or_path"),
        *("quantization_config", "tie_word_embeddings"),
        # Tokens with a special meaning to the tokenizer, the image processor or the generation loop.
        *("bos_token_id", "eos_token_id", "pad_token_id"),
        *("ignore_index", "image_placeholder", "media_placeholder_token_id"),
        # The vision tower is not part of this reference model.
        "vision_config",
    )
)
"""Keys beside ``text_config`` that do not change what the text model computes."""

IGNORED_TEXT_KEYS = frozenset(
    (
        # What names, packages or stores the model.
        *("architectures", "auto_map", "model_type", "dtype", "torch_dtype", "transformers_version", "_name_or_path"),
        *("quantization_config", "torchscript", "use_bfloat16", "pruned_heads", "tokenizer_class"),
        # Tokens with a special meaning to the tokenizer or the generation loop.
        *("bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "decoder_start_token_id"),
        *("forced_bos_token_id", "forced_eos_token_id", "bad_words_ids", "suppress_tokens", "begin_suppress_tokens"),
        # Defaults of the generation loop.
        *("use_cache", "max_length", "min_length", "do_sample", "early_stopping", "num_beams", "num_beam_groups"),
        *("num_return_sequences", "diversity_penalty", "temperature", "top_k", "top_p", "typical_p"),
        *("repetition_penalty", "length_penalty", "exponential_decay_length_penalty", "no_repeat_ngram_size"),
        *("encoder_no_repeat_ngram_size", "remove_invalid_values", "output_scores", "return_dict_in_generate"),
        # Other tasks, encoders and forms of output that the base class of configurations knows.
        *("is_decoder", "is_encoder_decoder", "add_cross_attention", "cross_attention_hidden_size", "prefix"),
        *("tie_encoder_decoder", "chunk_size_feed_forward", "finetuning_task", "task_specific_params", "id2label"),
        *("label2id", "problem_type", "tf_legacy_loss", "return_dict", "output_attentions", "output_hidden_states"),
        # The length the model was trained for; it has no positions.
        "max_position_embeddings",
        # The published code applies the group rule where there is more than one group and does not read this key
        # (llmcompressor 0.14.0.1, kimi_k3/modeling_kimi_linear.py lines 820-844).
        "use_grouped_topk",
    )
)
"""Keys of ``text_config`` that are known and do not change what the model computes."""


class DeltaAttentionConfiguration(msgspec.Struct, frozen=True, kw_only=True):
    """``linear_attn_config``: sizes of Kimi Delta Attention, and which layers have it.

    Attributes:
        kda_layers, full_attn_layers: layer numbers, the first layer being 1.
        num_heads, head_dim: heads, and features of each query, key and value.
        short_conv_kernel_size: positions that a short convolution sees.
        gate_lower_bound: least logarithm of the decay of one step; below zero.
        use_full_rank_gate: whether the output gate is one full matrix.
    """

    kda_layers: tuple[Positive, ...]
    full_attn_layers: tuple[Positive, ...]
    num_heads: Positive
    head_dim: Positive
    short_conv_kernel_size: Positive
    gate_lower_bound: float
    use_full_rank_gate: bool


class KimiK3Configuration(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of the published ``text_config`` that the computation depends on, under their published names.

    Sizes are in elements, counts in pieces.
    """

    vocab_size: Positive
    hidden_size: Positive
    num_hidden_layers: Positive
    rms_norm_eps: PositiveNumber
    initializer_range: PositiveNumber
    tie_word_embeddings: bool
    num_nextn_predict_layers: NonNegative
    attn_res_block_size: Positive

    linear_attn_config: DeltaAttentionConfiguration
    num_attention_heads: Positive
    num_key_value_heads: Positive
    q_lora_rank: Positive
    kv_lora_rank: Positive
    qk_nope_head_dim: Positive
    qk_rope_head_dim: Positive
    v_head_dim: Positive
    mla_use_nope: bool
    mla_use_output_gate: bool

    hidden_act: str
    activation_situ_beta: PositiveNumber
    activation_situ_linear_beta: PositiveNumber
    intermediate_size: Positive
    first_k_dense_replace: NonNegative
    moe_layer_freq: Positive
    moe_intermediate_size: Positive
    routed_expert_hidden_size: Positive
    latent_moe_use_norm: bool
    num_experts: Positive
    num_shared_experts: Positive
    num_experts_per_token: Positive
    num_expert_group: Positive
    topk_group: Positive
    topk_method: str
    moe_router_activation_func: str
    moe_renormalize: bool
    routed_scaling_factor: PositiveNumber

    @classmethod
    def from_published(cls, published: Mapping[str, Any]) -> KimiK3Configuration:
        """Read a published configuration: the whole file, or its ``text_config`` alone.

        Raises:
            ConfigurationError: a key is missing, unknown, absurd, or asks for something this model does not do.
        """
        where = "Kimi K3 configuration"
        if "text_config" in published:
            decode(published, _File, ignored=IGNORED_FILE_KEYS, where=where)
            published = published["text_config"]
            where = f"{where}, text_config"
        delta = published.get("linear_attn_config")
        if isinstance(delta, Mapping):
            decode(delta, DeltaAttentionConfiguration, ignored=(), where=f"{where}, linear_attn_config")
        configuration = decode(published, cls, ignored=IGNORED_TEXT_KEYS, where=where)
        configuration.check()
        return configuration

    def check(self) -> None:
        """Raise a ConfigurationError if the values contradict each other or ask for what this model does not do."""
        fixed = {
            "hidden_act": "situ",
            "moe_router_activation_func": "sigmoid",
            "topk_method": "noaux_tc",
            "mla_use_nope": True,
            "mla_use_output_gate": True,
            "latent_moe_use_norm": True,
            "tie_word_embeddings": False,
            "num_nextn_predict_layers": 0,
        }
        for key, value in fixed.items():
            given = getattr(self, key)
            require(given == value, f"Kimi K3 is written for {value!r}, not {given!r}.", where=key)
        require(
            self.num_key_value_heads == self.num_attention_heads,
            f"Latent attention makes a key and a value for each of its {self.num_attention_heads} heads, not for "
            f"{self.num_key_value_heads}.",
            where="num_key_value_heads",
        )
        delta = self.linear_attn_config
        require(delta.use_full_rank_gate, "Kimi K3 has a full-rank output gate.", where="use_full_rank_gate")
        require(delta.gate_lower_bound < 0, "A decay needs a bound below zero.", where="gate_lower_bound")
        self._check_layers()
        check_expert_choice(
            experts=("num_experts", self.num_experts),
            chosen=("num_experts_per_token", self.num_experts_per_token),
            groups=("num_expert_group", self.num_expert_group),
            kept_groups=("topk_group", self.topk_group),
        )

    def _check_layers(self) -> None:
        """Raise a ConfigurationError unless each layer is in exactly one of the two lists."""
        delta = self.linear_attn_config
        times_listed = Counter((*delta.kda_layers, *delta.full_attn_layers))
        repeated = sorted(layer for layer, times in times_listed.items() if times > 1)
        absent = sorted(set(range(1, self.num_hidden_layers + 1)) - set(times_listed))
        beyond = sorted(layer for layer in times_listed if layer > self.num_hidden_layers)
        where = "linear_attn_config.kda_layers, full_attn_layers"
        require(not repeated, f"Layers are listed twice: {repeated}.", where=where)
        require(not absent, f"Layers are in neither list: {absent}.", where=where)
        require(
            not beyond, f"The model has {self.num_hidden_layers} layers, but these are listed: {beyond}.", where=where
        )
        require(bool(delta.full_attn_layers), "At least one layer has full attention.", where=where)

    def layer_is_linear(self, layer_idx: int) -> bool:
        """Whether layer ``layer_idx`` (from 0) has delta attention instead of latent attention."""
        return layer_idx + 1 in self.linear_attn_config.kda_layers

    def layer_is_sparse(self, layer_idx: int) -> bool:
        """Whether layer ``layer_idx`` (from 0) has experts instead of one dense feed-forward network."""
        return layer_idx >= self.first_k_dense_replace and layer_idx % self.moe_layer_freq == 0


class _File(msgspec.Struct, frozen=True):
    """The whole published file, of which the text model reads one key."""

    text_config: dict[str, Any]
