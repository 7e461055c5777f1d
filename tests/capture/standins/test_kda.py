from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from openmodelatlas.capture.standins import UnsupportedCallError
from openmodelatlas.capture.standins.fla.gate import fused_kda_gate
from openmodelatlas.capture.standins.fla.kda import chunk_kda, fused_recurrent_kda

from .delta_formula import delta_attention_heads, numbers, sigmoid, softplus, unit


def make(batch=2, tokens=9, heads=2, share=1, key=5, value=3, seed=0):
    generator = torch.Generator().manual_seed(seed)

    def random(*shape):
        return torch.randn(*shape, generator=generator)

    value_heads = heads * share
    return {
        "q": random(batch, tokens, heads, key),
        "k": random(batch, tokens, heads, key),
        "v": random(batch, tokens, value_heads, value),
        "g": random(batch, tokens, value_heads, key),
        "beta": random(batch, tokens, value_heads),
        "A_log": random(value_heads),
        "dt_bias": random(value_heads * key),
        "state": random(batch, value_heads, key, value),
    }


def expected(x, *, lower_bound, state=None):
    """What K3's call computes, by the formula: gate, sigmoid and normalisation in the kernel."""
    gate = numbers(x["g"]) + numbers(x["dt_bias"]).reshape(x["g"].shape[2], -1)
    rate = np.exp(numbers(x["A_log"]))[:, None]
    decay = -rate * softplus(gate) if lower_bound is None else lower_bound * sigmoid(rate * gate)
    return delta_attention_heads(
        unit(numbers(x["q"])),
        unit(numbers(x["k"])),
        numbers(x["v"]),
        decay,
        sigmoid(numbers(x["beta"])),
        state=None if state is None else numbers(state),
    )


def call(function, x, **more):
    arguments = {name: value for name, value in x.items() if name != "state"}
    flags = dict.fromkeys(("use_qk_l2norm_in_kernel", "use_gate_in_kernel", "use_beta_sigmoid_in_kernel"), True)
    return function(**arguments, **flags, output_final_state=True, **more)


@settings(max_examples=25, deadline=None)
@given(
    batch=st.integers(1, 3),
    tokens=st.integers(1, 12),
    heads=st.integers(1, 3),
    share=st.integers(1, 3),
    key=st.integers(1, 6),
    value=st.integers(1, 6),
    lower_bound=st.sampled_from([None, -5.0, -1.5]),
    with_state=st.booleans(),
    seed=st.integers(0, 2**16),
)
@pytest.mark.parametrize("function", [chunk_kda, fused_recurrent_kda])
def test_equals_the_equation(function, batch, tokens, heads, share, key, value, lower_bound, with_state, seed):
    x = make(batch, tokens, heads, share, key, value, seed)
    state = x["state"] if with_state else None
    output, final = call(function, x, lower_bound=lower_bound, initial_state=state)
    wanted, wanted_final = expected(x, lower_bound=lower_bound, state=state)
    np.testing.assert_allclose(numbers(output), wanted, atol=2e-5, rtol=2e-4)
    np.testing.assert_allclose(numbers(final), wanted_final, atol=2e-5, rtol=2e-4)


def test_plain_arguments_are_taken_as_they_are():
    x = make(share=2)
    decay, beta = -x["g"].abs(), torch.sigmoid(x["beta"])
    wanted, _ = delta_attention_heads(
        numbers(x["q"]) * 0.3, numbers(x["k"]) * 0.3, numbers(x["v"]), numbers(decay), numbers(beta), scale=0.7
    )
    for function in (chunk_kda, fused_recurrent_kda):
        output, final = function(x["q"] * 0.3, x["k"] * 0.3, x["v"], decay, beta, scale=0.7)
        np.testing.assert_allclose(numbers(output), wanted, atol=1e-5)
        assert final is None


@pytest.mark.parametrize("flag", [{"state_v_first": True}, {"transpose_state_layout": True}])
def test_value_first_layout_transposes_both_states(flag):
    x = make()
    output, final = call(chunk_kda, x, initial_state=x["state"])
    turned, turned_final = call(chunk_kda, x, initial_state=x["state"].transpose(-1, -2).contiguous(), **flag)
    assert torch.equal(output, turned)
    assert torch.equal(final.transpose(-1, -2), turned_final)
    assert turned_final.shape == (2, 2, 3, 5)


@pytest.mark.parametrize("seam", [1, 4, 8])
def test_state_passes_across_a_split(seam):
    x = make()
    whole, final = call(chunk_kda, x)
    parts = ("q", "k", "v", "g", "beta")
    first = {**x, **{name: x[name][:, :seam] for name in parts}}
    second = {**x, **{name: x[name][:, seam:] for name in parts}}
    left, state = call(chunk_kda, first)
    right, last = call(fused_recurrent_kda, second, initial_state=state)
    torch.testing.assert_close(torch.cat([left, right], 1), whole)
    torch.testing.assert_close(last, final)


@pytest.mark.parametrize("function", [chunk_kda, fused_recurrent_kda])
def test_packed_sequences_equal_separate_ones(function):
    x = make(batch=1, tokens=10)
    states = torch.randn(4, 2, 5, 3)
    edges = [0, 3, 3, 9, 10]
    output, finals = call(function, x, cu_seqlens=torch.tensor(edges), initial_state=states)
    for number, (start, end) in enumerate(itertools.pairwise(edges)):
        piece = {**x, **{name: x[name][:, start:end] for name in ("q", "k", "v", "g", "beta")}}
        alone, final = call(function, piece, initial_state=states[number : number + 1])
        torch.testing.assert_close(output[:, start:end], alone)
        torch.testing.assert_close(finals[number], final[0])


@pytest.mark.parametrize("function", [chunk_kda, fused_recurrent_kda])
def test_bfloat16_computes_in_float32_and_returns_bfloat16(function):
    x = {name: value.bfloat16() if name in "qkvgbeta" else value for name, value in make(tokens=30).items()}
    output, final = call(function, x, lower_bound=-5.0)
    assert output.dtype == torch.bfloat16
    assert final.dtype == torch.float32
    wanted, _ = expected(x, lower_bound=-5.0)
    np.testing.assert_allclose(numbers(output), wanted, atol=0.02, rtol=0.02)


@pytest.mark.parametrize("function", [chunk_kda, fused_recurrent_kda])
def test_shapes_on_the_meta_device(function):
    x = {name: value.to("meta") for name, value in make(share=2).items()}
    output, final = call(function, x, initial_state=x["state"], state_v_first=True)
    assert (output.device.type, output.shape, final.shape) == ("meta", (2, 9, 4, 3), (2, 4, 3, 5))
    packed = {name: value[:1] if value.ndim > 2 else value for name, value in x.items()}
    _, finals = call(function, packed, cu_seqlens=torch.zeros(4, dtype=torch.int32, device="meta"))
    assert finals.shape == (3, 4, 5, 3)


def test_gate_in_both_calling_conventions():
    x = make()
    flat = x["g"].flatten(-2)
    new = fused_kda_gate(x["g"], x["A_log"], x["dt_bias"])
    gate = numbers(x["g"]) + numbers(x["dt_bias"]).reshape(2, 5)
    np.testing.assert_allclose(numbers(new), -np.exp(numbers(x["A_log"]))[:, None] * softplus(gate), rtol=1e-5)
    assert torch.equal(new, fused_kda_gate(flat, x["A_log"], 5, g_bias=x["dt_bias"]))
    assert torch.equal(new, fused_kda_gate(flat, A=x["A_log"].view(1, 1, 2, 1), head_k_dim=5, g_bias=x["dt_bias"]))
    bounded = fused_kda_gate(x["g"], None, None, lower_bound=-5.0, output_dtype=torch.float64)
    np.testing.assert_allclose(numbers(bounded), -5 * sigmoid(numbers(x["g"])), rtol=1e-5)
    with pytest.raises(ValueError, match="needs A_log"):
        fused_kda_gate(x["g"])


@pytest.mark.parametrize(
    ("more", "error"),
    [
        ({"return_intermediate_states": True}, UnsupportedCallError),
        ({"cp_context": object()}, UnsupportedCallError),
        ({"head_first": True}, UnsupportedCallError),
        ({"safe_gate": True}, ValueError),
        ({"safe_gate": True, "lower_bound": -6.0}, ValueError),
        ({"state_v_first": True, "transpose_state_layout": True}, ValueError),
        ({"cu_seqlens": torch.tensor([0, 9])}, ValueError),
    ],
)
def test_what_it_cannot_do_is_refused(more, error):
    with pytest.raises(error):
        call(chunk_kda, make(), **more)


def test_a_refusal_names_kernel_argument_and_place():
    with pytest.raises(UnsupportedCallError) as caught:
        call(fused_recurrent_kda, make(), head_first=True)
    text = str(caught.value)
    assert "fla.ops.kda.fused_recurrent_kda does not implement the argument head_first=True" in text
    assert "test_kda.py" in caught.value.where
