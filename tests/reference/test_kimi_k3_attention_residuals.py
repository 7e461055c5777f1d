"""The block of Kimi K3 against the excerpt of its published code, executed where ``../shared/seeds`` is at hand."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor

from openmodelatlas.reference import kimi_k3
from openmodelatlas.reference.layers import visible_positions
from tests.reference.small_models import random_k3, random_tokens, relative_error, small_k3_configuration

EXCERPT = Path(__file__).parents[3] / "shared" / "seeds" / "kimi-k3-add-attention-update.txt"
FIRST_LINE, LAST_LINE = "    def _forward_attn_residual(", "        return prefix_sum, block_residual"


def mix_by_the_equation(prefix_sum: Tensor, block_residual: Tensor, proj: Any, norm: Any) -> Tensor:
    """What the excerpt calls ``_apply_attn_res`` and leaves out: the paper's equation in float64."""
    values = torch.cat((block_residual, prefix_sum.unsqueeze(1)), dim=1).double()
    keys = torch.nn.functional.rms_norm(values, values.shape[-1:], norm.weight.double(), norm.eps)
    weights = torch.softmax(keys @ proj.weight[0].double(), dim=-1)
    return torch.einsum("nr,nrd->nd", weights, values).to(prefix_sum.dtype)


def published_block() -> Callable[..., tuple[Tensor, Tensor]]:
    if not EXCERPT.is_file():
        pytest.skip(f"the excerpt of the published block is not on this machine: {EXCERPT}")
    lines = EXCERPT.read_text(encoding="utf-8").splitlines()
    first = lines.index(FIRST_LINE)
    last = lines.index(LAST_LINE, first)
    code = textwrap.dedent("\n".join(lines[first : last + 1]))
    names: dict[str, Any] = {
        "torch": torch,
        "_apply_attn_res": mix_by_the_equation,
        "Unpack": dict,
        "FlashAttentionKwargs": Any,
    }
    exec(compile("from __future__ import annotations\n" + code, str(EXCERPT), "exec"), names)
    return names["_forward_attn_residual"]


def as_published_layer(layer: kimi_k3.DecoderLayer, block_size: int, visible: Tensor) -> SimpleNamespace:
    """Our layer under the names that the excerpt reads from ``self``."""

    def attention(hidden_states: Tensor, **_: Any) -> Tensor:
        update, _cache = layer.self_attn(hidden_states, None if layer.is_linear else visible, None)
        return update

    mixer = {"block_sparse_moe": layer.block_sparse_moe} if layer.is_sparse else {"mlp": layer.mlp}
    return SimpleNamespace(
        layer_idx=layer.layer_idx,
        attn_res_block_size=block_size,
        is_linear_attn=layer.is_linear,
        self_attn=attention,
        input_layernorm=layer.input_layernorm,
        post_attention_layernorm=layer.post_attention_layernorm,
        self_attention_res_proj=layer.self_attention_res_proj,
        self_attention_res_norm=layer.self_attention_res_norm,
        mlp_res_proj=layer.mlp_res_proj,
        mlp_res_norm=layer.mlp_res_norm,
        **mixer,
    )


@torch.no_grad()
def test_every_layer_agrees_with_the_published_block() -> None:
    block = published_block()
    configuration = small_k3_configuration()
    model = random_k3(configuration).language_model.model
    running_sum = model.embed_tokens(random_tokens(103, 2, 11))
    visible = visible_positions(11, 0, None, running_sum.device)
    stored_sums = running_sum.new_zeros(2, 11, 0, 44)
    for layer in model.layers:
        published = as_published_layer(layer, 4, visible)
        prefix_sum, block_residual = block(published, running_sum, block_residual=stored_sums.flatten(end_dim=1))
        running_sum, stored_sums, _ = layer(running_sum, stored_sums, visible, None, None)
        assert relative_error(running_sum, prefix_sum) <= 1e-5
        assert relative_error(stored_sums.flatten(end_dim=1), block_residual) <= 1e-5
    assert stored_sums.shape[2] == 3
