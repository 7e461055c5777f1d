"""Configurations of Otter: a picture encoder around a hybrid of linear and full attention."""

from transformers.configuration_utils import PretrainedConfig


class OtterLinearConfig(PretrainedConfig):
    """The language model. Layers are listed from 1 in ``linear_attn_config``."""

    model_type = "otter_linear"
    keys_to_ignore_at_inference = ["past_key_values"]

    def __init__(
        self,
        vocab_size=163840,
        hidden_size=2304,
        intermediate_size=9216,
        moe_intermediate_size=1024,
        num_hidden_layers=24,
        num_attention_heads=24,
        num_key_value_heads=None,
        head_dim=None,
        num_experts=None,
        num_experts_per_token=None,
        num_shared_experts=0,
        moe_renormalize=True,
        routed_scaling_factor=1.0,
        first_k_dense_replace=0,
        attn_res_block_size=6,
        linear_attn_config=None,
        hidden_act="silu",
        rms_norm_eps=1e-5,
        initializer_range=0.02,
        use_cache=True,
        pad_token_id=None,
        bos_token_id=163584,
        eos_token_id=163585,
        tie_word_embeddings=False,
        **kwargs,
    ):
        self.vocab_size = vocab_size
        self.hidden_size = hidden_size
        self.intermediate_size = intermediate_size
        self.moe_intermediate_size = moe_intermediate_size
        self.num_hidden_layers = num_hidden_layers
        self.num_attention_heads = num_attention_heads
        self.num_key_value_heads = num_attention_heads if num_key_value_heads is None else num_key_value_heads
        self.head_dim = hidden_size // num_attention_heads if head_dim is None else head_dim
        self.num_experts = num_experts
        self.num_experts_per_token = num_experts_per_token
        self.num_shared_experts = num_shared_experts
        self.moe_renormalize = moe_renormalize
        self.routed_scaling_factor = routed_scaling_factor
        self.first_k_dense_replace = first_k_dense_replace
        self.attn_res_block_size = attn_res_block_size
        if linear_attn_config is not None and "kda_layers" not in linear_attn_config:
            raise ValueError("linear_attn_config must list its kda_layers")
        self.linear_attn_config = linear_attn_config
        self.hidden_act = hidden_act
        self.rms_norm_eps = rms_norm_eps
        self.initializer_range = initializer_range
        self.use_cache = use_cache
        super().__init__(
            pad_token_id=pad_token_id,
            bos_token_id=bos_token_id,
            eos_token_id=eos_token_id,
            tie_word_embeddings=tie_word_embeddings,
            **kwargs,
        )

    def is_kda_layer(self, layer_idx):
        return self.linear_attn_config is not None and layer_idx + 1 in self.linear_attn_config["kda_layers"]


class OtterConfig(PretrainedConfig):
    """The whole model: ``text_config`` and ``vision_config``."""

    model_type = "otter"

    def __init__(self, text_config=None, vision_config=None, **kwargs):
        text_config = {} if text_config is None else text_config
        self.text_config = OtterLinearConfig(**text_config) if isinstance(text_config, dict) else text_config
        self.vision_config = {} if vision_config is None else vision_config
        super().__init__(**kwargs)
