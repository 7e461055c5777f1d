"""Repositories of the corpus on a hub of our own, and one folder of overlays for the whole session."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from openmodelatlas.capture import overlay, process
from openmodelatlas.errors import OverlayError
from tests.hub import Hub, Repository

CORPUS = Path(__file__).parents[1] / "corpus" / "hub"
NO_REGISTRY = "reaches no package registry"
HUB_VARIABLES = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_HUB_CACHE")

Build = Callable[..., subprocess.CompletedProcess[str]]


def corpus_files(name: str) -> dict[str, bytes]:
    """The files of a repository of the corpus, with files besides that nobody should fetch."""
    folder = CORPUS / name
    files = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    return files | {
        "README.md": b"# A model",
        "model-00001-of-00001.safetensors": b"\0" * 1024,
        "tokenizer.json": b"{}",
        "tiktoken.model": b"\0" * 64,
    }


@pytest.fixture(scope="session")
def overlays(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home whose overlays every test shares; ``OMA_TEST_HOME`` names one that outlives the session."""
    chosen = os.environ.get("OMA_TEST_HOME")
    return Path(chosen) if chosen else tmp_path_factory.mktemp("overlays")


@pytest.fixture(scope="session")
def overlay_of(overlays: Path) -> Callable[[str], Path]:
    """Installs a requirement once; skips the test if there is nowhere to install it from."""

    def ensure(requirement: str) -> Path:
        try:
            return overlay.ensure([requirement], home=overlays, progress=process.ignore_progress)
        except OverlayError as error:
            if NO_REGISTRY in error.what:
                pytest.skip("no package registry can be reached, so that transformers cannot be installed")
            raise

    return ensure


@pytest.fixture
def home(tmp_path: Path, overlays: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty home that shares the session's overlays."""
    folder = tmp_path / "home"
    folder.mkdir()
    (overlays / "overlays").mkdir(parents=True, exist_ok=True)
    (folder / "overlays").symlink_to(overlays / "overlays")
    monkeypatch.setenv("OMA_HOME", str(folder))
    return folder


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """A running hub that the environment points at, with an empty cache and no token."""
    for name in HUB_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "huggingface"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Hub() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.address)
        yield server


@pytest.fixture
def lynx(hub: Hub) -> Repository:
    return hub.add("acme/lynx-moe", corpus_files("lynx_moe"))


@pytest.fixture
def otter(hub: Hub) -> Repository:
    return hub.add("acme/otter-linear", corpus_files("otter_linear"))


@pytest.fixture
def oma() -> Build:
    """Runs ``python -m openmodelatlas`` in a process of its own, in the environment as it is now."""

    def run(*arguments: str | Path, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "openmodelatlas", *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)

    return run
