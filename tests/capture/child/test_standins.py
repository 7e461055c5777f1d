"""Stand-ins are there for what the source's own files import, and for nobody else."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

from openmodelatlas.capture import standins
from openmodelatlas.capture.child import loader
from openmodelatlas.capture.child.__main__ import install_standins
from openmodelatlas.errors import SourceNotFoundError
from tests.capture.child.conftest import MakeJob


@pytest.fixture(autouse=True)
def nothing_stays() -> Iterator[None]:
    standins.uninstall()
    yield
    standins.uninstall()


def served() -> set[str]:
    """Packages that can be imported now and that no test environment has installed."""
    return {name for name in standins.PACKAGES if importlib.util.find_spec(name) is not None}


def test_the_control_none_is_there_before() -> None:
    assert served() == set()


@pytest.mark.parametrize(
    ("text", "packages"),
    [
        ("import torch", set()),
        ("import fla", {"fla"}),
        ("from fla.ops.kda import chunk_kda", {"fla"}),
        (
            "try:\n    from flash_attn import flash_attn_func\nexcept ImportError:\n    pass",
            {"flash_attn"},
        ),
        ("def f():\n    import causal_conv1d, mamba_ssm", {"causal_conv1d", "mamba_ssm"}),
        ("from .fla import chunk_kda", set()),
        ("'import fla'", set()),
        ("import fla as", set()),
        ("import fla\0", set()),
    ],
)
@pytest.mark.parametrize("kind", ["hub", "folder", "factory"])
def test_sources_have_what_their_files_import(text: str, packages: set[str], kind: str, make_job: MakeJob) -> None:
    install_standins(make_job({"a.py": text, "b.py": "x = 1", "notes.json": "import fla"}, kind=kind))
    assert served() == packages


def test_files_are_looked_at_together(make_job: MakeJob) -> None:
    install_standins(make_job({"a.py": "import fla", "nested/b.py": "import flash_attn"}))
    assert served() == {"fla", "flash_attn"}


@pytest.mark.parametrize("kind", ["transformers", "reference"])
def test_libraries_and_reference_models_run_on_their_own_pytorch(kind: str, make_job: MakeJob) -> None:
    """Transformers chooses between a kernel and its own PyTorch by what can be imported."""
    install_standins(make_job({"a.py": "import fla\nimport causal_conv1d"}, kind=kind))
    assert served() == set()


def test_transformers_does_not_see_the_stand_ins_of_a_source(make_job: MakeJob) -> None:
    from transformers.utils import import_utils

    install_standins(make_job({"a.py": "import fla"}))
    assert importlib.util.find_spec("causal_conv1d") is None
    assert not import_utils.is_causal_conv1d_available()
    assert not import_utils.is_mamba_ssm_available()


@pytest.mark.parametrize("kind", ["folder", "transformers"])
def test_imports_that_nobody_found_are_remembered(kind: str, make_job: MakeJob) -> None:
    install_standins(make_job({"a.py": "x = 1"}, kind=kind))
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("oma_no_such_kernel")
    assert [miss.name for miss in standins.misses()] == ["oma_no_such_kernel"]


def test_a_file_that_is_gone_is_left_to_the_loader(make_job: MakeJob) -> None:
    job = make_job({"made.py": "import fla\n\ndef make(): ..."}, kind="factory", entry="made:make")
    job.files["gone.py"] = "0" * 64
    install_standins(job)
    assert served() == {"fla"}
    with pytest.raises(SourceNotFoundError):
        loader.load(job)


def test_bytes_that_are_no_text_are_left_to_the_loader(make_job: MakeJob) -> None:
    install_standins(make_job({"a.py": b"import fla\nx = '\xff'"}))  # type: ignore[dict-item]
    assert served() == {"fla"}
