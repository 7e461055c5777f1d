"""Otter: pictures as patches in front of the words of the language model."""

import torch
from torch import nn
from transformers.modeling_utils import PreTrainedModel

from .configuration_otter import OtterConfig
from .modeling_otter_linear import OtterLinearForCausalLM


class OtterForConditionalGeneration(PreTrainedModel):
    config_class = OtterConfig

    def __init__(self, config):
        super().__init__(config)
        vision = config.vision_config
        self.patch_embed = nn.Conv2d(3, vision["hidden_size"], vision["patch_size"], stride=vision["patch_size"])
        self.projector = nn.Linear(vision["hidden_size"], config.text_config.hidden_size)
        self.language_model = OtterLinearForCausalLM(config.text_config)
        self.post_init()

    def forward(self, input_ids=None, pixel_values=None, attention_mask=None, past_key_values=None, **kwargs):
        words = self.language_model.get_input_embeddings()(input_ids)
        if pixel_values is not None:
            patches = self.projector(self.patch_embed(pixel_values).flatten(2).transpose(1, 2))
            words = torch.cat([patches, words], dim=1)
        return self.language_model(inputs_embeds=words, past_key_values=past_key_values, **kwargs)
