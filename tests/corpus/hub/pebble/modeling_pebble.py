"""Pebble: the smallest thing with layers, in plain PyTorch."""

import torch
from torch import nn

from .configuration_pebble import PebbleConfig


class PebbleLayer(nn.Module):
    def __init__(self, config: PebbleConfig):
        super().__init__()
        self.norm = nn.LayerNorm(config.hidden_size)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size)

    def forward(self, hidden_states):
        return hidden_states + self.down_proj(torch.relu(self.up_proj(self.norm(hidden_states))))


class PebbleForCausalLM(nn.Module):
    config_class = PebbleConfig

    def __init__(self, config: PebbleConfig):
        super().__init__()
        self.config = config
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList([PebbleLayer(config) for _ in range(config.num_hidden_layers)])
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        # made

    def forward(self, input_ids):
        hidden_states = self.embed_tokens(input_ids)
        # started
        for layer in self.layers:
            hidden_states = layer(hidden_states)
        return self.lm_head(hidden_states)
