from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from openmodelatlas.capture.standins import UnsupportedCallError
from openmodelatlas.capture.standins.fla import gated_delta, linear, plain_linear

from .delta_formula import delta_attention_heads, numbers, sigmoid, softplus, unit

FLAGS = dict.fromkeys(("use_qk_l2norm_in_kernel", "use_gate_in_kernel", "use_beta_sigmoid_in_kernel"), True)


def make(tokens=7, heads=2, share=1, key=4, value=3, batch=2):
    value_heads = heads * share
    return {
        "q": torch.randn(batch, tokens, heads, key),
        "k": torch.randn(batch, tokens, heads, key),
        "v": torch.randn(batch, tokens, value_heads, value),
        "g": torch.randn(batch, tokens, value_heads),
        "beta": torch.randn(batch, tokens, value_heads),
        "A_log": torch.randn(value_heads),
        "dt_bias": torch.randn(value_heads),
    }


@settings(max_examples=20, deadline=None)
@given(tokens=st.integers(1, 8), heads=st.integers(1, 3), share=st.integers(1, 2), doubled=st.booleans())
@pytest.mark.parametrize("function", [gated_delta.chunk_gated_delta_rule, gated_delta.fused_recurrent_gated_delta_rule])
def test_gated_delta_rule_equals_the_equation(function, tokens, heads, share, doubled):
    x = make(tokens, heads, share)
    output, final = function(**x, **FLAGS, allow_neg_eigval=doubled, output_final_state=True)
    decay = -np.exp(numbers(x["A_log"])) * softplus(numbers(x["g"]) + numbers(x["dt_bias"]))
    wanted, wanted_final = delta_attention_heads(
        unit(numbers(x["q"])),
        unit(numbers(x["k"])),
        numbers(x["v"]),
        np.repeat(decay[..., None], 4, -1),
        sigmoid(numbers(x["beta"])) * (2 if doubled else 1),
    )
    np.testing.assert_allclose(numbers(output), wanted, atol=2e-5, rtol=2e-4)
    np.testing.assert_allclose(numbers(final), wanted_final, atol=2e-5, rtol=2e-4)


def test_delta_rule_is_the_gated_one_without_decay():
    x = make()
    q, k, v, beta = x["q"], torch.nn.functional.normalize(x["k"], dim=-1), x["v"], torch.sigmoid(x["beta"])
    still = torch.zeros_like(beta)
    for chunk, plain in (
        (gated_delta.chunk_gated_delta_rule, gated_delta.chunk_delta_rule),
        (gated_delta.fused_recurrent_gated_delta_rule, gated_delta.fused_recurrent_delta_rule),
    ):
        wanted = chunk(q, k, v, still, beta=beta, output_final_state=True)
        for got, want in zip(plain(q, k, v, beta, output_final_state=True), wanted, strict=True):
            torch.testing.assert_close(got, want)


def added(q, k, v, rows, columns, scale):
    """S_t = diag(e^rows) S diag(e^columns) + k vᵀ, o = scale Sᵀ q; one head: [T, K], [T, V]."""
    state, output = np.zeros((q.shape[1], v.shape[1])), np.zeros((len(q), v.shape[1]))
    for t in range(len(q)):
        state = np.diag(np.exp(rows[t])) @ state @ np.diag(np.exp(columns[t])) + np.outer(k[t], v[t])
        output[t] = scale * state.T @ q[t]
    return output, state


@settings(max_examples=20, deadline=None)
@given(tokens=st.integers(1, 7), heads=st.integers(1, 3), kind=st.sampled_from(["simple", "gla", "recurrent", "plain"]))
def test_adding_kernels_equal_the_equation(tokens, heads, kind):
    x = make(tokens, heads)
    q, k, v = x["q"], x["k"], x["v"]
    rows, columns = torch.zeros_like(q), torch.zeros_like(v)
    more = {"output_final_state": True}
    if kind == "simple":
        gamma, g = -torch.rand(heads), -torch.rand(2, tokens, heads)
        rows = (g + gamma).unsqueeze(-1).expand_as(q)
        results = [
            linear.chunk_simple_gla(q, k, v, g, gamma, **more),
            linear.fused_recurrent_simple_gla(q, k, v, g, gamma, **more),
        ]
    elif kind == "gla":
        rows = -torch.rand_like(q)
        results = [linear.chunk_gla(q, k, v, rows, **more), linear.fused_recurrent_gla(q, k, v, rows, **more)]
    elif kind == "recurrent":
        rows, columns = -torch.rand_like(q), -torch.rand_like(v)
        results = [linear.fused_recurrent_gla(q, k, v, rows, columns, **more)]
    else:
        results = [
            plain_linear.chunk_linear_attn(q, k, v, normalize=False, **more),
            plain_linear.fused_recurrent_linear_attn(q, k, v, **more),
        ]
    for output, final in results:
        for b, h in itertools.product(range(2), range(heads)):
            parts = [numbers(part[b, :, h]) for part in (q, k, v, rows, columns)]
            wanted, wanted_final = added(*parts, 0.5)
            np.testing.assert_allclose(numbers(output[b, :, h]), wanted, atol=1e-5)
            np.testing.assert_allclose(numbers(final[b, h]), wanted_final, atol=1e-5)


def test_normalised_linear_attention_weights_sum_to_one():
    x = make()
    q, k = x["q"].abs(), x["k"].abs()
    same = torch.ones_like(x["v"])
    output, (state, keys) = plain_linear.chunk_linear_attn(q, k, same, output_final_state=True)
    torch.testing.assert_close(output, same)
    torch.testing.assert_close(keys[:, 0], k.sum(1))
    whole, _ = plain_linear.chunk_linear_attn(q, k, x["v"])
    first, carried = plain_linear.chunk_linear_attn(q[:, :4], k[:, :4], x["v"][:, :4], output_final_state=True)
    second, _ = plain_linear.fused_recurrent_linear_attn(
        q[:, 4:], k[:, 4:], x["v"][:, 4:], initial_state=carried, normalize=True
    )
    torch.testing.assert_close(torch.cat([first, second], 1), whole)
    packed = {name: value.flatten(0, 1).unsqueeze(0) for name, value in (("q", q), ("k", k), ("v", x["v"]))}
    output, (_, keys) = plain_linear.chunk_linear_attn(**packed, cu_seqlens=torch.tensor([0, 7, 7, 14]))
    torch.testing.assert_close(output[0], whole.flatten(0, 1))
    torch.testing.assert_close(keys[[0, 2], 0], k.sum(1))
    assert not keys[1].any()
    assert state.shape == (2, 2, 4, 3)


@pytest.mark.parametrize(
    ("function", "names"),
    [
        (gated_delta.chunk_gated_delta_rule, "q k v g beta"),
        (gated_delta.chunk_delta_rule, "q k v beta"),
        (linear.chunk_simple_gla, "q k v g"),
        (linear.fused_recurrent_simple_gla, "q k v g"),
        (plain_linear.chunk_linear_attn, "q k v"),
    ],
)
def test_states_pass_packed_sequences_part_and_meta_works(function, names):
    x = {name: value for name, value in make(batch=1).items() if name in names.split()}
    x = {name: -value.abs() if name == "g" else value * 0.4 for name, value in x.items()}
    plain = {"normalize": False} if function is plain_linear.chunk_linear_attn else {}
    whole, final = function(**x, **plain, output_final_state=True)
    first, state = function(**{name: value[:, :3] for name, value in x.items()}, **plain, output_final_state=True)
    rest = {name: value[:, 3:] for name, value in x.items()}
    second, last = function(**rest, **plain, initial_state=state, output_final_state=True)
    torch.testing.assert_close(torch.cat([first, second], 1), whole)
    torch.testing.assert_close(last, final)
    alone, _ = function(**rest, **plain)
    packed, states = function(**x, **plain, cu_seqlens=torch.tensor([0, 3, 7]), output_final_state=True)
    torch.testing.assert_close(packed, torch.cat([first, alone], 1))
    torch.testing.assert_close(states[:1], state)
    meta = {name: value.to("meta") for name, value in x.items()}
    output, state = function(**meta, **plain, output_final_state=True)
    assert (output.shape, state.shape) == (whole.shape, final.shape)


def test_refusals():
    x = make()
    with pytest.raises(UnsupportedCallError, match="head_first"):
        gated_delta.chunk_gated_delta_rule(**x, head_first=True)
    with pytest.raises(UnsupportedCallError, match="reverse"):
        linear.fused_recurrent_gla(x["q"], x["k"], x["v"], reverse=True)
    with pytest.raises(ValueError, match="A_log"):
        gated_delta.chunk_gated_delta_rule(**{**x, "A_log": None}, use_gate_in_kernel=True)
    with pytest.raises(ValueError, match="one shape"):
        linear.chunk_gla(x["q"], x["k"], x["v"], x["g"])
