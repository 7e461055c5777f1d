from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import subprocess
import sys
import textwrap

import pytest

from openmodelatlas.capture import standins
from openmodelatlas.capture.standins import registry
from openmodelatlas.errors import MissingStandInError


def run(code: str) -> dict[str, object]:
    names: dict[str, object] = {"__name__": "model_code"}
    exec(compile(textwrap.dedent(code), "/somewhere/modeling_example.py", "exec"), names)
    return names


@pytest.mark.usefixtures("installed")
def test_the_imports_of_kimi_k3():
    names = run(
        """
        from fla.modules import FusedRMSNormGated, ShortConvolution
        from fla.ops.kda import chunk_kda, fused_recurrent_kda
        from fla.ops.kda.gate import fused_kda_gate
        from fla.ops.utils.index import prepare_cu_seqlens_from_mask, prepare_lens_from_mask
        from fla.utils import tensor_cache
        from fla.layers.utils import get_unpad_data, index_first_axis, pad_input
        import fla
        version = fla.__version__
        same = fla.ops.kda.chunk_kda is chunk_kda
        """
    )
    assert names["version"] == standins.PACKAGES["fla"].version
    assert names["same"]


@pytest.mark.usefixtures("installed")
def test_every_declared_name_is_importable():
    for package in standins.PACKAGES:
        importlib.import_module(package)
        for module in standins.PACKAGES[package].implementations:
            importlib.import_module(module)
    assert registry.exports
    for name, thing in registry.exports.items():
        module, _, attribute = name.rpartition(".")
        assert getattr(importlib.import_module(module), attribute) is thing, name


@pytest.mark.usefixtures("installed")
def test_questions_about_a_package_are_answered():
    for name, package in standins.PACKAGES.items():
        assert importlib.util.find_spec(name) is not None
        assert importlib.metadata.version(package.distribution) == package.version
        assert importlib.import_module(name).__version__ == package.version
    assert importlib.util.find_spec("fla.ops.nowhere") is None
    assert not hasattr(importlib.import_module("fla.ops"), "nowhere")
    assert importlib.metadata.version("numpy")


@pytest.mark.usefixtures("installed")
def test_transformers_finds_them_without_using_them_on_a_cpu():
    code = """
        from openmodelatlas.capture import standins
        standins.install()
        from transformers.utils import import_utils as u
        print(u.is_flash_attn_2_available(), u.is_mamba_ssm_available(), u.is_causal_conv1d_available(),
              u.is_flash_linear_attention_available())
    """
    result = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False"] * 4


@pytest.mark.usefixtures("installed")
@pytest.mark.parametrize(
    ("statement", "name"),
    [
        ("import fla.ops.foo.bar", "fla.ops.foo"),
        ("from fla.ops.foo import bar", "fla.ops.foo"),
        ("from fla.ops.kda import bar", "fla.ops.kda.bar"),
        ("from fla.ops import bar", "fla.ops.bar"),
    ],
)
def test_what_has_no_stand_in_is_named_with_its_place(statement, name):
    with pytest.raises(ImportError) as caught:
        run(f"x = 1\n{statement}\n")
    error = standins.explain_missing(caught.value)
    assert isinstance(error, MissingStandInError)
    assert repr(name) in error.what
    assert error.where == "/somewhere/modeling_example.py:2"
    assert "docs/adding-a-stand-in.md" in error.advice


@pytest.mark.usefixtures("installed")
def test_a_swallowed_import_is_still_known():
    run(
        """
        try:
            import surely_absent_package
            from fla.ops.kda import also_absent
        except ImportError:
            pass
        try:
            from fla.ops.kda import also_absent
        except ImportError:
            also_absent = None
        """
    )
    found = [(miss.name, miss.line) for miss in standins.misses() if miss.file.endswith("modeling_example.py")]
    assert found == [("surely_absent_package", 3), ("fla.ops.kda.also_absent", 8)]


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("import triton.language", ["'triton'", "GPU kernels", "docs/adding-a-stand-in.md"]),
        ("import surely_absent_package.part", ["'surely_absent_package'", "--with surely_absent_package"]),
        ("from json import surely_absent", ["surely_absent", "another version of json"]),
    ],
)
def test_other_failed_imports_are_explained(statement, words):
    if "triton" in statement and importlib.util.find_spec("triton"):
        pytest.skip("triton is installed here")
    with pytest.raises(ImportError) as caught:
        run(f"\n\n{statement}")
    error = standins.explain_missing(caught.value)
    assert all(word in str(error) for word in words), str(error)
    assert error.where == "/somewhere/modeling_example.py:3"


def test_stand_ins_win_over_what_is_installed_and_leave_no_trace(tmp_path, monkeypatch):
    (tmp_path / "fla").mkdir()
    (tmp_path / "fla" / "__init__.py").write_text("__version__ = 'real'")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert importlib.import_module("fla").__version__ == "real"
    try:
        assert standins.install({"fla"}) == ["fla"]
        assert importlib.import_module("fla").__version__ != "real"
        importlib.import_module("fla.ops.kda")
    finally:
        standins.uninstall()
    assert importlib.import_module("fla").__version__ == "real"
    del sys.modules["fla"]


def test_only_the_named_packages_are_served():
    with pytest.raises(ValueError, match="no_such_package"):
        standins.install({"no_such_package"})
    try:
        assert standins.install({"fla"}) == ["fla"]
        assert importlib.util.find_spec("fla") is not None
    finally:
        standins.uninstall()


def test_scan_finds_imports_wherever_they_stand():
    text = """
import torch, fla
if available():
    from flash_attn.bert_padding import pad_input
try:
    import causal_conv1d as c
except ImportError:
    from .mamba_ssm import x
"""
    assert standins.imported_standins(text) == {"fla", "flash_attn", "causal_conv1d"} & set(standins.PACKAGES)


def test_importing_the_declarations_needs_no_torch():
    code = (
        "import sys, openmodelatlas.capture.standins as s, openmodelatlas.capture.standins.specs.fla;"
        "s.install(); print('torch' in sys.modules); import fla.ops.kda; print('torch' in sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.split() == ["False", "True"]


@pytest.mark.parametrize(("package", "advised"), [("somebody", True), ("openmodelatlas_source", False)])
def test_another_version_is_advised_only_of_what_has_versions(package: str, advised: bool) -> None:
    error = standins.explain_missing(ImportError("cannot import name 'a'", name=f"{package}.b"))
    assert ("--with" in (error.advice or "")) == advised
