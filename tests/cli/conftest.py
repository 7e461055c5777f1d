from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from openmodelatlas.bundle.atlas import Atlas

ROOT = Path(__file__).resolve().parent.parent.parent
TINY = "tests.corpus.tiny_transformer:tiny"
TINY_MODEL = "tests-corpus-tiny-transformer-tiny"

Oma = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def tiny_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which the small transformer of the corpus is built."""
    from openmodelatlas.builder import build

    home = tmp_path_factory.mktemp("home")
    atlas: Atlas = build(TINY, home=home)
    assert atlas.document.model == TINY_MODEL
    return home


@pytest.fixture
def oma(tiny_home: Path) -> Oma:
    """Runs ``oma`` as a process of its own, with the small transformer built unless another home is given."""

    def run(*arguments: str, home: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "openmodelatlas", *arguments],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env={**os.environ, "OMA_HOME": str(home or tiny_home), "HF_HUB_OFFLINE": "1", **environment},
            check=False,
            timeout=120,
        )

    return run
