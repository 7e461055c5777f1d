"""References with one change each: what compares a reference with other code must notice it."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from types import ModuleType

import pytest

PACKAGE = "openmodelatlas.catalogue.references"

Check = Callable[[ModuleType], None]


@dataclass(frozen=True)
class Case:
    """A comparison of one reference with other code.

    Attributes:
        check: raises an AssertionError where the functions of the module that it is given compute something else.
        module: of the reference.
        mutations: text in the module, and what is put in its place.
    """

    check: Check
    module: str
    mutations: tuple[tuple[str, str], ...]


def original(name: str) -> ModuleType:
    return importlib.import_module(f"{PACKAGE}.{name}")


def mutated(name: str, old: str, new: str) -> ModuleType:
    """The module with one change, which must be possible in exactly one way."""
    source = inspect.getsource(original(name))
    assert source.count(old) == 1, f"{old!r} stands {source.count(old)} times in {name}"
    module = ModuleType(f"mutated_{name}")
    exec(compile(source.replace(old, new), f"<mutated {name}>", "exec"), module.__dict__)
    return module


def agreeing(cases: tuple[Case, ...]) -> pytest.MarkDecorator:
    """Parametrises a test by the cases."""
    return pytest.mark.parametrize("case", cases, ids=lambda case: case.check.__name__)


def mutants(cases: tuple[Case, ...]) -> pytest.MarkDecorator:
    """Parametrises a test by every mutation of every case."""
    every = [
        pytest.param(case, old, new, id=f"{case.check.__name__}: {old.strip()[:40]}")
        for case in cases
        for old, new in case.mutations
    ]
    return pytest.mark.parametrize(("case", "old", "new"), every)


def notices(case: Case, old: str, new: str) -> bool:
    """Whether the check of a case fails on the changed module; an error of any kind is noticed too."""
    try:
        case.check(mutated(case.module, old, new))
    except (AssertionError, ValueError, TypeError, IndexError):
        return True
    return False
