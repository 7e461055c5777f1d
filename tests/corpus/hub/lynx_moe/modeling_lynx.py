"""Lynx MoE: latent attention, one dense block, then blocks of routed experts. Written for transformers 4.48."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn
from transformers.activations import ACT2FN
from transformers.cache_utils import Cache, DynamicCache
from transformers.modeling_attn_mask_utils import _prepare_4d_causal_attention_mask
from transformers.modeling_outputs import BaseModelOutputWithPast, CausalLMOutputWithPast
from transformers.modeling_utils import PreTrainedModel
from transformers.pytorch_utils import ALL_LAYERNORM_LAYERS, is_torch_greater_or_equal_than_1_13
from transformers.utils import is_flash_attn_2_available, is_flash_attn_greater_or_equal_2_10, logging
from transformers.utils.import_utils import is_torch_fx_available

from .configuration_lynx import LynxMoEConfig

if is_flash_attn_2_available():
    from flash_attn import flash_attn_func

if is_torch_fx_available():
    if not is_torch_greater_or_equal_than_1_13:
        import torch.fx

    _prepare_4d_causal_attention_mask = torch.fx.wrap(_prepare_4d_causal_attention_mask)

logger = logging.get_logger(__name__)


class LynxRMSNorm(nn.Module):
    def __init__(self, width, eps=1e-6):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x):
        dtype = x.dtype
        x = x.float()
        x = x * torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + self.eps)
        return self.weight * x.to(dtype)


ALL_LAYERNORM_LAYERS.append(LynxRMSNorm)


class LynxRotaryTable(nn.Module):
    """Cosines and sines of every position, made once and cut to the length that is needed."""

    def __init__(self, dim, max_position_embeddings=2048, base=10000.0):
        super().__init__()
        self.dim = dim
        self.base = base
        inv_freq = base ** (-torch.arange(0, dim, 2, dtype=torch.float32) / dim)
        self.register_buffer("inv_freq", inv_freq, persistent=False)
        self._fill(max_position_embeddings)

    def _fill(self, length):
        self.filled = length
        angles = torch.outer(torch.arange(length, dtype=torch.float32, device=self.inv_freq.device), self.inv_freq)
        angles = torch.cat([angles, angles], dim=-1)
        self.register_buffer("cos_table", angles.cos(), persistent=False)
        self.register_buffer("sin_table", angles.sin(), persistent=False)

    def forward(self, x, length):
        if length > self.filled:
            self._fill(length)
        return self.cos_table[:length].to(x.dtype), self.sin_table[:length].to(x.dtype)


def swap_halves(x):
    first, second = x.chunk(2, dim=-1)
    return torch.cat((-second, first), dim=-1)


def rotate(q, k, cos, sin, position_ids):
    """Rotates neighbouring pairs: even elements are brought before odd ones first."""
    cos = cos[position_ids].unsqueeze(1)
    sin = sin[position_ids].unsqueeze(1)

    b, h, t, d = q.shape
    q = q.view(b, h, t, d // 2, 2).transpose(4, 3).reshape(b, h, t, d)
    b, h, t, d = k.shape
    k = k.view(b, h, t, d // 2, 2).transpose(4, 3).reshape(b, h, t, d)

    return q * cos + swap_halves(q) * sin, k * cos + swap_halves(k) * sin


class LynxMLP(nn.Module):
    def __init__(self, config, width=None):
        super().__init__()
        width = config.intermediate_size if width is None else width
        self.gate_proj = nn.Linear(config.hidden_size, width, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, width, bias=False)
        self.down_proj = nn.Linear(width, config.hidden_size, bias=False)
        self.act_fn = ACT2FN[config.hidden_act]

    def forward(self, x):
        return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))


class LynxRouter(nn.Module):
    """Chooses experts by biased scores within the best groups and weighs them by the unbiased ones."""

    def __init__(self, config):
        super().__init__()
        self.top_k = config.num_experts_per_tok
        self.n_experts = config.n_routed_experts
        self.n_group = config.n_group
        self.topk_group = config.topk_group
        self.normalise = config.norm_topk_prob
        self.scaling = config.routed_scaling_factor
        self.weight = nn.Parameter(torch.empty(self.n_experts, config.hidden_size))
        self.score_bias = nn.Parameter(torch.empty(self.n_experts))
        nn.init.kaiming_uniform_(self.weight, a=math.sqrt(5))

    def forward(self, hidden_states):
        batch, length, width = hidden_states.shape
        rows = hidden_states.view(-1, width)
        scores = F.linear(rows.float(), self.weight.float(), None).sigmoid()

        biased = scores.view(batch * length, -1) + self.score_bias.unsqueeze(0)
        of_group = biased.view(batch * length, self.n_group, -1).topk(2, dim=-1)[0].sum(dim=-1)
        chosen_groups = torch.topk(of_group, k=self.topk_group, dim=-1, sorted=False)[1]
        group_mask = torch.zeros_like(of_group)
        group_mask.scatter_(1, chosen_groups, 1)
        mask = (
            group_mask.unsqueeze(-1)
            .expand(batch * length, self.n_group, self.n_experts // self.n_group)
            .reshape(batch * length, -1)
        )
        allowed = biased.masked_fill(~mask.bool(), float("-inf"))
        topk_ids = torch.topk(allowed, k=self.top_k, dim=-1, sorted=False)[1]

        topk_weight = scores.gather(1, topk_ids)
        if self.top_k > 1 and self.normalise:
            topk_weight = topk_weight / (topk_weight.sum(dim=-1, keepdim=True) + 1e-20)
        return topk_ids, topk_weight * self.scaling


class LynxMoE(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.top_k = config.num_experts_per_tok
        self.experts = nn.ModuleList(
            [LynxMLP(config, width=config.moe_intermediate_size) for _ in range(config.n_routed_experts)]
        )
        self.gate = LynxRouter(config)
        if config.n_shared_experts is not None:
            self.shared_experts = LynxMLP(config, width=config.moe_intermediate_size * config.n_shared_experts)
        else:
            self.shared_experts = None

    def forward(self, hidden_states):
        identity = hidden_states
        shape = hidden_states.shape
        topk_ids, topk_weight = self.gate(hidden_states)
        hidden_states = hidden_states.view(-1, shape[-1])
        if not self.training:
            y = self.infer(hidden_states, topk_ids, topk_weight).view(*shape)
        else:
            raise NotImplementedError("the published code does not train")
        if self.shared_experts is not None:
            y = y + self.shared_experts(identity)
        return y

    @torch.no_grad()
    def infer(self, x, topk_ids, topk_weight):
        """Sorts the tokens by expert, runs each expert on its slice, and puts the results back."""
        counts = topk_ids.new_zeros((topk_ids.shape[0], len(self.experts)))
        counts.scatter_(1, topk_ids, 1)
        tokens_per_expert = counts.sum(dim=0)
        order = topk_ids.view(-1).argsort()
        sorted_tokens = x[order // topk_ids.shape[1]]
        tokens_per_expert = tokens_per_expert.cpu().numpy()
        ends = np.cumsum(tokens_per_expert)

        outputs = []
        for index, num_tokens in enumerate(tokens_per_expert):
            if num_tokens == 0:
                continue
            expert = self.experts[index]
            mine = sorted_tokens[ends[index] - num_tokens : ends[index]]
            outputs.append(expert(mine))

        stacked = torch.cat(outputs, dim=0) if outputs else sorted_tokens.new_empty(0)
        scattered = torch.empty_like(stacked)
        scattered[order] = stacked
        return (
            scattered.view(*topk_ids.shape, -1)
            .type(topk_weight.dtype)
            .mul_(topk_weight.unsqueeze(dim=-1))
            .sum(dim=1)
            .type(scattered.dtype)
        )


class LynxAttention(nn.Module):
    """Keys and values come out of one latent vector a token; a rotated part of the key is shared by all heads."""

    def __init__(self, config: LynxMoEConfig, layer_idx: int | None = None):
        super().__init__()
        self.config = config
        self.layer_idx = layer_idx
        self.num_heads = config.num_attention_heads
        self.nope_dim = config.qk_nope_head_dim
        self.rope_dim = config.qk_rope_head_dim
        self.q_head_dim = config.qk_nope_head_dim + config.qk_rope_head_dim
        self.v_head_dim = config.v_head_dim
        self.kv_lora_rank = config.kv_lora_rank
        self.dropout = config.attention_dropout
        bias = config.attention_bias

        if config.q_lora_rank is None:
            self.q_proj = nn.Linear(config.hidden_size, self.num_heads * self.q_head_dim, bias=False)
        else:
            self.q_a_proj = nn.Linear(config.hidden_size, config.q_lora_rank, bias=bias)
            self.q_a_layernorm = LynxRMSNorm(config.q_lora_rank)
            self.q_b_proj = nn.Linear(config.q_lora_rank, self.num_heads * self.q_head_dim, bias=False)
        self.kv_a_proj_with_mqa = nn.Linear(config.hidden_size, config.kv_lora_rank + self.rope_dim, bias=bias)
        self.kv_a_layernorm = LynxRMSNorm(config.kv_lora_rank)
        self.kv_b_proj = nn.Linear(config.kv_lora_rank, self.num_heads * (self.nope_dim + self.v_head_dim), bias=False)
        self.o_proj = nn.Linear(self.num_heads * self.v_head_dim, config.hidden_size, bias=bias)
        self.rotary_emb = LynxRotaryTable(
            self.rope_dim, max_position_embeddings=config.max_position_embeddings, base=config.rope_theta
        )
        self.softmax_scale = self.q_head_dim**-0.5

    def forward(
        self,
        hidden_states: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        position_ids: torch.LongTensor | None = None,
        past_key_value: Cache | None = None,
        output_attentions: bool = False,
        use_cache: bool = False,
        **kwargs,
    ) -> tuple[torch.Tensor, torch.Tensor | None, Cache | None]:
        bsz, q_len, _ = hidden_states.size()

        if self.config.q_lora_rank is None:
            q = self.q_proj(hidden_states)
        else:
            q = self.q_b_proj(self.q_a_layernorm(self.q_a_proj(hidden_states)))
        q = q.view(bsz, q_len, self.num_heads, self.q_head_dim).transpose(1, 2)
        q_nope, q_pe = torch.split(q, [self.nope_dim, self.rope_dim], dim=-1)

        latent = self.kv_a_proj_with_mqa(hidden_states)
        latent, k_pe = torch.split(latent, [self.kv_lora_rank, self.rope_dim], dim=-1)
        k_pe = k_pe.view(bsz, q_len, 1, self.rope_dim).transpose(1, 2)
        kv = self.kv_b_proj(self.kv_a_layernorm(latent))
        kv = kv.view(bsz, q_len, self.num_heads, self.nope_dim + self.v_head_dim).transpose(1, 2)
        k_nope, value_states = torch.split(kv, [self.nope_dim, self.v_head_dim], dim=-1)

        kv_seq_len = value_states.shape[-2]
        if past_key_value is not None:
            if self.layer_idx is None:
                raise ValueError("a layer that keeps a cache needs its number")
            kv_seq_len += past_key_value.get_usable_length(kv_seq_len, self.layer_idx)
        cos, sin = self.rotary_emb(value_states, kv_seq_len)
        q_pe, k_pe = rotate(q_pe, k_pe, cos, sin, position_ids)

        query_states = k_pe.new_empty(bsz, self.num_heads, q_len, self.q_head_dim)
        query_states[:, :, :, : self.nope_dim] = q_nope
        query_states[:, :, :, self.nope_dim :] = q_pe
        key_states = k_pe.new_empty(bsz, self.num_heads, q_len, self.q_head_dim)
        key_states[:, :, :, : self.nope_dim] = k_nope
        key_states[:, :, :, self.nope_dim :] = k_pe
        if past_key_value is not None:
            key_states, value_states = past_key_value.update(
                key_states, value_states, self.layer_idx, {"sin": sin, "cos": cos}
            )

        scores = torch.matmul(query_states, key_states.transpose(2, 3)) * self.softmax_scale
        if attention_mask is not None:
            scores = scores + attention_mask
        weights = F.softmax(scores, dim=-1, dtype=torch.float32).to(query_states.dtype)
        weights = F.dropout(weights, p=self.dropout, training=self.training)
        output = torch.matmul(weights, value_states)
        output = output.transpose(1, 2).contiguous().reshape(bsz, q_len, self.num_heads * self.v_head_dim)
        output = self.o_proj(output)
        if not output_attentions:
            weights = None
        return output, weights, past_key_value


class LynxFlashAttention(LynxAttention):
    """Chosen by ``attn_implementation="flash_attention_2"`` only."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._mask_is_top_left = not is_flash_attn_greater_or_equal_2_10()

    def attend(self, q, k, v):
        return flash_attn_func(q, k, v, softmax_scale=self.softmax_scale, causal=not self._mask_is_top_left)


ATTENTION_CLASSES = {"eager": LynxAttention, "flash_attention_2": LynxFlashAttention}


class LynxDecoderLayer(nn.Module):
    def __init__(self, config: LynxMoEConfig, layer_idx: int):
        super().__init__()
        self.hidden_size = config.hidden_size
        self.self_attn = ATTENTION_CLASSES[config._attn_implementation](config=config, layer_idx=layer_idx)
        self.mlp = (
            LynxMoE(config)
            if (
                config.n_routed_experts is not None
                and layer_idx >= config.first_k_dense_replace
                and layer_idx % config.moe_layer_freq == 0
            )
            else LynxMLP(config)
        )
        self.input_layernorm = LynxRMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.post_attention_layernorm = LynxRMSNorm(config.hidden_size, eps=config.rms_norm_eps)

    def forward(
        self,
        hidden_states: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        position_ids: torch.LongTensor | None = None,
        past_key_value: Cache | None = None,
        output_attentions: bool | None = False,
        use_cache: bool | None = False,
        **kwargs,
    ):
        residual = hidden_states
        hidden_states = self.input_layernorm(hidden_states)
        hidden_states, self_attn_weights, present_key_value = self.self_attn(
            hidden_states=hidden_states,
            attention_mask=attention_mask,
            position_ids=position_ids,
            past_key_value=past_key_value,
            output_attentions=output_attentions,
            use_cache=use_cache,
            **kwargs,
        )
        hidden_states = residual + hidden_states

        residual = hidden_states
        hidden_states = self.post_attention_layernorm(hidden_states)
        hidden_states = self.mlp(hidden_states)
        hidden_states = residual + hidden_states

        outputs = (hidden_states,)
        if output_attentions:
            outputs += (self_attn_weights,)
        if use_cache:
            outputs += (present_key_value,)
        return outputs


class LynxPreTrainedModel(PreTrainedModel):
    config_class = LynxMoEConfig
    base_model_prefix = "model"
    _no_split_modules = ["LynxDecoderLayer"]
    _skip_keys_device_placement = "past_key_values"
    _supports_flash_attn_2 = True
    _supports_cache_class = True

    def _init_weights(self, module):
        std = self.config.initializer_range
        if isinstance(module, (nn.Linear, nn.Embedding)):
            module.weight.data.normal_(mean=0.0, std=std)
            if getattr(module, "bias", None) is not None:
                module.bias.data.zero_()


class LynxMoEModel(LynxPreTrainedModel):
    def __init__(self, config: LynxMoEConfig):
        super().__init__(config)
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size, config.pad_token_id)
        self.layers = nn.ModuleList([LynxDecoderLayer(config, index) for index in range(config.num_hidden_layers)])
        self.norm = LynxRMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.post_init()

    def get_input_embeddings(self):
        return self.embed_tokens

    def forward(
        self,
        input_ids: torch.LongTensor = None,
        attention_mask: torch.Tensor | None = None,
        position_ids: torch.LongTensor | None = None,
        past_key_values: Cache | tuple | None = None,
        inputs_embeds: torch.FloatTensor | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
    ) -> tuple | BaseModelOutputWithPast:
        use_cache = self.config.use_cache if use_cache is None else use_cache
        return_dict = self.config.use_return_dict if return_dict is None else return_dict
        if (input_ids is None) == (inputs_embeds is None):
            raise ValueError("give either input_ids or inputs_embeds")
        batch_size, seq_length = (input_ids if input_ids is not None else inputs_embeds).shape[:2]

        past_length = 0
        use_legacy_cache = False
        if use_cache:
            use_legacy_cache = not isinstance(past_key_values, Cache)
            if use_legacy_cache:
                past_key_values = DynamicCache.from_legacy_cache(past_key_values)
            past_length = past_key_values.get_usable_length(seq_length)
        if position_ids is None:
            device = input_ids.device if input_ids is not None else inputs_embeds.device
            position_ids = torch.arange(past_length, seq_length + past_length, dtype=torch.long, device=device)
            position_ids = position_ids.unsqueeze(0)
        if inputs_embeds is None:
            inputs_embeds = self.embed_tokens(input_ids)
        attention_mask = _prepare_4d_causal_attention_mask(
            attention_mask, (batch_size, seq_length), inputs_embeds, past_length
        )

        hidden_states = inputs_embeds
        all_hidden_states = () if output_hidden_states else None
        next_decoder_cache = None
        for decoder_layer in self.layers:
            if output_hidden_states:
                all_hidden_states += (hidden_states,)
            layer_outputs = decoder_layer(
                hidden_states,
                attention_mask=attention_mask,
                position_ids=position_ids,
                past_key_value=past_key_values,
                output_attentions=output_attentions,
                use_cache=use_cache,
            )
            hidden_states = layer_outputs[0]
            if use_cache:
                next_decoder_cache = layer_outputs[2 if output_attentions else 1]
        hidden_states = self.norm(hidden_states)

        next_cache = None
        if use_cache:
            next_cache = next_decoder_cache.to_legacy_cache() if use_legacy_cache else next_decoder_cache
        if not return_dict:
            return tuple(value for value in (hidden_states, next_cache, all_hidden_states) if value is not None)
        return BaseModelOutputWithPast(
            last_hidden_state=hidden_states, past_key_values=next_cache, hidden_states=all_hidden_states
        )


class LynxMoEForCausalLM(LynxPreTrainedModel):
    _tied_weights_keys = ["lm_head.weight"]

    def __init__(self, config):
        super().__init__(config)
        self.model = LynxMoEModel(config)
        self.vocab_size = config.vocab_size
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    def get_output_embeddings(self):
        return self.lm_head

    def forward(
        self,
        input_ids: torch.LongTensor = None,
        attention_mask: torch.Tensor | None = None,
        position_ids: torch.LongTensor | None = None,
        past_key_values: Cache | tuple | None = None,
        inputs_embeds: torch.FloatTensor | None = None,
        labels: torch.LongTensor | None = None,
        use_cache: bool | None = None,
        output_attentions: bool | None = None,
        output_hidden_states: bool | None = None,
        return_dict: bool | None = None,
    ) -> tuple | CausalLMOutputWithPast:
        return_dict = self.config.use_return_dict if return_dict is None else return_dict
        outputs = self.model(
            input_ids=input_ids,
            attention_mask=attention_mask,
            position_ids=position_ids,
            past_key_values=past_key_values,
            inputs_embeds=inputs_embeds,
            use_cache=use_cache,
            output_attentions=output_attentions,
            output_hidden_states=output_hidden_states,
            return_dict=return_dict,
        )
        logits = self.lm_head(outputs[0]).float()

        loss = None
        if labels is not None:
            loss = F.cross_entropy(logits[..., :-1, :].flatten(0, 1), labels[..., 1:].flatten())
        if not return_dict:
            return ((loss,) if loss is not None else ()) + (logits,) + outputs[1:]
        return CausalLMOutputWithPast(loss=loss, logits=logits, past_key_values=outputs.past_key_values)
