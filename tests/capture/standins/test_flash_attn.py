from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from openmodelatlas.capture.standins import UnsupportedCallError
from openmodelatlas.capture.standins.flash_attn import attention, padding
from openmodelatlas.capture.standins.flash_attn import packed as packed_attention
from openmodelatlas.capture.standins.flash_attn.rotary import apply_rotary_emb

from .delta_formula import numbers


def formula(q, k, v, scale, causal, window, softcap):
    """One head: q [Tq, D], k and v [Tk, D]; by the definition, one query and one key at a time."""
    queries, keys = len(q), len(k)
    output = np.zeros((queries, v.shape[1]))
    for i in range(queries):
        place = i + keys - queries
        left, right = window
        right = 0 if causal else right
        scores, seen = [], []
        for j in range(keys):
            if (left >= 0 and j < place - left) or (right >= 0 and j > place + right):
                continue
            score = scale * float(q[i] @ k[j])
            scores.append(softcap * math.tanh(score / softcap) if softcap else score)
            seen.append(j)
        if seen:
            weights = np.exp(np.array(scores) - max(scores))
            output[i] = weights / weights.sum() @ v[seen]
    return output


def formula_heads(q, k, v, scale=None, causal=False, window=(-1, -1), softcap=0.0):
    q, k, v = numbers(q), numbers(k), numbers(v)
    share = q.shape[2] // k.shape[2]
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    output = np.zeros((*q.shape[:3], v.shape[-1]))
    for b in range(q.shape[0]):
        for h in range(q.shape[2]):
            output[b, :, h] = formula(
                q[b, :, h], k[b, :, h // share], v[b, :, h // share], scale, causal, window, softcap
            )
    return output


@settings(max_examples=40, deadline=None)
@given(
    queries=st.integers(1, 6),
    keys=st.integers(1, 7),
    heads=st.integers(1, 2),
    share=st.integers(1, 3),
    causal=st.booleans(),
    window=st.tuples(st.integers(-1, 3), st.integers(-1, 3)),
    softcap=st.sampled_from([0.0, 2.5]),
    scale=st.sampled_from([None, 0.3]),
)
def test_equals_the_definition(queries, keys, heads, share, causal, window, softcap, scale):
    q = torch.randn(2, queries, heads * share, 4)
    k, v = torch.randn(2, keys, heads, 4), torch.randn(2, keys, heads, 4)
    options = {"softmax_scale": scale, "causal": causal, "window_size": window, "softcap": softcap}
    output = attention.flash_attn_func(q, k, v, **options)
    wanted = formula_heads(q, k, v, scale, causal, window, softcap)
    np.testing.assert_allclose(numbers(output), wanted, atol=1e-5)
    packed = attention.flash_attn_kvpacked_func(q, torch.stack([k, v], 2), **options)
    assert torch.equal(packed, output)


def test_causal_mask_aligns_at_the_last_token_and_unseen_rows_are_zero():
    q, k = torch.randn(1, 5, 1, 4), torch.randn(1, 2, 1, 4)
    v = torch.randn(1, 2, 1, 4)
    output = attention.flash_attn_func(q, k, v, causal=True)
    assert not output[:, :3].any()
    torch.testing.assert_close(output[:, 3], v[:, 0])


def test_packed_sequences_equal_separate_ones():
    starts_q, starts_k = torch.tensor([0, 2, 2, 5]), torch.tensor([0, 4, 5, 8])
    q, k, v = torch.randn(5, 4, 3), torch.randn(8, 2, 3), torch.randn(8, 2, 3)
    output = packed_attention.flash_attn_varlen_func(q, k, v, starts_q, starts_k, 3, 4, causal=True, window_size=(1, 1))
    for number in range(3):
        a, b = slice(*starts_q[number : number + 2].tolist()), slice(*starts_k[number : number + 2].tolist())
        wanted = formula_heads(q[None, a], k[None, b], v[None, b], causal=True, window=(1, 1))
        np.testing.assert_allclose(numbers(output[None, a]), wanted, atol=1e-5)
    both = packed_attention.flash_attn_varlen_kvpacked_func(
        q, torch.stack([k, v], 1), starts_q, starts_k, 3, 4, causal=True, window_size=(1, 1)
    )
    assert torch.equal(both, output)
    alike = packed_attention.flash_attn_varlen_func(k, k, v, starts_k, starts_k, 4, 4, causal=True)
    three = packed_attention.flash_attn_varlen_qkvpacked_func(torch.stack([k, k, v], 1), starts_k, 4, causal=True)
    assert torch.equal(three, alike)
    with pytest.raises(ValueError, match="sequences"):
        packed_attention.flash_attn_varlen_func(q, k, v, starts_q, starts_k[:3], 3, 4)


def test_types_meta_and_packed_input():
    qkv = torch.randn(2, 5, 3, 4, 8).bfloat16()
    output = attention.flash_attn_qkvpacked_func(qkv, causal=True)
    assert output.dtype == torch.bfloat16
    wanted = formula_heads(*qkv.unbind(2), causal=True)
    np.testing.assert_allclose(numbers(output), wanted, atol=0.02, rtol=0.02)
    meta = qkv.to("meta")
    assert attention.flash_attn_qkvpacked_func(meta).shape == output.shape
    edges = torch.empty(3, device="meta", dtype=torch.int32)
    packed = meta.flatten(0, 1)
    assert packed_attention.flash_attn_varlen_func(*packed.unbind(1), edges, edges, 5, 5).shape == (10, 4, 8)
    cached = attention.flash_attn_with_kvcache(*meta.unbind(2), cache_seqlens=edges, return_softmax_lse=True)
    assert [x.shape for x in cached] == [(2, 5, 4, 8), (2, 4, 5)]


@pytest.mark.parametrize("rotary", [False, True])
def test_decoding_with_a_cache_equals_attention_over_everything(rotary):
    keys, values, queries = torch.randn(2, 6, 2, 4), torch.randn(2, 6, 2, 4), torch.randn(2, 6, 4, 4)
    angles = torch.randn(9, 1)
    turn = {"rotary_cos": angles.cos(), "rotary_sin": angles.sin()} if rotary else {}
    caches = torch.zeros(3, 9, 2, 4), torch.zeros(3, 9, 2, 4)
    rows = torch.tensor([2, 0])
    seen = torch.zeros(2, dtype=torch.int32)
    for step in (slice(0, 4), slice(4, 5), slice(5, 6)):
        output = attention.flash_attn_with_kvcache(
            queries[:, step], *caches, keys[:, step], values[:, step], cache_seqlens=seen, cache_batch_idx=rows,
            causal=True, **turn,
        )  # fmt: skip
        seen = seen + (step.stop - step.start)
        if rotary:
            turned = [apply_rotary_emb(x, angles.cos(), angles.sin(), interleaved=True) for x in (queries, keys)]
        else:
            turned = [queries, keys]
        wanted = formula_heads(
            turned[0][:, : step.stop], turned[1][:, : step.stop], values[:, : step.stop], causal=True
        )
        np.testing.assert_allclose(numbers(output), wanted[:, step], atol=1e-5)
    assert torch.equal(caches[1][rows, :6], values)
    assert not caches[1][1].any()
    with pytest.raises(ValueError, match="no room"):
        attention.flash_attn_with_kvcache(queries, *caches, keys, values, cache_seqlens=4)


def test_log_sum_of_scores():
    q, k, v = torch.randn(1, 3, 1, 4), torch.randn(1, 5, 1, 4), torch.randn(1, 5, 1, 4)
    _, lse = attention.flash_attn_with_kvcache(q, k, v, return_softmax_lse=True)
    scores = numbers(q[0, :, 0]) @ numbers(k[0, :, 0]).T / 2
    np.testing.assert_allclose(numbers(lse[0, 0]), np.log(np.exp(scores).sum(-1)), rtol=1e-5)


@pytest.mark.parametrize("more", [{"alibi_slopes": torch.ones(4)}, {"dropout_p": 0.1}, {"return_attn_probs": True}])
def test_what_it_cannot_do_is_refused(more):
    q = torch.randn(1, 3, 4, 4)
    with pytest.raises(UnsupportedCallError, match=next(iter(more))):
        attention.flash_attn_func(q, q, q, **more)
    with pytest.raises(ValueError, match="multiple"):
        attention.flash_attn_func(q, q[:, :, :3], q[:, :, :3])


@pytest.mark.parametrize("interleaved", [False, True])
def test_rotary_turns_pairs(interleaved):
    x = torch.randn(2, 3, 2, 6)
    angles = torch.randn(8, 2)
    output = apply_rotary_emb(x, angles.cos(), angles.sin(), interleaved, seqlen_offsets=torch.tensor([0, 4]))
    assert torch.equal(output[..., 4:], x[..., 4:])
    for b in range(2):
        for t in range(3):
            for i in range(2):
                first, second = (2 * i, 2 * i + 1) if interleaved else (i, i + 2)
                pair = torch.complex(x[b, t, :, first].double(), x[b, t, :, second].double())
                turned = pair * torch.polar(torch.ones(()).double(), angles[t + 4 * b, i].double())
                np.testing.assert_allclose(numbers(output[b, t, :, first]), numbers(turned.real), atol=1e-5)
                np.testing.assert_allclose(numbers(output[b, t, :, second]), numbers(turned.imag), atol=1e-5)
    packed = apply_rotary_emb(
        x.flatten(0, 1), angles.cos(), angles.sin(), interleaved, seqlen_offsets=torch.tensor([0, 4]),
        cu_seqlens=torch.tensor([0, 3, 6]),
    )  # fmt: skip
    assert torch.equal(packed, output.flatten(0, 1))
    same = apply_rotary_emb(x, angles.cos(), angles.sin(), interleaved, inplace=True)
    assert same is x


def test_padding_and_back():
    mask = torch.tensor([[0, 1, 1], [1, 1, 1], [0, 0, 1]])
    x = torch.randn(3, 3, 2, 4)
    packed, indices, starts, longest, used = padding.unpad_input(x, mask)
    assert torch.equal(packed, x[mask.bool()])
    assert (starts.tolist(), longest, used.tolist()) == ([0, 2, 5, 6], 3, [2, 3, 1])
    assert torch.equal(padding.index_first_axis(x.flatten(0, 1), indices), packed)
    assert torch.equal(padding.pad_input(packed, indices, 3, 3), x * mask[..., None, None])
    assert torch.equal(padding.index_put_first_axis(packed, indices, 9).view(x.shape), x * mask[..., None, None])
    meta = padding.unpad_input(x.to("meta"), mask.to("meta"))
    assert (meta[0].shape, meta[3]) == ((9, 2, 4), 3)
