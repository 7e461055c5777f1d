"""Builds the atlases of the seeds' models from code that holds their excerpts, and compares our pages with theirs."""

from __future__ import annotations

from pathlib import Path

import pytest

from openmodelatlas import build
from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.site.page import build_page
from tests.hub import Hub
from tests.seeds import pages
from tests.seeds.compare import Row, rows
from tests.seeds.repositories import K2_SEED, K3_SEED, kimi_k2, kimi_k3
from tests.seeds.seed import FOLDER

PLACES = {
    "kimi-k2": (K2_SEED, "layers/dense/block-output"),
    "kimi-k3": (K3_SEED, "layers/first/add-attention-update"),
}
"""The seed of a model, and the address of the same place in our atlas."""
MISSING = f"the seeds are not at hand: {FOLDER} does not exist"


def build_atlases(folder: Path) -> dict[str, Atlas]:
    """The atlases of both models, built as the registry says from a small hub that has their repositories."""
    with pytest.MonkeyPatch.context() as patch, Hub() as hub:
        for repository in (kimi_k2(), kimi_k3()):
            hub.repositories[repository.name] = repository
        patch.setenv("HF_ENDPOINT", hub.address)
        patch.setenv("HF_HOME", str(folder / "hub"))
        patch.setenv("NO_PROXY", "127.0.0.1")
        patch.delenv("HF_HUB_OFFLINE", raising=False)
        return {model: build(model, trust=True, home=folder / "home") for model in PLACES}


def compared(atlas: Atlas) -> list[Row]:
    """Our page beside the seed's, for the model of ``atlas``."""
    name, address = PLACES[atlas.document.model]
    return rows(pages.of_seed(name), pages.of_page(build_page(atlas, address)))
