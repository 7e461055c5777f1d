from __future__ import annotations

import importlib
import inspect

import pytest
import torch

from openmodelatlas.capture.standins import PACKAGES, registry
from openmodelatlas.capture.standins.fla.kda import chunk_kda
from openmodelatlas.capture.standins.fla.norms import FusedRMSNormGated
from openmodelatlas.capture.standins.registry import KernelSpec, kernel


def all_kernels():
    for package in PACKAGES.values():
        for module in package.implementations:
            found = importlib.import_module(module)
            for function in vars(found).values():
                spec = getattr(function, "__kernel__", None)
                if spec is not None and function.__module__ == module:
                    yield pytest.param(spec, function, id=spec.name)


@pytest.mark.parametrize(("spec", "function"), list(all_kernels()))
def test_a_spec_fits_its_function(spec, function):
    parameters = inspect.signature(function).parameters
    for symbol in spec.symbols:
        if symbol.argument not in {"output", "final_state"}:
            assert symbol.argument in parameters, symbol
    assert set(spec.mutates) <= set(parameters)
    assert any(symbol.argument == "output" for symbol in spec.symbols)
    assert spec.formula.count("{") == spec.formula.count("}")
    for letter in (part for symbol in spec.symbols for part in symbol.latex.split(", ")):
        stem = letter.partition("_")[0]  # states before the first and after the last token differ in their index only
        assert letter in spec.formula or (stem in spec.formula and "_" in letter), letter
    assert spec.summary.endswith(".")
    assert spec.source
    assert spec.name.partition(".")[0] in PACKAGES


def test_every_kernel_is_declared_once():
    names = [parameter.values[0].name for parameter in all_kernels()]
    assert len(names) == len(set(names))
    assert set(names) == set(registry.specs)


def test_a_call_is_one_event_with_nothing_inside(monkeypatch):
    seen: list[str] = []

    def hook(spec, function, args, kwargs):
        seen.append(spec.name)
        return function(*args, **kwargs)

    inner_spec = KernelSpec("test.inner", "Inner.", "x", (), "test")
    outer_spec = KernelSpec("test.outer", "Outer.", "x", (), "test")
    monkeypatch.setattr(registry, "specs", {})

    @kernel(inner_spec, importable=False)
    def inner(x):
        return x + 1

    @kernel(outer_spec, importable=False)
    def outer(x, *, fail=False):
        if fail:
            raise RuntimeError("inside")
        return inner(x) * 2

    assert outer(1) == 4
    monkeypatch.setattr(registry, "current_hook", hook)
    assert outer(1) == 4
    with pytest.raises(RuntimeError, match="inside"):
        outer(1, fail=True)
    assert inner(1) == 2
    assert seen == ["test.outer", "test.outer", "test.inner"]


def test_modules_call_kernels(monkeypatch):
    events = []
    monkeypatch.setattr(
        registry, "current_hook", lambda spec, function, args, kwargs: events.append(spec) or function(*args, **kwargs)
    )
    norm = FusedRMSNormGated(4)
    norm(torch.randn(2, 4), torch.randn(2, 4))
    chunk_kda(*(torch.randn(1, 3, 2, 4) for _ in range(4)), torch.rand(1, 3, 2))
    assert [spec.name for spec in events] == ["fla.modules.fused_norm_gate.rms_norm_gated", "fla.ops.kda.chunk_kda"]


def test_two_stand_ins_cannot_claim_one_name():
    with pytest.raises(ValueError, match="two stand-ins"):
        kernel(chunk_kda.__kernel__)(lambda: None)
    with pytest.raises(ValueError, match="two stand-ins"):
        registry.public("fla.ops.kda.chunk_kda")(object())
