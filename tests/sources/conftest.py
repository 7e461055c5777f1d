from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hub import Hub


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Hub]:
    """A running hub that the environment points at, with an empty cache and no token."""
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_HUB_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "huggingface"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Hub() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.address)
        yield server
