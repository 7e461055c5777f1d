"""Other people's code that the reference models are compared with: fetched when a test runs, never kept here."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import types
import zipfile
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from filelock import FileLock
from torch import Tensor, nn
from torch.nn import functional

DOWNLOAD_SECONDS = 60


def wheel(name: str, version: str, folder: Path) -> zipfile.ZipFile:
    """The wheel of ``name`` at ``version``, from ``folder`` or the package registry; without it the test is skipped."""
    with FileLock(folder / f"{name}.lock"):
        found = list(folder.glob(f"{name}-{version}-*.whl"))
        if not found:
            command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--quiet"]
            command += ["--disable-pip-version-check", "--timeout", "5", "--retries", "1", "--dest", str(folder)]
            try:
                subprocess.run(
                    [*command, f"{name}=={version}"], check=True, capture_output=True, timeout=DOWNLOAD_SECONDS
                )
            except (subprocess.SubprocessError, OSError) as error:
                pytest.skip(f"{name} {version} cannot be fetched from the package registry: {error}")
            found = list(folder.glob(f"{name}-{version}-*.whl"))
        return zipfile.ZipFile(found[0])


def unpack(archive: zipfile.ZipFile, folder: Path, *prefixes: str) -> Path:
    """Write the members of ``archive`` under ``prefixes`` into ``folder``."""
    for member in archive.namelist():
        if member.startswith(prefixes):
            archive.extract(member, folder)
    return folder


def load_file(path: Path, name: str) -> types.ModuleType:
    """Import one file as module ``name``."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class PlainShortConvolution(nn.Conv1d):
    """What ``fla.modules.ShortConvolution`` computes, position by position: a window of W inputs, then SiLU."""

    def __init__(self, hidden_size: int, kernel_size: int, activation: str) -> None:
        assert activation == "silu"
        super().__init__(hidden_size, hidden_size, kernel_size, groups=hidden_size, bias=False)

    def forward(
        self, x: Tensor, cache: Tensor | None, output_final_state: bool, cu_seqlens: Tensor | None
    ) -> tuple[Tensor, Tensor | None]:
        taps = self.weight.squeeze(1)
        results = torch.zeros_like(x)
        states = []
        bounds = [(row, 0, x.shape[1]) for row in range(x.shape[0])]
        if cu_seqlens is not None:
            bounds = [(0, first, last) for first, last in pairwise(cu_seqlens.tolist())]
        for number, (row, first, last) in enumerate(bounds):
            window = torch.zeros_like(taps) if cache is None else cache[number]
            for position in range(first, last):
                window = torch.cat((window[:, 1:], x[row, position].unsqueeze(1)), dim=1)
                results[row, position] = functional.silu((window * taps).sum(dim=1))
            states.append(window)
        return results, torch.stack(states) if output_final_state else None


class PlainGatedNorm(nn.Module):
    """What ``fla.modules.FusedRMSNormGated`` with a sigmoid computes."""

    def __init__(self, hidden_size: int, eps: float, activation: str) -> None:
        assert activation == "sigmoid"
        super().__init__()
        self.weight = nn.Parameter(torch.ones(hidden_size))
        self.eps = eps

    def forward(self, x: Tensor, gate: Tensor) -> Tensor:
        return functional.rms_norm(x, x.shape[-1:], self.weight, self.eps) * torch.sigmoid(gate)


def plain_kda(naive: types.ModuleType, arguments: dict[str, object]) -> tuple[Tensor, Tensor]:
    """``fla.ops.kda``'s kernels with everything inside them, on top of its ``naive_recurrent_kda``."""
    q, k, v, g, beta = (arguments[name] for name in ("q", "k", "v", "g", "beta"))
    assert isinstance(g, Tensor)
    assert arguments["use_qk_l2norm_in_kernel"]
    assert arguments["use_gate_in_kernel"]
    assert arguments["use_beta_sigmoid_in_kernel"]
    heads, size = g.shape[-2:]
    bias = arguments["dt_bias"].view(heads, size)
    rate = arguments["A_log"].exp().view(heads, 1)
    decay = arguments["lower_bound"] * torch.sigmoid(rate * (g.float() + bias))
    q = q / torch.sqrt(q.square().sum(-1, keepdim=True) + 1e-6)
    k = k / torch.sqrt(k.square().sum(-1, keepdim=True) + 1e-6)
    beta = beta.sigmoid()
    state = arguments["initial_state"]
    cu_seqlens = arguments.get("cu_seqlens")
    if cu_seqlens is None:
        return naive.naive_recurrent_kda(q, k, v, decay, beta, initial_state=state, output_final_state=True)
    outputs, states = [], []
    for number, (first, last) in enumerate(pairwise(cu_seqlens.tolist())):
        piece = [tensor[:, first:last] for tensor in (q, k, v, decay, beta)]
        initial = None if state is None else state[number : number + 1]
        output, final = naive.naive_recurrent_kda(*piece, initial_state=initial, output_final_state=True)
        outputs.append(output)
        states.append(final)
    return torch.cat(outputs, dim=1), torch.cat(states)


def stand_in_modules(naive: types.ModuleType) -> dict[str, types.ModuleType]:
    """Modules that the vendor's K3 code imports and that would need a GPU or the rest of ``llmcompressor``."""

    def module(name: str, **members: object) -> types.ModuleType:
        made = types.ModuleType(name)
        vars(made).update(members)
        return made

    def lengths(mask: Tensor) -> Tensor:
        return mask.sum(dim=-1, dtype=torch.int32)

    def boundaries(mask: Tensor) -> Tensor:
        return functional.pad(lengths(mask).cumsum(0), (1, 0))

    def kda(**arguments: object) -> tuple[Tensor, Tensor]:
        return plain_kda(naive, arguments)

    return {
        "fla": module("fla", __path__=[]),
        "fla.modules": module("fla.modules", FusedRMSNormGated=PlainGatedNorm, ShortConvolution=PlainShortConvolution),
        "fla.ops": module("fla.ops", __path__=[]),
        "fla.ops.kda": module("fla.ops.kda", chunk_kda=kda, fused_recurrent_kda=kda),
        "fla.ops.utils": module("fla.ops.utils", __path__=[]),
        "fla.ops.utils.index": module(
            "fla.ops.utils.index", prepare_cu_seqlens_from_mask=boundaries, prepare_lens_from_mask=lengths
        ),
        "fla.utils": module("fla.utils", tensor_cache=lambda function: function),
        "llmcompressor": module("llmcompressor", __path__=[]),
        "llmcompressor.modeling": module("llmcompressor.modeling", __path__=[]),
        "llmcompressor.modeling.moe": module("llmcompressor.modeling.moe", __path__=[]),
        "llmcompressor.modeling.moe.context": module(
            "llmcompressor.modeling.moe.context", get_calibrate_all_experts_flag=lambda: False
        ),
    }
