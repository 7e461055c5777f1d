"""The sample atlases, opened once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.site.sample import open_samples


@pytest.fixture(scope="session")
def samples(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    return open_samples(tmp_path_factory.mktemp("home"))
