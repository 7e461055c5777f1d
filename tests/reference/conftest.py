"""Third-party code for comparison, fetched once into pytest's cache."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.reference.third_party import load_file, stand_in_modules, unpack, wheel


@pytest.fixture(scope="session")
def wheels(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder for fetched wheels; pytest's cache keeps it between runs, unless that is switched off."""
    cache = getattr(request.config, "cache", None)
    return tmp_path_factory.mktemp("wheels") if cache is None else Path(cache.mkdir("wheels"))


@pytest.fixture(scope="session")
def naive_kda(wheels: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[types.ModuleType]:
    """``fla.ops.kda.naive`` of fla-core 0.6.0, loaded as a single file."""
    folder = tmp_path_factory.mktemp("fla")
    unpack(wheel("fla_core", "0.6.0", wheels), folder, "fla/ops/kda/naive.py")
    unpack(wheel("einops", "0.8.2", wheels), folder, "einops/")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(folder))
        yield load_file(folder / "fla/ops/kda/naive.py", "naive_kda_of_fla_core")


@pytest.fixture(scope="session")
def vendor_k3(
    wheels: Path, naive_kda: types.ModuleType, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[types.ModuleType]:
    """The near copy of the published K3 code in llmcompressor 0.14.0.1, on plain functions instead of GPU kernels."""
    folder = tmp_path_factory.mktemp("vendor")
    package = "llmcompressor/modeling/kimi_k3"
    unpack(
        wheel("llmcompressor", "0.14.0.1", wheels),
        folder,
        f"{package}/configuration_kimi_k3.py",
        f"{package}/modeling_kimi_linear.py",
    )
    with pytest.MonkeyPatch.context() as patch:
        for name, module in stand_in_modules(naive_kda).items():
            patch.setitem(sys.modules, name, module)
        parent = types.ModuleType("llmcompressor.modeling.kimi_k3")
        parent.__path__ = [str(folder / package)]
        patch.setitem(sys.modules, parent.__name__, parent)
        for part in ("configuration_kimi_k3", "modeling_kimi_linear"):
            name = f"{parent.__name__}.{part}"
            load_file(folder / package / f"{part}.py", name)
            setattr(parent, part, sys.modules[name])
        yield parent
        for part in ("configuration_kimi_k3", "modeling_kimi_linear"):
            sys.modules.pop(f"{parent.__name__}.{part}", None)
