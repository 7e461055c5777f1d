"""Pages of registry models."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.site.page import PageBuilder

Pages = Callable[[str], PageBuilder]


@pytest.fixture(scope="session")
def pages_of(atlas_of: Callable[[str], Atlas]) -> Pages:
    """The pages of a registry model, each model's built once."""
    found: dict[str, PageBuilder] = {}

    def pages(model: str) -> PageBuilder:
        if model not in found:
            found[model] = PageBuilder(atlas_of(model))
        return found[model]

    return pages
