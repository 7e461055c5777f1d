"""What each package says it exports is there, and what it defines for others is said."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path

import pytest

import openmodelatlas

PACKAGE = Path(openmodelatlas.__file__).parent
PACKAGES = [
    ".".join(["openmodelatlas", *path.parent.relative_to(PACKAGE).parts])
    for path in sorted(PACKAGE.rglob("__init__.py"))
    if "__all__" in path.read_text(encoding="utf-8") and "standins" not in path.parts and "child" not in path.parts
]


def test_there_is_something_to_look_at() -> None:
    assert {"openmodelatlas", "openmodelatlas.sources"} <= set(PACKAGES)


@pytest.mark.parametrize("name", PACKAGES)
def test_everything_listed_is_there_once_and_sorted(name: str) -> None:
    module = importlib.import_module(name)
    listed = module.__all__

    assert [each for each in listed if not hasattr(module, each)] == []
    assert listed == sorted(set(listed))


@pytest.mark.parametrize("name", PACKAGES)
def test_everything_public_is_listed(name: str) -> None:
    module = importlib.import_module(name)
    public = {
        key
        for key, value in vars(module).items()
        if not key.startswith("_") and not inspect.ismodule(value) and (inspect.isclass(value) or callable(value))
        if getattr(value, "__module__", "").startswith("openmodelatlas")
    }

    assert public <= set(module.__all__)


def test_the_entry_points_are_those_that_are_documented() -> None:
    assert openmodelatlas.__all__ == ["Atlas", "AtlasError", "__version__", "build", "open"]
    with pytest.raises(AttributeError, match="no attribute 'biuld'"):
        _ = openmodelatlas.biuld  # type: ignore[attr-defined]


def test_the_version_is_that_of_the_distribution() -> None:
    text = (PACKAGE.parent.parent / "pyproject.toml").read_text(encoding="utf-8")

    assert f'version = "{openmodelatlas.__version__}"' in text
