"""Small repositories that tests put on the hub or into folders."""

from __future__ import annotations

import json

MODELING = b"""from .configuration_sample import SampleConfig
from .layers import Layer


class SampleForCausalLM:
    config_class = SampleConfig
    layer = Layer
"""

CONFIGURATION = {
    "architectures": ["SampleForCausalLM"],
    "auto_map": {
        "AutoConfig": "configuration_sample.SampleConfig",
        "AutoModelForCausalLM": "modeling_sample.SampleForCausalLM",
    },
    "model_type": "sample",
    "hidden_size": 64,
    "num_hidden_layers": 3,
    "transformers_version": "4.48.3",
}


def sample_files(**changes: object) -> dict[str, bytes]:
    """A repository with code of its own; ``changes`` are keys of its configuration."""
    return {
        "README.md": b"# Sample",
        "config.json": json.dumps({**CONFIGURATION, **changes}).encode(),
        "configuration_sample.py": b"class SampleConfig:\n    pass\n",
        "generation_config.json": b"{}",
        "layers.py": b"class Layer:\n    pass\n",
        "model.safetensors": b"\0" * 64,
        "model.safetensors.index.json": b"{}",
        "modeling_sample.py": MODELING,
        "tokenizer.json": b"{}",
    }
