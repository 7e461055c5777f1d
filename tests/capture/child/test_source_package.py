"""Importing a source's files: exactly the pinned bytes, under every name the code uses."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from openmodelatlas.capture.child.source_package import PACKAGE, attribute, install, read_verified
from openmodelatlas.errors import HashMismatchError, ModelCodeError, SourceNotFoundError
from tests.capture.child.conftest import MakeJob


def test_relative_and_flat_imports_give_one_class(make_job: MakeJob) -> None:
    job = make_job(
        {
            "configuration_small.py": "class SmallConfig:\n    pass\n",
            "parts/layers.py": "from ..configuration_small import SmallConfig\n\nclass Layer(SmallConfig):\n    pass\n",
            "modeling_small.py": (
                "import configuration_small\n"
                "from .configuration_small import SmallConfig\n"
                "from .parts.layers import Layer\n"
                "same = configuration_small.SmallConfig is SmallConfig\n"
                "\n\nclass Small(Layer):\n    pass\n"
            ),
        }
    )
    finder = install(Path(job.root), job.files)
    small = attribute(finder, "modeling_small.Small")
    assert small.__module__ == f"{PACKAGE}.modeling_small"
    assert sys.modules[small.__module__].same is True
    assert small.__mro__[2] is attribute(finder, "configuration_small.SmallConfig")
    assert sys.modules[small.__module__].__file__ == str(Path(job.root) / "modeling_small.py")


def test_installed_modules_come_before_siblings(make_job: MakeJob) -> None:
    job = make_job({"json.py": "shadow = True\n", "main.py": "import json\nloads = json.loads\n"})
    assert attribute(install(Path(job.root), job.files), "main.loads")("[1]") == [1]


def test_changed_bytes_are_not_executed(make_job: MakeJob, tmp_path: Path) -> None:
    job = make_job({"modeling_small.py": "x = 1\n"})
    (Path(job.root) / "modeling_small.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(HashMismatchError) as caught:
        attribute(install(Path(job.root), job.files), "modeling_small.x")
    assert caught.value.where == "modeling_small.py"
    assert not (tmp_path / "ran").exists()


def test_missing_file_and_name(make_job: MakeJob) -> None:
    job = make_job({"modeling_small.py": "x = 1\n"})
    finder = install(Path(job.root), job.files)
    for reference in ("modeling_small.Missing", "missing.Small", "other/repository--modeling_other.Other"):
        with pytest.raises(SourceNotFoundError):
            attribute(finder, reference)
    with pytest.raises(SourceNotFoundError):
        read_verified(Path(job.root), "nothing.py", {})


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        (b"x = 1\n# caf\xe9\n", 2, "not UTF-8"),
        (b"x = 1\n\ndef f(:\n", 3, "does not parse"),
    ],
)
def test_unreadable_code_says_where(make_job: MakeJob, text: bytes, line: int, words: str) -> None:
    job = make_job({"bad.py": text})  # type: ignore[dict-item]
    with pytest.raises(ModelCodeError) as caught:
        attribute(install(Path(job.root), job.files), "bad.x")
    assert caught.value.where == f"bad.py:{line}"
    assert words in caught.value.what
