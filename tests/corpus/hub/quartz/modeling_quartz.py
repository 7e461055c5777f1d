"""Quartz: layers that keep a running sum, store it where a group starts, and take their constants from many places."""

import torch
from torch import nn

from .configuration_quartz import QuartzConfig


class QuartzNorm(nn.Module):
    def __init__(self, width, eps=1e-3):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, features):
        upcast = features.float()
        scale = torch.rsqrt(upcast.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.gain * (upcast * scale).to(features.dtype)


class QuartzMLP(nn.Module):
    def __init__(self, config: QuartzConfig):
        super().__init__()
        self.width = config.intermediate_size
        self.damping = self.width**-0.5
        self.limit = 30.0
        self.up_proj = nn.Linear(config.hidden_size, self.width, bias=False)
        self.down_proj = nn.Linear(self.width, config.hidden_size, bias=False)

    def forward(self, features):
        inner = torch.relu(self.up_proj(features)).clamp(max=self.limit)
        return self.down_proj(inner) * self.damping


class QuartzLayer(nn.Module):
    def __init__(self, config: QuartzConfig, number: int):
        super().__init__()
        self.number = number
        self.group_size = config.group_size
        self.scale = getattr(config, "residual_scale", 1.0)
        self.norm = QuartzNorm(config.hidden_size, eps=config.norm_eps)
        self.late_norm = QuartzNorm(config.hidden_size)
        self.mlp = QuartzMLP(config)

    def forward(self, running, stored):
        hidden = running
        if self.number % self.group_size == 0:
            stored = stored + running
            running = None
        hidden = self.mlp(self.norm(hidden))
        if running is not None:
            running = running + hidden
        else:
            running = hidden
        return self.late_norm(running) * self.scale, stored


class QuartzForCausalLM(nn.Module):
    config_class = QuartzConfig

    def __init__(self, config: QuartzConfig):
        super().__init__()
        self.config = config
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList([QuartzLayer(config, number) for number in range(config.num_hidden_layers)])
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)

    def forward(self, input_ids):
        running = self.embed_tokens(input_ids)
        stored = torch.zeros_like(running)
        for layer in self.layers:
            running, stored = layer(running, stored)
        return self.lm_head(running + stored)
