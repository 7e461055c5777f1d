"""Atlases that several tests look at, built once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from openmodelatlas import builder
from openmodelatlas.annotation.material import Material, Value
from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.errors import BundleError


class AtlasCode:
    """Values and code of an atlas on disk."""

    def __init__(self, atlas: Atlas) -> None:
        self._atlas = atlas

    def value(self, key: str) -> Value | None:
        try:
            return self._atlas.value(key)
        except BundleError:
            return None

    def lines_of(self, file: str) -> Sequence[str]:
        return self._atlas.lines_of(file)


@pytest.fixture(scope="session")
def material_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Material]:
    """The atlas of a registry model, built when it is first asked for."""
    home = tmp_path_factory.mktemp("atlases")
    built: dict[str, Material] = {}

    def material(model: str) -> Material:
        if model not in built:
            atlas = builder.build(model, home=home)
            built[model] = Material(document=atlas.document, code=AtlasCode(atlas))
        return built[model]

    return material
