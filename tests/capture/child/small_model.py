"""A small remote-code model, as files: a configuration class and a mixture-of-experts decoder with a cache."""

from __future__ import annotations

from typing import Any

CONFIGURATION = """
from transformers import PretrainedConfig


class SmallConfig(PretrainedConfig):
    model_type = "small_test"

    def __init__(self, vocab_size=1000, hidden_size=64, num_hidden_layers=3, num_attention_heads=8,
                 num_experts=16, num_experts_per_tok=2, intermediate_size=256, quirk="", **kwargs):
        self.vocab_size = vocab_size
        self.hidden_size = hidden_size
        self.num_hidden_layers = num_hidden_layers
        self.num_attention_heads = num_attention_heads
        self.num_experts = num_experts
        self.num_experts_per_tok = num_experts_per_tok
        self.intermediate_size = intermediate_size
        self.quirk = quirk
        super().__init__(**kwargs)
"""

MODELING = """
import torch
from torch import nn
from transformers import PreTrainedModel
from transformers.modeling_outputs import CausalLMOutputWithPast

from .configuration_small import SmallConfig


class Experts(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.top_k = config.num_experts_per_tok
        self.router = nn.Linear(config.hidden_size, config.num_experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(
                nn.Linear(config.hidden_size, config.intermediate_size),
                nn.SiLU(),
                nn.Linear(config.intermediate_size, config.hidden_size),
            )
            for _ in range(config.num_experts)
        )

    def forward(self, hidden_states):
        flat = hidden_states.flatten(0, 1)
        weights, chosen = self.router(flat).softmax(-1).topk(self.top_k, dim=-1)
        result = torch.zeros_like(flat)
        for number in chosen.unique().tolist():
            token, place = torch.where(chosen == number)
            result[token] += self.experts[number](flat[token]) * weights[token, place, None]
        return result.view_as(hidden_states)


class Attention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads = config.num_attention_heads
        self.qkv = nn.Linear(config.hidden_size, 3 * config.hidden_size)

    def forward(self, hidden_states, past):
        query, key, value = self.qkv(hidden_states).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        if past is not None:
            key, value = torch.cat((past[0], key), 2), torch.cat((past[1], value), 2)
        scores = query @ key.mT
        if query.shape[2] > 1:
            scores = scores + torch.full(scores.shape[-2:], float("-inf")).to(scores).triu(1)
        return (scores.softmax(-1) @ value).transpose(1, 2).flatten(2), (key, value)


class SmallForCausalLM(PreTrainedModel):
    config_class = SmallConfig
    _tied_weights_keys = {"head.weight": "embed.weight"}

    def __init__(self, config):
        super().__init__(config)
        if config.quirk == "init":
            raise ValueError("no such activation")
        self.embed = nn.Embedding(config.vocab_size, config.hidden_size)
        self.attention = nn.ModuleList(Attention(config) for _ in range(config.num_hidden_layers))
        self.experts = nn.ModuleList(Experts(config) for _ in range(config.num_hidden_layers))
        self.head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.post_init()

    def get_input_embeddings(self):
        return self.embed

    def get_output_embeddings(self):
        return self.head

    def forward(self, input_ids, past_key_values=None, use_cache=False):
        hidden_states = self.embed(input_ids)
        if self.config.quirk == "forward":
            raise RuntimeError("the kernel is missing")
        if self.config.quirk == "ratio" and self.config.intermediate_size != 4 * self.config.hidden_size:
            raise RuntimeError("a fused kernel wants four times the width")
        if self.config.quirk == "half" and hidden_states.dtype == torch.bfloat16:
            raise RuntimeError("not implemented for BFloat16")
        caches = []
        for number, (attention, experts) in enumerate(zip(self.attention, self.experts)):
            past = None if past_key_values is None else past_key_values[number]
            update, cache = attention(hidden_states, past)
            caches.append(cache)
            hidden_states = hidden_states + update
            hidden_states = hidden_states + experts(hidden_states)
        return CausalLMOutputWithPast(
            logits=self.head(hidden_states), past_key_values=tuple(caches) if use_cache else None
        )
"""

FILES = {"configuration_small.py": CONFIGURATION, "modeling_small.py": MODELING}
ENTRY = "modeling_small.SmallForCausalLM"


def configuration(**keys: Any) -> dict[str, Any]:
    """The published configuration: tied embeddings, special tokens at the end of the vocabulary."""
    return {
        "model_type": "small_test",
        "auto_map": {"AutoConfig": "configuration_small.SmallConfig", "AutoModelForCausalLM": ENTRY},
        "vocab_size": 50000,
        "hidden_size": 512,
        "num_hidden_layers": 3,
        "num_attention_heads": 8,
        "intermediate_size": 2048,
        "num_experts": 16,
        "bos_token_id": 49999,
        "eos_token_id": [49998, 7],
        "tie_word_embeddings": True,
        "quantization_config": {"quant_method": "fp8"},
        **keys,
    }
