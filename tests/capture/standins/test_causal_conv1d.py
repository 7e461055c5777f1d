from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from openmodelatlas.capture.standins.causal_conv1d.convolution import (
    causal_conv1d_fn,
    causal_conv1d_update,
    causal_conv1d_varlen_states,
)

from .delta_formula import numbers, sigmoid


def formula(x, weight, bias, past, sequences=None):
    """One row: x [D, T], weight [D, W], past [D, W-1]; by the definition."""
    channels, tokens = x.shape
    width = weight.shape[1]
    line = np.concatenate([past, x], axis=1)
    output = np.zeros_like(x)
    for d in range(channels):
        for t in range(tokens):
            total = bias[d]
            for j in range(width):
                source = t - width + 1 + j
                if sequences is not None:
                    owner = sequences[max(source, 0)] if source >= 0 else sequences[0]
                    if owner != sequences[t]:
                        continue
                total += weight[d, j] * line[d, t + j]
            output[d, t] = 0.0 if sequences is not None and sequences[t] < 0 else total
    return output


@settings(max_examples=30, deadline=None)
@given(
    tokens=st.integers(1, 8),
    channels=st.integers(1, 4),
    width=st.integers(2, 4),
    bias=st.booleans(),
    past=st.booleans(),
    activation=st.sampled_from([None, "silu", "swish"]),
)
def test_equals_the_definition(tokens, channels, width, bias, past, activation):
    x, weight = torch.randn(2, channels, tokens), torch.randn(channels, width)
    shift = torch.randn(channels) if bias else None
    before = torch.randn(2, channels, width - 1) if past else None
    output, final = causal_conv1d_fn(
        x, weight, shift, initial_states=before, return_final_states=True, activation=activation
    )
    history = torch.zeros(2, channels, width - 1) if before is None else before
    zero = np.zeros(channels)
    for b in range(2):
        wanted = formula(numbers(x[b]), numbers(weight), zero if shift is None else numbers(shift), numbers(history[b]))
        wanted = wanted if activation is None else wanted * sigmoid(wanted)
        np.testing.assert_allclose(numbers(output[b]), wanted, atol=1e-5)
    assert torch.equal(final, torch.cat([history, x], -1)[..., tokens:])
    out = torch.empty_like(final)
    _, same = causal_conv1d_fn(x, weight, initial_states=before, return_final_states=True, final_states_out=out)
    assert same is out
    assert torch.equal(out, final)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(-1, 3), min_size=1, max_size=8).map(sorted), st.booleans())
def test_packed_sequences_do_not_mix(owners, past):
    x, weight, bias = torch.randn(1, 2, len(owners)), torch.randn(2, 3), torch.randn(2)
    before = torch.randn(1, 2, 2) if past else torch.zeros(1, 2, 2)
    output = causal_conv1d_fn(x, weight, bias, seq_idx=torch.tensor([owners]), initial_states=before if past else None)
    wanted = formula(numbers(x[0]), numbers(weight), numbers(bias), numbers(before[0]), owners)
    np.testing.assert_allclose(numbers(output[0]), wanted, atol=1e-5)


def test_exclusions():
    x, weight = torch.randn(1, 2, 4), torch.randn(2, 3)
    with pytest.raises(ValueError, match="exclude"):
        causal_conv1d_fn(x, weight, seq_idx=torch.zeros(1, 4), return_final_states=True)
    with pytest.raises(NotImplementedError, match="gelu"):
        causal_conv1d_fn(x, weight, activation="gelu")
    with pytest.raises(NotImplementedError, match="cache_seqlens"):
        causal_conv1d_update(x, x, weight, cache_seqlens=torch.zeros(1), conv_state_indices=torch.zeros(1))


@pytest.mark.parametrize("length", [3, 5])
@pytest.mark.parametrize("steps", [(1, 1, 1, 1, 1), (2, 3), (1, 3, 1)])
@pytest.mark.parametrize("kind", ["shifted", "ring", "indexed"])
def test_updates_continue_the_convolution(length, steps, kind):
    if kind == "ring" and max(steps) + 3 > length:
        steps = (1,) * 5  # a ring must hold the new tokens beside the old ones
    x, weight, bias = torch.randn(2, 4, 5), torch.randn(4, 4), torch.randn(4)
    whole = causal_conv1d_fn(x, weight, bias, activation="silu")
    state = torch.zeros(3 if kind == "indexed" else 2, 4, length)
    rows = torch.tensor([2, 0], dtype=torch.int32)
    at, pieces = 0, []
    for count in steps:
        more = {}
        if kind == "ring":
            more = {"cache_seqlens": torch.full((2,), at, dtype=torch.int32)}
        elif kind == "indexed":
            more = {"conv_state_indices": rows}
        piece = x[..., at : at + count]
        output = causal_conv1d_update(piece[..., 0] if count == 1 else piece, state, weight, bias, "silu", **more)
        pieces.append(output.view(2, 4, count))
        at += count
    torch.testing.assert_close(torch.cat(pieces, -1), whole)
    if kind == "shifted":
        assert torch.equal(state, x[..., 5 - length :])
    elif kind == "indexed":
        assert torch.equal(state[rows.long()], x[..., 5 - length :])
        assert not state[1].any()


def test_types_and_meta():
    x, weight = torch.randn(2, 4, 5), torch.randn(4, 4)
    assert causal_conv1d_fn(x.bfloat16(), weight).dtype == torch.bfloat16
    state = torch.zeros(2, 4, 4, device="meta")
    assert causal_conv1d_fn(x.to("meta"), weight.to("meta")).shape == x.shape
    assert causal_conv1d_update(x[..., 0].to("meta"), state, weight.to("meta")).shape == (2, 4)


def test_states_of_packed_sequences():
    x = torch.randn(6, 2)
    states = causal_conv1d_varlen_states(x, torch.tensor([0, 1, 6]), 3)
    assert torch.equal(states[0], torch.stack([torch.zeros(2), torch.zeros(2), x[0]], -1))
    assert torch.equal(states[1], x[3:].T)
