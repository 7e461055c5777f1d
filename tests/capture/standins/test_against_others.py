"""The stand-ins beside other people's plain-PyTorch code for the same kernels, read at test time."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import torch

from openmodelatlas.capture.standins.causal_conv1d import convolution
from openmodelatlas.capture.standins.fla import gated_delta, kda
from openmodelatlas.capture.standins.mamba_ssm import selective_scan, ssd

pytestmark = pytest.mark.filterwarnings("ignore")


def fallback(module: str, name: str):
    """transformers' own PyTorch function behind a kernel."""
    found = importlib.import_module(f"transformers.models.{module}.modeling_{module}")
    return getattr(found, name)


def sequence(tokens=70, heads=2, key=8, value=6):
    generator = torch.Generator().manual_seed(3)

    def random(*shape):
        return torch.randn(*shape, generator=generator)

    q, k, v = random(2, tokens, heads, key), random(2, tokens, heads, key), random(2, tokens, heads, value)
    return q, k, v, random(2, tokens, heads, key), torch.sigmoid(random(2, tokens, heads)), random(2, heads, key, value)


@pytest.mark.parametrize("tokens", [1, 64, 70])
def test_kda_equals_transformers(tokens):
    q, k, v, g, beta, state = sequence(tokens)
    g = -torch.nn.functional.softplus(g)
    options = {"output_final_state": True, "use_qk_l2norm_in_kernel": True}
    chunk = fallback("kimi_linear", "chunk_kimi_delta_attention")
    recurrent = fallback("kimi_linear", "recurrent_kimi_delta_attention")
    for theirs in (chunk, recurrent):
        wanted = theirs(q, k, v, g, beta, initial_state=state, **options)
        for ours in (kda.chunk_kda, kda.fused_recurrent_kda):
            got = ours(q, k, v, g, beta, initial_state=state, **options)
            torch.testing.assert_close(got[0], wanted[0], atol=2e-5, rtol=1e-4)
            torch.testing.assert_close(got[1], wanted[1], atol=2e-5, rtol=1e-4)


def test_gated_delta_rule_equals_transformers():
    q, k, v, g, beta, state = sequence()
    g = -torch.nn.functional.softplus(g[..., 0])
    options = {"initial_state": state, "output_final_state": True, "use_qk_l2norm_in_kernel": True}
    wanted = fallback("qwen3_next", "torch_chunk_gated_delta_rule")(q, k, v, g=g, beta=beta, **options)
    for ours in (gated_delta.chunk_gated_delta_rule, gated_delta.fused_recurrent_gated_delta_rule):
        got = ours(q, k, v, g=g, beta=beta, **options)
        torch.testing.assert_close(got[0], wanted[0], atol=2e-5, rtol=1e-4)
        torch.testing.assert_close(got[1], wanted[1], atol=2e-5, rtol=1e-4)


def test_convolution_equals_transformers():
    x, weight, bias = torch.randn(2, 5, 9), torch.randn(5, 4), torch.randn(5)
    wanted = fallback("qwen3_next", "causal_conv1d_fn")(x, weight, bias, activation="silu")
    torch.testing.assert_close(convolution.causal_conv1d_fn(x, weight, bias, activation="silu"), wanted)
    state = torch.randn(2, 5, 4)
    other = state.clone()
    wanted = fallback("qwen3_next", "causal_conv1d_update")(x[..., :1], state, weight, bias, "silu")
    got = convolution.causal_conv1d_update(x[..., :1], other, weight, bias, "silu")
    torch.testing.assert_close(got, wanted)
    torch.testing.assert_close(other, state)


def test_mamba2_equals_transformers():
    heads, size, groups, states, tokens = 4, 3, 2, 5, 21
    x, dt = torch.randn(2, tokens, heads, size), torch.randn(2, tokens, heads)
    rate, skip, bias = -torch.rand(heads), torch.randn(heads), torch.randn(heads)
    into, out_of = torch.randn(2, tokens, groups, states), torch.randn(2, tokens, groups, states)
    options = {"chunk_size": 8, "D": skip, "dt_bias": bias, "dt_softplus": True, "return_final_states": True}
    wanted = fallback("mamba2", "mamba2_chunk_scan")(x, dt, rate, into, out_of, **options)
    got = ssd.mamba_chunk_scan_combined(x, dt, rate, into, out_of, **options)
    torch.testing.assert_close(got[0], wanted[0], atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(got[1], wanted[1], atol=1e-4, rtol=1e-4)


def test_mamba_equals_transformers():
    u, delta, z = torch.randn(2, 4, 9), torch.randn(2, 4, 9), torch.randn(2, 4, 9)
    rate, skip, bias = -torch.rand(4, 3), torch.randn(4), torch.randn(4)
    into, out_of = torch.randn(2, 3, 9), torch.randn(2, 3, 9)
    arguments = (u, delta, rate, into, out_of, skip, z, bias)
    wanted = fallback("mamba", "mamba_selective_scan")(*arguments, delta_softplus=True, return_last_state=True)
    got = selective_scan.selective_scan_fn(*arguments, delta_softplus=True, return_last_state=True)
    torch.testing.assert_close(got[0], wanted[0], atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(got[1], wanted[1], atol=1e-5, rtol=1e-4)


@pytest.fixture(scope="module")
def naive_kda(tmp_path_factory):
    """``fla.ops.kda.naive`` of fla-core, which needs torch and einops only."""
    folder = tmp_path_factory.mktemp("fla-core")
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "-q",
        "--no-deps",
        "-d",
        str(folder),
        "fla-core==0.6.0",
        "einops",
    ]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    except (subprocess.SubprocessError, OSError) as error:
        pytest.skip(f"fla-core and einops cannot be downloaded here: {error}")
    (wheel,) = folder.glob("fla_core*.whl")
    (einops,) = folder.glob("einops*.whl")
    file = Path(zipfile.ZipFile(wheel).extract("fla/ops/kda/naive.py", folder))
    path = list(sys.path)
    sys.path.insert(0, str(einops))
    spec = importlib.util.spec_from_file_location("naive_kda_of_fla_core", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = path
    for name in [name for name in sys.modules if name.partition(".")[0] == "einops"]:
        del sys.modules[name]


@pytest.mark.parametrize("share", [1, 3])
def test_kda_equals_fla_core(naive_kda, share):
    q, k, *_ = sequence(tokens=128)
    _, _, v, g, beta, state = sequence(tokens=128, heads=2 * share)
    q, k = torch.nn.functional.normalize(q, dim=-1), torch.nn.functional.normalize(k, dim=-1)
    g = -torch.nn.functional.softplus(g)
    options = {"initial_state": state, "output_final_state": True, "scale": 0.4}
    for theirs in (naive_kda.naive_recurrent_kda, naive_kda.naive_chunk_kda):
        wanted = theirs(q, k, v, g, beta, **options)
        for ours in (kda.chunk_kda, kda.fused_recurrent_kda):
            got = ours(q, k, v, g, beta, **options)
            torch.testing.assert_close(got[0], wanted[0], atol=2e-5, rtol=1e-4)
            torch.testing.assert_close(got[1], wanted[1], atol=2e-5, rtol=1e-4)
