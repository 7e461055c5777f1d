from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from openmodelatlas.capture.standins import UnsupportedCallError
from openmodelatlas.capture.standins.causal_conv1d.convolution import causal_conv1d_fn
from openmodelatlas.capture.standins.mamba_ssm import add_norm, norms
from openmodelatlas.capture.standins.mamba_ssm.selective_scan import (
    mamba_inner_fn,
    selective_scan_fn,
    selective_state_update,
)
from openmodelatlas.capture.standins.mamba_ssm.ssd import mamba_chunk_scan_combined, mamba_split_conv1d_scan_combined

from .delta_formula import numbers, sigmoid, softplus


def silu(x):
    return x * sigmoid(x)


def channel(u, delta, rate, into, out_of, skip, gate, state):
    """One number a token, N state numbers: u, delta, gate [T], rate [N], into and out_of [T, N]."""
    output = np.zeros(len(u))
    for t in range(len(u)):
        state = np.exp(delta[t] * rate) * state + delta[t] * into[t] * u[t]
        output[t] = (state @ out_of[t] + skip * u[t]) * (1.0 if gate is None else silu(gate[t]))
    return output, state


def scan_case(batch, channels, tokens, states, groups, seed=0):
    generator = torch.Generator().manual_seed(seed)

    def random(*shape):
        return torch.randn(*shape, generator=generator)

    return {
        "u": random(batch, channels, tokens),
        "delta": random(batch, channels, tokens),
        "A": -random(channels, states).exp(),
        "B": random(batch, groups, states, tokens),
        "C": random(batch, groups, states, tokens),
        "D": random(channels),
        "z": random(batch, channels, tokens),
        "delta_bias": random(channels),
    }


@settings(max_examples=25, deadline=None)
@given(
    tokens=st.integers(1, 7),
    groups=st.integers(1, 2),
    share=st.integers(1, 3),
    states=st.integers(1, 4),
    form=st.sampled_from(["grouped", "shared", "constant"]),
    gated=st.booleans(),
    plain=st.booleans(),
)
def test_selective_scan_equals_the_definition(tokens, groups, share, states, form, gated, plain):
    x = scan_case(2, groups * share, tokens, states, groups)
    if form == "shared":
        x["B"], x["C"] = x["B"][:, 0], x["C"][:, 0]
    elif form == "constant":
        x["B"], x["C"] = torch.randn(groups * share, states), torch.randn(groups * share, states)
    if not gated:
        x["z"] = None
    if plain:
        x["D"] = x["delta_bias"] = None
        x["delta"] = x["delta"].abs()
    output, final = selective_scan_fn(**x, delta_softplus=not plain, return_last_state=True)
    for b in range(2):
        for d in range(groups * share):
            step = numbers(x["delta"])[b, d]
            step = step if plain else softplus(step + numbers(x["delta_bias"])[d])
            into, out_of = (
                np.repeat(numbers(m)[None, d], tokens, 0)
                if form == "constant"
                else numbers(m)[b].T
                if form == "shared"
                else numbers(m)[b, d // share].T
                for m in (x["B"], x["C"])
            )
            wanted, wanted_final = channel(
                numbers(x["u"])[b, d],
                step,
                numbers(x["A"])[d],
                into,
                out_of,
                0.0 if plain else float(x["D"][d]),
                numbers(x["z"])[b, d] if gated else None,
                np.zeros(states),
            )
            np.testing.assert_allclose(numbers(output[b, d]), wanted, atol=1e-4, rtol=1e-4)
            np.testing.assert_allclose(numbers(final[b, d]), wanted_final, atol=1e-4, rtol=1e-4)


def test_state_update_continues_a_scan():
    x = scan_case(2, 4, 6, 3, 2)
    whole, final = selective_scan_fn(**x, delta_softplus=True, return_last_state=True)
    state = torch.zeros(5, 4, 3)
    rows = torch.tensor([3, 1])
    for t in range(6):
        tokens = {name: x[name][..., t] for name in ("u", "delta", "B", "C", "z")}
        by_head = {name: tokens[name].view(2, 4, 1) for name in ("u", "delta", "z")}
        output = selective_state_update(
            state.view(5, 4, 1, 3), by_head["u"], by_head["delta"], x["A"].view(4, 1, 3), tokens["B"], tokens["C"],
            x["D"].view(4, 1), by_head["z"], x["delta_bias"].view(4, 1), dt_softplus=True, state_batch_indices=rows,
        )  # fmt: skip
        torch.testing.assert_close(output.view(2, 4), whole[..., t])
    torch.testing.assert_close(state[rows], final)
    assert not state[[0, 2, 4]].any()


def test_state_update_without_heads():
    state, x, dt = torch.randn(2, 4, 3), torch.randn(2, 4), torch.rand(2, 4)
    rate, into, out_of = -torch.rand(4, 3), torch.randn(2, 3), torch.randn(2, 3)
    wanted = state * (dt[..., None] * rate).exp() + (dt * x)[..., None] * into[:, None]
    output = selective_state_update(state, x, dt, rate, into, out_of)
    torch.testing.assert_close(state, wanted)
    torch.testing.assert_close(output, (wanted * out_of[:, None]).sum(-1))


def ssd_case(heads=4, size=3, groups=2, states=5, tokens=7, batch=2):
    return {
        "x": torch.randn(batch, tokens, heads, size),
        "dt": torch.randn(batch, tokens, heads),
        "A": -torch.rand(heads) - 0.1,
        "B": torch.randn(batch, tokens, groups, states),
        "C": torch.randn(batch, tokens, groups, states),
        "D": torch.randn(heads),
        "z": torch.randn(batch, tokens, heads, size),
        "dt_bias": torch.randn(heads),
    }


@settings(max_examples=20, deadline=None)
@given(
    groups=st.integers(1, 2),
    share=st.integers(1, 2),
    tokens=st.integers(1, 6),
    limited=st.booleans(),
    started=st.booleans(),
    skip_by_feature=st.booleans(),
)
def test_chunk_scan_equals_the_definition(groups, share, tokens, limited, started, skip_by_feature):
    heads = groups * share
    x = ssd_case(heads, groups=groups, tokens=tokens)
    if skip_by_feature:
        x["D"] = torch.randn(heads, 3)
    limit = (0.2, 1.1) if limited else (0.0, float("inf"))
    start = torch.randn(2, heads, 3, 5) if started else None
    output, final = mamba_chunk_scan_combined(
        **x, chunk_size=4, initial_states=start, dt_softplus=True, dt_limit=limit, return_final_states=True
    )
    step = softplus(numbers(x["dt"]) + numbers(x["dt_bias"])).clip(*limit)
    for b in range(2):
        for h in range(heads):
            for p in range(3):
                wanted, wanted_final = channel(
                    numbers(x["x"])[b, :, h, p],
                    step[b, :, h],
                    np.full(5, float(x["A"][h])),
                    numbers(x["B"])[b, :, h // share],
                    numbers(x["C"])[b, :, h // share],
                    float(x["D"][h, p] if skip_by_feature else x["D"][h]),
                    numbers(x["z"])[b, :, h, p],
                    np.zeros(5) if start is None else numbers(start)[b, h, p],
                )
                np.testing.assert_allclose(numbers(output[b, :, h, p]), wanted, atol=1e-4, rtol=1e-4)
                np.testing.assert_allclose(numbers(final[b, h, p]), wanted_final, atol=1e-4, rtol=1e-4)


def test_chunk_scan_passes_state_and_separates_sequences():
    x = ssd_case(batch=1)
    fixed = {name: x[name] for name in ("A", "D", "dt_bias")}
    moving = {name: x[name] for name in ("x", "dt", "B", "C", "z")}
    left = {name: value[:, :4] for name, value in moving.items()}
    right = {name: value[:, 4:] for name, value in moving.items()}
    flags = {"chunk_size": 8, "dt_softplus": True, "return_final_states": True}
    whole, final = mamba_chunk_scan_combined(**moving, **fixed, **flags)
    first, state = mamba_chunk_scan_combined(**left, **fixed, **flags)
    second, last = mamba_chunk_scan_combined(**right, **fixed, **flags, initial_states=state)
    torch.testing.assert_close(torch.cat([first, second], 1), whole)
    torch.testing.assert_close(last, final)
    alone, alone_final = mamba_chunk_scan_combined(**right, **fixed, **flags)
    owners = torch.tensor([[0, 0, 0, 0, 1, 1, 1]])
    packed, packed_final = mamba_chunk_scan_combined(**moving, **fixed, **flags, seq_idx=owners)
    torch.testing.assert_close(packed, torch.cat([first, alone], 1))
    torch.testing.assert_close(packed_final, alone_final)


@pytest.mark.parametrize("normed", [None, True, False])
@pytest.mark.parametrize("feed_forward", [0, 6])
def test_split_scan_equals_its_parts(normed, feed_forward):
    heads, size, groups, states, width = 4, 3, 2, 5, 4
    inner, mixed = heads * size, heads * size + 2 * groups * states
    packed = torch.randn(2, 7, 2 * feed_forward + inner + mixed + heads)
    weight, bias = torch.randn(mixed, width), torch.randn(mixed)
    rate, skip, dt_bias = -torch.rand(heads), torch.randn(heads), torch.randn(heads)
    gain = None if normed is None else torch.randn(inner)
    project, project_bias = torch.randn(9, feed_forward + inner), torch.randn(9)
    output, final = mamba_split_conv1d_scan_combined(
        packed, weight, bias, dt_bias, rate, skip, 8, return_final_states=True, rmsnorm_weight=gain,
        outproj_weight=project, outproj_bias=project_bias, headdim=size, ngroups=groups, norm_before_gate=bool(normed),
    )  # fmt: skip
    up, gate, z, u, dt = packed.split([feed_forward, feed_forward, inner, mixed, heads], -1)
    u = causal_conv1d_fn(u.transpose(1, 2), weight, bias, activation="silu").transpose(1, 2)
    x, into, out_of = u.split([inner, groups * states, groups * states], -1)
    y, wanted_final = mamba_chunk_scan_combined(
        x.unflatten(-1, (heads, size)), dt, rate, into.unflatten(-1, (groups, states)),
        out_of.unflatten(-1, (groups, states)), 8, skip, None if gain is not None else z.unflatten(-1, (heads, size)),
        dt_bias, dt_softplus=True, return_final_states=True,
    )  # fmt: skip
    y = y.flatten(2)
    if gain is not None:
        y = norms.rmsnorm_fn(y, gain, None, z, 1e-6, inner // groups, normed)
    y = torch.cat([functional.silu(up) * gate, y], -1)
    torch.testing.assert_close(output, functional.linear(y, project, project_bias))
    torch.testing.assert_close(final, wanted_final)
    assert mamba_split_conv1d_scan_combined(
        packed.to("meta"), weight.to("meta"), bias.to("meta"), dt_bias.to("meta"), rate.to("meta"), skip.to("meta"), 8,
        headdim=size, ngroups=groups,
    ).shape == (2, 7, feed_forward + inner)  # fmt: skip


def test_inner_equals_its_parts():
    channels, states, rank, width, out = 4, 3, 2, 4, 5
    xz, kernel = torch.randn(2, 2 * channels, 6), torch.randn(channels, 1, width)
    shift, x_proj = torch.randn(channels), torch.randn(rank + 2 * states, channels)
    dt_proj, out_proj, out_bias = torch.randn(channels, rank), torch.randn(out, channels), torch.randn(out)
    rate, skip, dt_bias = -torch.rand(channels, states), torch.randn(channels), torch.randn(channels)
    output = mamba_inner_fn(xz, kernel, shift, x_proj, dt_proj, out_proj, out_bias, rate, D=skip, delta_bias=dt_bias)
    x, z = xz.chunk(2, 1)
    x = causal_conv1d_fn(x, kernel[:, 0], shift, activation="silu")
    projected = torch.einsum("rd,bdt->brt", x_proj, x)
    delta = torch.einsum("dr,brt->bdt", dt_proj, projected[:, :rank])
    y = selective_scan_fn(
        x, delta, rate, projected[:, rank : rank + states], projected[:, rank + states :], skip, z, dt_bias, True
    )
    torch.testing.assert_close(output, functional.linear(y.transpose(1, 2), out_proj, out_bias))


@settings(max_examples=25, deadline=None)
@given(
    groups=st.integers(1, 3),
    size=st.integers(1, 4),
    centred=st.booleans(),
    before=st.booleans(),
    gated=st.booleans(),
    whole=st.booleans(),
)
def test_gated_norms_equal_the_definition(groups, size, centred, before, gated, whole):
    kind = norms.LayerNorm if centred else norms.RMSNorm
    module = kind(groups * size, eps=1e-3, group_size=None if whole else size, norm_before_gate=before)
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter)
    x, z = torch.randn(2, 3, groups * size), torch.randn(2, 3, groups * size)
    wanted, gate = numbers(x), silu(numbers(z))
    if gated and not before:
        wanted = wanted * gate
    parts = wanted.reshape(2, 3, -1, groups * size if whole else size)
    if centred:
        parts = parts - parts.mean(-1, keepdims=True)
    wanted = (parts / np.sqrt((parts**2).mean(-1, keepdims=True) + 1e-3)).reshape(wanted.shape) * numbers(module.weight)
    if centred:
        wanted = wanted + numbers(module.bias)
    if gated and before:
        wanted = wanted * gate
    np.testing.assert_allclose(numbers(module(x, z if gated else None)), wanted, atol=2e-5, rtol=1e-4)
    assert set(module.state_dict()) == ({"weight", "bias"} if centred else {"weight"})


@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("residual_type", [None, torch.float32, torch.bfloat16])
def test_adding_norms(centred, residual_type):
    x, weight, bias = torch.randn(2, 3, 8).bfloat16(), torch.randn(8), torch.randn(8)
    residual = None if residual_type is None else torch.randn(2, 3, 8).to(residual_type)
    function = add_norm.layer_norm_fn if centred else add_norm.rms_norm_fn
    output, kept = function(x, weight, bias, residual, eps=1e-3, prenorm=True, residual_in_fp32=True)
    total = numbers(x) + (0 if residual is None else numbers(residual))
    middle = total - total.mean(-1, keepdims=True) if centred else total
    wanted = middle / np.sqrt((middle**2).mean(-1, keepdims=True) + 1e-3) * numbers(weight) + numbers(bias)
    assert (output.dtype, kept.dtype) == (torch.bfloat16, residual_type or torch.float32)
    np.testing.assert_allclose(numbers(output), wanted, atol=0.03, rtol=0.01)
    np.testing.assert_allclose(numbers(kept), total, atol=0.02, rtol=0.01)
    module = add_norm.RMSNorm(8, eps=1e-3)
    torch.testing.assert_close(module(x, residual), add_norm.rms_norm_fn(x, torch.ones(8), None, residual, eps=1e-3))
    with pytest.raises(UnsupportedCallError, match="rowscale"):
        function(x, weight, bias, rowscale=torch.ones(6))
    with pytest.raises(UnsupportedCallError, match="dropout"):
        function(x, weight, bias, dropout_p=0.1)


def test_types_meta_and_refusals():
    x = {name: value.bfloat16() for name, value in scan_case(2, 4, 6, 3, 2).items()}
    output, state = selective_scan_fn(**x, return_last_state=True)
    assert (output.dtype, state.dtype) == (torch.bfloat16, torch.float32)
    meta = {name: value.to("meta") for name, value in x.items()}
    output, state = selective_scan_fn(**meta, return_last_state=True)
    assert (output.shape, state.shape) == ((2, 4, 6), (2, 4, 3))
    with pytest.raises(UnsupportedCallError, match="complex"):
        selective_scan_fn(**{**x, "A": torch.randn(4, 3, dtype=torch.complex64)})
    with pytest.raises(UnsupportedCallError, match="varlen"):
        mamba_chunk_scan_combined(**ssd_case(), chunk_size=4, return_varlen_states=True)
    with pytest.raises(ValueError, match="multiple"):
        mamba_chunk_scan_combined(**ssd_case(heads=3), chunk_size=4)
    with pytest.raises(ValueError, match="groups of 3"):
        norms.rmsnorm_fn(torch.randn(2, 4), torch.ones(4), None, group_size=3)
