from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from openmodelatlas.capture.standins import UnsupportedCallError
from openmodelatlas.capture.standins.fla import convolution, index, norms, padding
from openmodelatlas.capture.standins.fla.convolution import ShortConvolution
from openmodelatlas.capture.standins.fla.utils import tensor_cache

from .delta_formula import numbers, sigmoid


def convolved(x, weight, bias, history):
    """One sequence: x [T, D], weight [D, W], history [D, W]; by the definition."""
    width = weight.shape[1]
    line = np.concatenate([history.T, x])
    output = np.zeros_like(x)
    for t in range(x.shape[0]):
        for d in range(x.shape[1]):
            output[t, d] = bias[d] + sum(weight[d, j] * line[width + t - (width - 1) + j, d] for j in range(width))
    return output * sigmoid(output), line[len(line) - width :].T


@settings(max_examples=25, deadline=None)
@given(
    batch=st.integers(1, 3),
    tokens=st.integers(1, 9),
    channels=st.integers(1, 5),
    width=st.integers(1, 5),
    bias=st.booleans(),
    history=st.booleans(),
)
def test_short_convolution_equals_the_definition(batch, tokens, channels, width, bias, history):
    module = ShortConvolution(channels, width, bias=bias)
    x, residual = torch.randn(batch, tokens, channels), torch.randn(batch, tokens, channels)
    cache = torch.randn(batch, channels, width) if history else None
    past = np.zeros((batch, channels, width)) if cache is None else numbers(cache)
    with torch.no_grad():
        output, final = module(x, residual=residual, cache=cache, output_final_state=True)
    shift = numbers(module.bias) if bias else np.zeros(channels)
    for b in range(batch):
        wanted, wanted_final = convolved(numbers(x[b]), numbers(module.weight)[:, 0], shift, past[b])
        np.testing.assert_allclose(numbers(output[b]), wanted + numbers(residual[b]), atol=1e-5)
        np.testing.assert_allclose(numbers(final[b]), wanted_final, atol=1e-6)


def test_short_convolution_has_the_parameters_of_the_original():
    module = ShortConvolution(hidden_size=6, kernel_size=4, activation="silu", bias=True)
    assert {name: tuple(value.shape) for name, value in module.state_dict().items()} == {
        "weight": (6, 1, 4),
        "bias": (6,),
    }
    assert module.state_size == 24


@torch.no_grad()
def test_decoding_continues_a_prefill_and_updates_the_cache_in_place():
    module = ShortConvolution(5, 4)
    x = torch.randn(2, 7, 5)
    whole, _ = module(x)
    output, cache = module(x[:, :3], output_final_state=True)
    pieces = [output]
    for t in range(3, 7):
        piece, same = module(x[:, t : t + 1], cache=cache, output_final_state=True)
        assert same is cache
        pieces.append(piece)
    torch.testing.assert_close(torch.cat(pieces, 1), whole)
    torch.testing.assert_close(cache, x[:, 3:].transpose(1, 2))


@torch.no_grad()
def test_packed_convolution_equals_separate_ones():
    module = ShortConvolution(5, 4)
    x, caches = torch.randn(1, 8, 5), torch.randn(3, 5, 4)
    edges = [0, 2, 7, 8]
    output, finals = module(x, cache=caches, output_final_state=True, cu_seqlens=torch.tensor(edges))
    for number, (start, end) in enumerate(itertools.pairwise(edges)):
        alone, final = module(x[:, start:end], cache=caches[number : number + 1].clone(), output_final_state=True)
        torch.testing.assert_close(output[:, start:end], alone)
        torch.testing.assert_close(finals[number], final[0])
    one_each, updated = module(x[:, :3], cache=caches, output_final_state=True, cu_seqlens=torch.arange(4))
    assert updated is caches
    assert one_each.shape == (1, 3, 5)


@torch.no_grad()
def test_mask_multiplies_the_input_in_place():
    module = ShortConvolution(5, 4)
    x = torch.randn(1, 6, 5)
    mask = torch.tensor([[0, 0, 1, 1, 1, 1]])
    wanted, _ = module(x[:, 2:])
    output, _ = module(x, mask=mask)
    torch.testing.assert_close(output[:, 2:], wanted)
    assert not x[:, :2].any()
    with pytest.raises(ValueError, match="exclude"):
        module(x, mask=mask, cu_seqlens=torch.tensor([0, 6]))


@torch.no_grad()
def test_convolution_types_and_meta():
    module = ShortConvolution(5, 4)
    output, final = module(torch.randn(2, 3, 5).bfloat16(), output_final_state=True)
    assert (output.dtype, final.dtype) == (torch.bfloat16, torch.bfloat16)
    module = ShortConvolution(5, 4, device="meta")
    x = torch.empty(1, 3, 5, device="meta")
    edges = torch.empty(4, dtype=torch.int32, device="meta")
    for given_edges in (None, edges):
        output, final = module(x, output_final_state=True, cu_seqlens=given_edges)
        assert output.shape == x.shape
        assert final.shape == (1 if given_edges is None else 3, 5, 4)


def test_convolution_refuses_what_it_lacks():
    x, weight = torch.randn(1, 3, 5), torch.randn(5, 4)
    with pytest.raises(UnsupportedCallError, match="seq_idx"):
        convolution.causal_conv1d(x, weight, seq_idx=torch.zeros(1, 3))
    with pytest.raises(UnsupportedCallError, match="weight"):
        convolution.causal_conv1d(x)
    with pytest.raises(ValueError, match="silu"):
        convolution.causal_conv1d(x, weight, activation="gelu")
    with pytest.raises(ValueError, match="silu"):
        ShortConvolution(5, 4, activation="gelu")


@settings(max_examples=25, deadline=None)
@given(
    shape=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    gate=st.sampled_from([None, "silu", "swish", "sigmoid"]),
    centred=st.booleans(),
    bias=st.booleans(),
    residual=st.booleans(),
    eps=st.sampled_from([1e-6, 1e-2]),
)
def test_norms_equal_the_definition(shape, gate, centred, bias, residual, eps):
    x, g = torch.randn(*shape), torch.randn(*shape)
    weight = torch.randn(shape[-1])
    shift = torch.randn(shape[-1]) if bias else None
    more = torch.randn(*shape) if residual else None
    total = numbers(x) + (0 if more is None else numbers(more))
    middle = total - total.mean(-1, keepdims=True) if centred else total
    wanted = middle / np.sqrt((middle**2).mean(-1, keepdims=True) + eps) * numbers(weight)
    wanted = wanted + (0 if shift is None else numbers(shift))
    if gate is None:
        function = norms.layer_norm if centred else norms.rms_norm
        output, kept = function(x, weight, shift, residual=more, eps=eps, prenorm=True)
    else:
        function = norms.layer_norm_gated if centred else norms.rms_norm_gated
        output, kept = function(x, g, weight, shift, activation=gate, residual=more, eps=eps, prenorm=True)
        wanted = wanted * sigmoid(numbers(g)) * (1 if gate == "sigmoid" else numbers(g))
    np.testing.assert_allclose(numbers(output), wanted, atol=2e-5, rtol=1e-4)
    np.testing.assert_allclose(numbers(kept), total, atol=1e-6)


def test_gated_norm_rounds_once():
    module = norms.FusedRMSNormGated(64, activation="sigmoid", eps=1e-5, dtype=torch.bfloat16)
    torch.nn.init.normal_(module.weight)
    x, g = torch.randn(3, 64).bfloat16(), torch.randn(3, 64).bfloat16()
    wide = numbers(x) / np.sqrt((numbers(x) ** 2).mean(-1, keepdims=True) + 1e-5)
    wanted = torch.from_numpy(wide * numbers(module.weight) * sigmoid(numbers(g))).to(torch.bfloat16)
    output = module(x, g)
    assert output.dtype == torch.bfloat16
    assert (output != wanted).float().mean() < 0.02  # a float32 value may lie on the edge between two roundings
    assert dict(module.named_parameters()).keys() == {"weight"}


def test_norm_modules_have_the_parameters_of_the_originals():
    x, g = torch.randn(3, 6), torch.randn(3, 6)
    assert set(norms.RMSNorm(6).state_dict()) == {"weight"}
    assert set(norms.LayerNorm(6, bias=True).state_dict()) == {"weight", "bias"}
    assert not norms.RMSNorm(6, elementwise_affine=False).state_dict()
    gated = norms.FusedLayerNormGated(6, bias=True, activation="sigmoid")
    assert set(gated.state_dict()) == {"weight", "bias"}
    torch.testing.assert_close(gated(x, g), torch.nn.functional.layer_norm(x, (6,), eps=1e-5) * torch.sigmoid(g))
    torch.testing.assert_close(norms.FusedRMSNormSwishGate(6)(x, g), norms.FusedRMSNormGated(6)(x, g))
    torch.testing.assert_close(norms.RMSNorm(6, eps=1e-5)(x), torch.nn.functional.rms_norm(x, (6,), eps=1e-5))
    torch.testing.assert_close(norms.LayerNorm(6)(x), torch.nn.functional.layer_norm(x, (6,)))
    with pytest.raises(ValueError, match="activation"):
        norms.FusedRMSNormGated(6, activation="relu")


def test_length_norm():
    x = torch.randn(2, 3, 7)
    wanted = numbers(x) / np.sqrt((numbers(x) ** 2).sum(-1, keepdims=True) + 1e-6)
    np.testing.assert_allclose(numbers(norms.l2norm(x)), wanted, atol=1e-6)
    assert norms.L2Norm(output_dtype=torch.float64)(x).dtype == torch.float64


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=1, max_size=4))
def test_packing_and_padding_are_inverse(rows):
    mask = torch.tensor(rows).long()
    x = torch.randn(*mask.shape, 3, 2)
    indices, edges, longest = padding.get_unpad_data(mask)
    counts = [sum(row) for row in rows]
    assert indices.tolist() == [b * 5 + t for b, row in enumerate(rows) for t, kept in enumerate(row) if kept]
    assert edges.tolist() == [sum(counts[:b]) for b in range(len(rows) + 1)]
    assert edges.dtype == torch.int32
    assert longest == max(counts)
    assert torch.equal(edges, index.prepare_cu_seqlens_from_mask(mask))
    assert index.prepare_lens_from_mask(mask).tolist() == counts
    assert torch.equal(index.prepare_cu_seqlens_from_lens(index.prepare_lens(edges)), edges)
    assert index.prepare_position_ids(edges).tolist() == [t for count in counts for t in range(count)]
    packed = padding.index_first_axis(x.flatten(0, 1), indices)
    assert torch.equal(packed, x[mask.bool()])
    assert torch.equal(padding.pad_input(packed, indices, *mask.shape), x * mask[..., None, None])
    queries, states, _, (edges_q, edges_k), longest_both = padding.unpad_input(x, (x, x + 1), mask, 5, keepdim=True)
    assert torch.equal(queries[0], packed)
    assert torch.equal(states[1][0], (x + 1)[mask.bool()])
    assert edges_q is edges_k
    assert longest_both == (longest, longest)


def test_unpadding_one_query_and_meta():
    mask = torch.tensor([[0, 1, 1], [1, 1, 1]])
    one, _, indices, (edges, _), longest = padding.unpad_input(torch.randn(2, 1, 4), (torch.randn(2, 3, 4),), mask, 1)
    assert one.shape == (2, 4)
    assert indices.tolist() == [0, 1]
    assert edges.tolist() == [0, 1, 2]
    assert longest == (1, 3)
    with pytest.raises(NotImplementedError):
        padding.unpad_input(torch.randn(2, 2, 4), (torch.randn(2, 3, 4),), mask, 2)
    indices, edges, longest = padding.get_unpad_data(torch.ones(2, 3, device="meta", dtype=torch.long))
    assert (indices.shape, edges.shape, longest) == ((6,), (3,), 3)


def test_tensor_cache_goes_by_identity():
    calls = []

    @tensor_cache
    def double(x, *, by=2):
        calls.append(x)
        return x * by

    a, b = torch.ones(2), torch.ones(2)
    assert double(a) is double(a)
    assert double(b) is not double(a)
    assert len(calls) == 2
    double(a, by=3)
    assert len(calls) == 3
    for _ in range(5):
        double(torch.ones(2))
    double(a)
    assert len(calls) == 9
