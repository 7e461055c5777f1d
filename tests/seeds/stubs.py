"""Runnable files with the excerpts of the seeds at their true lines; everything around them is ours."""

from __future__ import annotations

from collections.abc import Mapping

CONFIGURATION = """
class StubConfig:
    model_type = "stub"

    def __init__(self, **values):
        self.__dict__.update(values)

    def to_dict(self):
        return dict(vars(self))
"""

K2_HEAD = """
import torch
from torch import nn

from .configuration_stub import StubConfig

ALL_LAYERNORM_LAYERS = []
"""

K2_PARTS = """


class DeepseekV3MLP(nn.Module):
    def __init__(self, config, intermediate_size=None):
        super().__init__()
        width = config.intermediate_size if intermediate_size is None else intermediate_size
        self.gate_proj = nn.Linear(config.hidden_size, width, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, width, bias=False)
        self.down_proj = nn.Linear(width, config.hidden_size, bias=False)

    def forward(self, x):
        return self.down_proj(nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))


class DeepseekV3MoE(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.top_k = config.num_experts_per_tok
        self.gate = nn.Linear(config.hidden_size, config.n_routed_experts, bias=False)
        self.experts = nn.ModuleList(
            [DeepseekV3MLP(config, config.moe_intermediate_size) for _ in range(config.n_routed_experts)]
        )
        self.shared_experts = DeepseekV3MLP(config, config.moe_intermediate_size * config.n_shared_experts)

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        weights, chosen = self.gate(flat).sigmoid().topk(self.top_k, dim=-1)
        mixed = torch.zeros_like(flat)
        for number, expert in enumerate(self.experts):
            rows, places = torch.where(chosen == number)
            mixed.index_add_(0, rows, expert(flat[rows]) * weights[rows, places, None])
        return mixed.view(x.shape) + self.shared_experts(x)


class DeepseekV3Attention(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.heads = config.num_attention_heads
        self.head_dim = config.v_head_dim
        self.q_proj = nn.Linear(config.hidden_size, self.heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(config.hidden_size, self.heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(config.hidden_size, self.heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(self.heads * self.head_dim, config.hidden_size, bias=False)

    def forward(self, hidden_states, attention_mask=None, **kwargs):
        batch, tokens, _ = hidden_states.shape
        shape = (batch, tokens, self.heads, self.head_dim)
        query = self.q_proj(hidden_states).view(shape).transpose(1, 2)
        key = self.k_proj(hidden_states).view(shape).transpose(1, 2)
        value = self.v_proj(hidden_states).view(shape).transpose(1, 2)
        scores = query @ key.transpose(-1, -2) * self.head_dim**-0.5 + attention_mask
        mixed = nn.functional.softmax(scores, dim=-1) @ value
        return self.o_proj(mixed.transpose(1, 2).reshape(batch, tokens, -1)), None, None
"""

K2_LAYER = """
class DeepseekV3DecoderLayer(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.hidden_size = config.hidden_size
        self.self_attn = DeepseekV3Attention(config, layer_idx)
"""

K2_FORWARD = """

    def forward(
        self,
        hidden_states,
        attention_mask=None,
        position_ids=None,
        past_key_value=None,
        output_attentions=False,
        use_cache=False,
        **kwargs,
    ):
"""

K2_MODEL = """
        return (hidden_states,)


class DeepseekV3ForCausalLM(nn.Module):
    config_class = StubConfig

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(
            [DeepseekV3DecoderLayer(config, layer_idx) for layer_idx in range(config.num_hidden_layers)]
        )
        self.norm = DeepseekV3RMSNorm(config.hidden_size, eps=config.rms_norm_eps)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)

    def forward(self, input_ids):
        hidden_states = self.embed_tokens(input_ids)
        tokens = input_ids.shape[1]
        mask = torch.full((tokens, tokens), float("-inf"), device=hidden_states.device).triu(1)
        for decoder_layer in self.layers:
            layer_outputs = decoder_layer(hidden_states, attention_mask=mask)
            hidden_states = layer_outputs[0]
        return self.lm_head(self.norm(hidden_states))
"""

K3_HEAD = """
import torch
from torch import nn

from .configuration_stub import StubConfig

Unpack = list
FlashAttentionKwargs = dict


def _apply_attn_res(prefix_sum, block_residual, proj, norm):
    sums = torch.cat((block_residual, prefix_sum.unsqueeze(1)), dim=1)
    weights = proj(norm(sums)).softmax(dim=1)
    return (weights * sums).sum(dim=1)


class KimiRMSNorm(nn.Module):
    def __init__(self, hidden_size, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * hidden_states.to(input_dtype)


class KimiMLP(nn.Module):
    def __init__(self, config, width):
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, width, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, width, bias=False)
        self.down_proj = nn.Linear(width, config.hidden_size, bias=False)

    def forward(self, x):
        return self.down_proj(nn.functional.silu(self.gate_proj(x)) * self.up_proj(x))


class KimiDeltaAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config.num_attention_heads
        self.head_dim = config.v_head_dim
        self.q_proj = nn.Linear(config.hidden_size, self.heads * self.head_dim, bias=False)
        self.k_proj = nn.Linear(config.hidden_size, self.heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(config.hidden_size, self.heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(self.heads * self.head_dim, config.hidden_size, bias=False)

    def forward(self, hidden_states, attention_mask=None, **kwargs):
        batch, tokens, _ = hidden_states.shape
        shape = (batch, tokens, self.heads, self.head_dim)
        query = self.q_proj(hidden_states).view(shape)
        key = self.k_proj(hidden_states).view(shape).softmax(dim=-1)
        value = self.v_proj(hidden_states).view(shape)
        state = (key.unsqueeze(-1) * value.unsqueeze(-2)).cumsum(dim=1)
        mixed = (query.unsqueeze(-2) @ state).squeeze(-2)
        return self.o_proj(mixed.reshape(batch, tokens, -1))


class KimiMLAAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config.num_attention_heads
        self.head_dim = config.v_head_dim
        self.q_proj = nn.Linear(config.hidden_size, self.heads * self.head_dim, bias=False)
        self.kv_a_proj = nn.Linear(config.hidden_size, config.kv_lora_rank, bias=False)
        self.k_proj = nn.Linear(config.kv_lora_rank, self.heads * self.head_dim, bias=False)
        self.v_proj = nn.Linear(config.kv_lora_rank, self.heads * self.head_dim, bias=False)
        self.o_proj = nn.Linear(self.heads * self.head_dim, config.hidden_size, bias=False)

    def forward(self, hidden_states, attention_mask=None, **kwargs):
        batch, tokens, _ = hidden_states.shape
        shape = (batch, tokens, self.heads, self.head_dim)
        query = self.q_proj(hidden_states).view(shape).transpose(1, 2)
        latent = self.kv_a_proj(hidden_states)
        key = self.k_proj(latent).view(shape).transpose(1, 2)
        value = self.v_proj(latent).view(shape).transpose(1, 2)
        scores = query @ key.transpose(-1, -2) * self.head_dim**-0.5 + attention_mask
        mixed = nn.functional.softmax(scores, dim=-1) @ value
        return self.o_proj(mixed.transpose(1, 2).reshape(batch, tokens, -1))


class KimiDecoderLayer(nn.Module):
    def __init__(self, config, layer_idx):
        super().__init__()
        self.layer_idx = layer_idx
        self.attn_res_block_size = config.attn_res_block_size
        self.is_linear_attn = (layer_idx + 1) % 4 != 0
        self.self_attn = KimiDeltaAttention(config) if self.is_linear_attn else KimiMLAAttention(config)
        if layer_idx >= config.first_k_dense_replace:
            self.block_sparse_moe = KimiMLP(config, config.moe_intermediate_size)
        else:
            self.mlp = KimiMLP(config, config.intermediate_size)
        self.input_layernorm = KimiRMSNorm(config.hidden_size, config.rms_norm_eps)
        self.post_attention_layernorm = KimiRMSNorm(config.hidden_size, config.rms_norm_eps)
        self.self_attention_res_proj = nn.Linear(config.hidden_size, 1, bias=False)
        self.self_attention_res_norm = KimiRMSNorm(config.hidden_size, config.rms_norm_eps)
        self.mlp_res_proj = nn.Linear(config.hidden_size, 1, bias=False)
        self.mlp_res_norm = KimiRMSNorm(config.hidden_size, config.rms_norm_eps)

    def forward(self, hidden_states, attention_mask=None, block_residual=None):
        return self._forward_attn_residual(hidden_states, attention_mask, block_residual=block_residual)
"""

K3_MODEL = """


class KimiLinearForCausalLM(nn.Module):
    config_class = StubConfig

    def __init__(self, config):
        super().__init__()
        self.config = config
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList([KimiDecoderLayer(config, number) for number in range(config.num_hidden_layers)])
        self.output_res_proj = nn.Linear(config.hidden_size, 1, bias=False)
        self.output_res_norm = KimiRMSNorm(config.hidden_size, config.rms_norm_eps)
        self.norm = KimiRMSNorm(config.hidden_size, config.rms_norm_eps)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)

    def forward(self, input_ids):
        hidden_states = self.embed_tokens(input_ids)
        batch, tokens, width = hidden_states.shape
        mask = torch.full((tokens, tokens), float("-inf"), device=hidden_states.device).triu(1)
        block_residual = hidden_states.new_zeros(batch * tokens, 0, width)
        for layer in self.layers:
            hidden_states, block_residual = layer(hidden_states, mask, block_residual)
        mixed = _apply_attn_res(
            hidden_states.view(-1, width), block_residual, self.output_res_proj, self.output_res_norm
        ).view(batch, tokens, width)
        return self.lm_head(self.norm(mixed))
"""


def assemble(blocks: Mapping[int, str]) -> str:
    """One file with each block beginning at its line; the lines between them are empty."""
    lines: list[str] = []
    for first, text in sorted(blocks.items()):
        assert len(lines) < first, f"line {first} is taken"
        lines += [""] * (first - 1 - len(lines))
        lines += text.strip("\n").splitlines()
    return "\n".join(lines) + "\n"


def ending_at(last: int, text: str) -> tuple[int, str]:
    """The block placed so that its last line is ``last``."""
    return last - len(text.strip("\n").splitlines()) + 1, text
