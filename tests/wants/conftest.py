"""Atlases of registry models, built once a session, and their pages."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from openmodelatlas import build
from openmodelatlas.bundle import store
from openmodelatlas.bundle.home import list_built, model_folder
from openmodelatlas.site.page import PageBuilder

Pages = Callable[[str], PageBuilder]


@pytest.fixture(scope="session")
def pages_of(tmp_path_factory: pytest.TempPathFactory) -> Pages:
    """The pages of a registry model, built when they are first asked for.

    ``OMA_TEST_WANTS_HOME`` names a home that has atlases already, for whoever works on the pages.
    """
    home = tmp_path_factory.mktemp("wants")
    given = os.environ.get("OMA_TEST_WANTS_HOME") if not os.environ.get("CI") else None
    found: dict[str, PageBuilder] = {}

    def pages(model: str) -> PageBuilder:
        if model not in found:
            if given and model in list_built(Path(given)):
                found[model] = PageBuilder(store.read(model_folder(Path(given), model)))
            else:
                found[model] = PageBuilder(build(model, home=home))
        return found[model]

    return pages
