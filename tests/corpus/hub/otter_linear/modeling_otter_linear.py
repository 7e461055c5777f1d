"""Otter's language model: linear attention, full attention in every fourth layer, residuals that attend over blocks."""

from typing import Any, Optional

import torch
import torch.nn.functional as F
from fla.modules import FusedRMSNormGated, ShortConvolution
from fla.ops.kda import chunk_kda, fused_recurrent_kda
from torch import nn
from transformers.activations import ACT2FN
from transformers.generation import GenerationMixin
from transformers.modeling_attn_mask_utils import AttentionMaskConverter
from transformers.modeling_flash_attention_utils import FlashAttentionKwargs
from transformers.modeling_outputs import BaseModelOutputWithPast, CausalLMOutputWithPast
from transformers.modeling_utils import PreTrainedModel
from transformers.processing_utils import Unpack
from transformers.pytorch_utils import ALL_LAYERNORM_LAYERS
from transformers.utils import TransformersKwargs, logging
from transformers.utils.generic import OutputRecorder

from .configuration_otter import OtterLinearConfig

logger = logging.get_logger(__name__)


class OtterCache:
    """What each layer keeps: keys and values, or the last inputs of its convolutions and its recurrent state."""

    is_compileable = False

    def __init__(self, config: OtterLinearConfig):
        layers = config.num_hidden_layers
        self.full_layers = [index for index in range(layers) if not config.is_kda_layer(index)]
        self.key_cache: list[Optional[torch.Tensor]] = [None] * layers
        self.value_cache: list[Optional[torch.Tensor]] = [None] * layers
        self.conv_states: list[Optional[tuple[torch.Tensor, ...]]] = [None] * layers
        self.recurrent_states: list[Optional[torch.Tensor]] = [None] * layers

    def __len__(self):
        return len(self.key_cache)

    def update(self, key_states, value_states, layer_idx):
        if self.key_cache[layer_idx] is None:
            self.key_cache[layer_idx] = key_states
            self.value_cache[layer_idx] = value_states
        else:
            self.key_cache[layer_idx] = torch.cat([self.key_cache[layer_idx], key_states], dim=2)
            self.value_cache[layer_idx] = torch.cat([self.value_cache[layer_idx], value_states], dim=2)
        return self.key_cache[layer_idx], self.value_cache[layer_idx]

    def get_seq_length(self, layer_idx=None):
        layer_idx = self.full_layers[0] if layer_idx is None else layer_idx
        keys = self.key_cache[layer_idx]
        return 0 if keys is None else keys.shape[-2]


class OtterRMSNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        dtype = x.dtype
        x = x.to(torch.float32)
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * x.to(dtype)


ALL_LAYERNORM_LAYERS.append(OtterRMSNorm)


class OtterMLP(nn.Module):
    def __init__(self, config, width=None):
        super().__init__()
        width = config.intermediate_size if width is None else width
        self.gate_proj = nn.Linear(config.hidden_size, width, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, width, bias=False)
        self.down_proj = nn.Linear(width, config.hidden_size, bias=False)
        self.act_fn = ACT2FN[config.hidden_act]

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


class OtterGate(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.top_k = config.num_experts_per_token
        self.renormalize = config.moe_renormalize
        self.scaling = config.routed_scaling_factor
        self.weight = nn.Parameter(torch.empty(config.num_experts, config.hidden_size))
        self.register_buffer("score_correction", torch.zeros(config.num_experts, dtype=torch.float32))

    def forward(self, rows):
        scores = F.linear(rows.float(), self.weight.float()).sigmoid()
        chosen = (scores + self.score_correction.unsqueeze(0)).topk(self.top_k, dim=-1, sorted=False)[1]
        weights = scores.gather(1, chosen)
        if self.top_k > 1 and self.renormalize:
            weights = weights / (weights.sum(dim=-1, keepdim=True) + 1e-20)
        return chosen, weights * self.scaling


class OtterSparseMoeBlock(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.num_experts = config.num_experts
        self.gate = OtterGate(config)
        self.experts = nn.ModuleList(
            [OtterMLP(config, width=config.moe_intermediate_size) for _ in range(config.num_experts)]
        )
        self.shared_experts = OtterMLP(config, width=config.moe_intermediate_size * config.num_shared_experts)

    def forward(self, hidden_states):
        batch_size, seq_len, hidden_size = hidden_states.shape
        rows = hidden_states.view(-1, hidden_size)
        chosen, weights = self.gate(rows)
        output = torch.zeros_like(rows)
        expert_mask = F.one_hot(chosen, num_classes=self.num_experts).permute(2, 1, 0)
        expert_hit = torch.greater(expert_mask.sum(dim=(-1, -2)), 0).nonzero()
        for expert_idx in expert_hit:
            expert = self.experts[expert_idx.item()]
            slot, token = torch.where(expert_mask[expert_idx].squeeze(0))
            current = expert(rows[None, token].reshape(-1, hidden_size)) * weights[token, slot, None]
            output.index_add_(0, token, current.to(output.dtype))
        output = output + self.shared_experts(rows)
        return output.view(batch_size, seq_len, hidden_size)


class OtterKDA(nn.Module):
    """Kimi Delta Attention with short convolutions, a low-rank decay and a low-rank output gate."""

    def __init__(self, config: OtterLinearConfig, layer_idx: int):
        super().__init__()
        self.layer_idx = layer_idx
        self.num_heads = config.linear_attn_config["num_heads"]
        self.head_dim = config.linear_attn_config["head_dim"]
        self.conv_size = config.linear_attn_config["short_conv_kernel_size"]
        width = self.num_heads * self.head_dim

        self.q_proj = nn.Linear(config.hidden_size, width, bias=False)
        self.k_proj = nn.Linear(config.hidden_size, width, bias=False)
        self.v_proj = nn.Linear(config.hidden_size, width, bias=False)
        self.q_conv1d = ShortConvolution(hidden_size=width, kernel_size=self.conv_size, activation="silu")
        self.k_conv1d = ShortConvolution(hidden_size=width, kernel_size=self.conv_size, activation="silu")
        self.v_conv1d = ShortConvolution(hidden_size=width, kernel_size=self.conv_size, activation="silu")
        self.A_log = nn.Parameter(torch.log(torch.empty(self.num_heads, dtype=torch.float32).uniform_(1, 16)))
        self.dt_bias = nn.Parameter(torch.empty(width, dtype=torch.float32))
        self.f_a_proj = nn.Linear(config.hidden_size, self.head_dim, bias=False)
        self.f_b_proj = nn.Linear(self.head_dim, width, bias=False)
        self.b_proj = nn.Linear(config.hidden_size, self.num_heads, bias=False)
        self.g_a_proj = nn.Linear(config.hidden_size, self.head_dim, bias=False)
        self.g_b_proj = nn.Linear(self.head_dim, width, bias=False)
        self.o_norm = FusedRMSNormGated(self.head_dim, eps=config.rms_norm_eps, activation="sigmoid")
        self.o_proj = nn.Linear(width, config.hidden_size, bias=False)

    def forward(
        self,
        hidden_states: torch.Tensor,
        attention_mask: Optional[torch.Tensor] = None,
        cache_params: Optional[OtterCache] = None,
        **kwargs: Unpack[FlashAttentionKwargs],
    ) -> torch.Tensor:
        batch_size, q_len, _ = hidden_states.shape
        conv_state = (None, None, None)
        recurrent_state = None
        if cache_params is not None and cache_params.conv_states[self.layer_idx] is not None:
            conv_state = cache_params.conv_states[self.layer_idx]
            recurrent_state = cache_params.recurrent_states[self.layer_idx]

        keep = cache_params is not None
        q, q_state = self.q_conv1d(x=self.q_proj(hidden_states), cache=conv_state[0], output_final_state=keep)
        k, k_state = self.k_conv1d(x=self.k_proj(hidden_states), cache=conv_state[1], output_final_state=keep)
        v, v_state = self.v_conv1d(x=self.v_proj(hidden_states), cache=conv_state[2], output_final_state=keep)
        q, k, v = (x.view(batch_size, q_len, self.num_heads, self.head_dim) for x in (q, k, v))
        g = self.f_b_proj(self.f_a_proj(hidden_states)).view(batch_size, q_len, self.num_heads, self.head_dim)
        beta = self.b_proj(hidden_states).float().sigmoid()

        if q_len == 1:
            o, recurrent_state = fused_recurrent_kda(
                q=q,
                k=k,
                v=v,
                g=g,
                beta=beta,
                A_log=self.A_log,
                dt_bias=self.dt_bias,
                initial_state=recurrent_state,
                output_final_state=True,
                use_qk_l2norm_in_kernel=True,
                use_gate_in_kernel=True,
            )
        else:
            o, recurrent_state = chunk_kda(
                q=q,
                k=k,
                v=v,
                g=g,
                beta=beta,
                A_log=self.A_log,
                dt_bias=self.dt_bias,
                initial_state=recurrent_state,
                output_final_state=True,
                use_qk_l2norm_in_kernel=True,
                use_gate_in_kernel=True,
            )
        if cache_params is not None:
            cache_params.recurrent_states[self.layer_idx] = recurrent_state
            cache_params.conv_states[self.layer_idx] = (q_state, k_state, v_state)

        gate = self.g_b_proj(self.g_a_proj(hidden_states)).view(batch_size, q_len, self.num_heads, self.head_dim)
        o = self.o_norm(o, gate)
        return self.o_proj(o.reshape(batch_size, q_len, self.num_heads * self.head_dim))


class OtterAttention(nn.Module):
    """Full attention without positions, whose output is gated."""

    def __init__(self, config: OtterLinearConfig, layer_idx: int):
        super().__init__()
        self.layer_idx = layer_idx
        self.num_heads = config.num_attention_heads
        self.num_key_value_heads = config.num_key_value_heads
        self.num_key_value_groups = self.num_heads // self.num_key_value_heads
        self.head_dim = config.head_dim
        self.scaling = self.head_dim**-0.5
        self.q_proj = nn.Linear(config.hidden_size, self.num_heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(config.hidden_size, self.num_key_value_heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(config.hidden_size, self.num_key_value_heads * self.head_dim, bias=False)
        self.g_proj = nn.Linear(config.hidden_size, self.num_heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(self.num_heads * self.head_dim, config.hidden_size, bias=False)

    def forward(
        self,
        hidden_states: torch.Tensor,
        attention_mask: Optional[torch.Tensor] = None,
        past_key_values: Optional[OtterCache] = None,
        **kwargs: Unpack[FlashAttentionKwargs],
    ) -> torch.Tensor:
        batch_size, q_len, _ = hidden_states.shape
        q = self.q_proj(hidden_states).view(batch_size, q_len, -1, self.head_dim).transpose(1, 2)
        k = self.k_proj(hidden_states).view(batch_size, q_len, -1, self.head_dim).transpose(1, 2)
        v = self.v_proj(hidden_states).view(batch_size, q_len, -1, self.head_dim).transpose(1, 2)
        if past_key_values is not None:
            k, v = past_key_values.update(k, v, self.layer_idx)
        k = k.repeat_interleave(self.num_key_value_groups, dim=1)
        v = v.repeat_interleave(self.num_key_value_groups, dim=1)
        scores = torch.matmul(q, k.transpose(2, 3)) * self.scaling
        if attention_mask is not None:
            scores = scores + attention_mask
        weights = F.softmax(scores, dim=-1, dtype=torch.float32).to(q.dtype)
        output = torch.matmul(weights, v).transpose(1, 2).reshape(batch_size, q_len, -1)
        output = output * torch.sigmoid(self.g_proj(hidden_states))
        return self.o_proj(output)


def mix_blocks(running_sum, stored, proj, norm):
    """Attends, feature vector by feature vector, over the stored sums of earlier blocks and the running one."""
    candidates = torch.cat([stored, running_sum.unsqueeze(1)], dim=1)
    scores = proj(norm(candidates)).squeeze(-1)
    weights = torch.softmax(scores.float(), dim=-1).to(candidates.dtype)
    return torch.einsum("nb,nbd->nd", weights, candidates)


class OtterDecoderLayer(nn.Module):
    def __init__(self, config: OtterLinearConfig, layer_idx: int):
        super().__init__()
        self.layer_idx = layer_idx
        self.hidden_size = config.hidden_size
        self.block_size = config.attn_res_block_size
        self.is_linear_attn = config.is_kda_layer(layer_idx)
        self.self_attn = OtterKDA(config, layer_idx) if self.is_linear_attn else OtterAttention(config, layer_idx)
        if config.num_experts is not None and layer_idx >= config.first_k_dense_replace:
            self.block_sparse_moe = OtterSparseMoeBlock(config)
        else:
            self.mlp = OtterMLP(config)
        self.input_layernorm = OtterRMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.post_attention_layernorm = OtterRMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.attention_res_norm = OtterRMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.attention_res_proj = nn.Linear(config.hidden_size, 1, bias=False)
        self.mlp_res_norm = OtterRMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.mlp_res_proj = nn.Linear(config.hidden_size, 1, bias=False)

    def forward(
        self,
        hidden_states: torch.Tensor,
        block_residual: torch.Tensor,
        attention_mask: Optional[torch.Tensor] = None,
        past_key_values: Optional[OtterCache] = None,
        **kwargs: Unpack[FlashAttentionKwargs],
    ):
        batch_size, seq_len, hidden_size = hidden_states.shape
        prefix_sum = hidden_states

        if block_residual.shape[1] > 0:
            hidden_states = mix_blocks(
                prefix_sum.view(-1, hidden_size), block_residual, self.attention_res_proj, self.attention_res_norm
            ).view(batch_size, seq_len, hidden_size)

        if self.layer_idx % self.block_size == 0:
            block_residual = torch.cat([block_residual, prefix_sum.view(-1, hidden_size).unsqueeze(1)], dim=1)
            prefix_sum = None

        hidden_states = self.input_layernorm(hidden_states)
        if self.is_linear_attn is False:
            hidden_states = self.self_attn(
                hidden_states=hidden_states, attention_mask=attention_mask, past_key_values=past_key_values, **kwargs
            )
        else:
            hidden_states = self.self_attn(
                hidden_states=hidden_states, attention_mask=attention_mask, cache_params=past_key_values, **kwargs
            )

        if prefix_sum is not None:
            prefix_sum = prefix_sum + hidden_states
        else:
            prefix_sum = hidden_states

        hidden_states = mix_blocks(
            prefix_sum.view(-1, hidden_size), block_residual, self.mlp_res_proj, self.mlp_res_norm
        ).view(batch_size, seq_len, hidden_size)
        hidden_states = self.post_attention_layernorm(hidden_states)
        if hasattr(self, "block_sparse_moe"):
            hidden_states = self.block_sparse_moe(hidden_states)
        else:
            hidden_states = self.mlp(hidden_states)
        return prefix_sum + hidden_states, block_residual


class OtterPreTrainedModel(PreTrainedModel):
    config_class = OtterLinearConfig
    base_model_prefix = "model"
    supports_gradient_checkpointing = True
    _no_split_modules = ["OtterDecoderLayer"]
    _skip_keys_device_placement = "past_key_values"
    _supports_flash_attn = True
    _can_record_outputs = {"router_logits": OutputRecorder(OtterGate, index=1), "hidden_states": OtterDecoderLayer}
    _is_stateful = True

    def _init_weights(self, module):
        std = self.config.initializer_range
        if isinstance(module, (nn.Linear, nn.Embedding)):
            module.weight.data.normal_(mean=0.0, std=std)


class OtterLinearModel(OtterPreTrainedModel):
    def __init__(self, config: OtterLinearConfig):
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size, config.pad_token_id)
        self.layers = nn.ModuleList([OtterDecoderLayer(config, index) for index in range(config.num_hidden_layers)])
        self.output_res_norm = OtterRMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.output_res_proj = nn.Linear(config.hidden_size, 1, bias=False)
        self.norm = OtterRMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.causal = AttentionMaskConverter(is_causal=True)
        self.post_init()

    def get_input_embeddings(self):
        return self.embed_tokens

    def forward(
        self,
        input_ids: Optional[torch.LongTensor] = None,
        attention_mask: Optional[torch.Tensor] = None,
        past_key_values: Optional[OtterCache] = None,
        inputs_embeds: Optional[torch.FloatTensor] = None,
        use_cache: Optional[bool] = None,
        **kwargs: Unpack[TransformersKwargs],
    ) -> BaseModelOutputWithPast:
        use_cache = self.config.use_cache if use_cache is None else use_cache
        if inputs_embeds is None:
            inputs_embeds = self.embed_tokens(input_ids)
        if use_cache and past_key_values is None:
            past_key_values = OtterCache(self.config)
        batch_size, seq_len, hidden_size = inputs_embeds.shape
        past_length = 0 if past_key_values is None else past_key_values.get_seq_length()
        causal_mask = self.causal.to_causal_4d(
            batch_size, seq_len, seq_len + past_length, dtype=inputs_embeds.dtype, device=inputs_embeds.device
        )

        hidden_states = inputs_embeds
        block_residual = inputs_embeds.new_empty(batch_size * seq_len, 0, hidden_size)
        for decoder_layer in self.layers:
            mask = attention_mask if decoder_layer.is_linear_attn else causal_mask
            hidden_states, block_residual = decoder_layer(
                hidden_states,
                block_residual,
                attention_mask=mask,
                past_key_values=past_key_values,
                **kwargs,
            )
        hidden_states = mix_blocks(
            hidden_states.view(-1, hidden_size), block_residual, self.output_res_proj, self.output_res_norm
        ).view(batch_size, seq_len, hidden_size)
        hidden_states = self.norm(hidden_states)
        return BaseModelOutputWithPast(
            last_hidden_state=hidden_states, past_key_values=past_key_values if use_cache else None
        )


class OtterLinearForCausalLM(OtterPreTrainedModel, GenerationMixin):
    _tied_weights_keys = ["lm_head.weight"]

    def __init__(self, config):
        super().__init__(config)
        self.model = OtterLinearModel(config)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    def get_input_embeddings(self):
        return self.model.embed_tokens

    def get_output_embeddings(self):
        return self.lm_head

    def forward(
        self,
        input_ids: Optional[torch.LongTensor] = None,
        attention_mask: Optional[torch.Tensor] = None,
        past_key_values: Optional[OtterCache] = None,
        inputs_embeds: Optional[torch.FloatTensor] = None,
        labels: Optional[torch.LongTensor] = None,
        use_cache: Optional[bool] = None,
        logits_to_keep: Any = 0,
        **kwargs: Unpack[TransformersKwargs],
    ) -> CausalLMOutputWithPast:
        outputs = self.model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            past_key_values=past_key_values,
            inputs_embeds=inputs_embeds,
            use_cache=use_cache,
            **kwargs,
        )
        kept = slice(-logits_to_keep, None) if isinstance(logits_to_keep, int) else logits_to_keep
        logits = self.lm_head(outputs.last_hidden_state[:, kept, :])
        loss = None
        if labels is not None:
            loss = self.loss_function(logits=logits, labels=labels, vocab_size=self.config.vocab_size, **kwargs)
        return CausalLMOutputWithPast(loss=loss, logits=logits, past_key_values=outputs.past_key_values)
