"""Atlases that several tests look at, built once."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

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
def material_of(atlas_of: Callable[[str], Atlas]) -> Callable[[str], Material]:
    """What the annotation of a registry model works on."""

    def material(model: str) -> Material:
        atlas = atlas_of(model)
        return Material(document=atlas.document, code=AtlasCode(atlas))

    return material
