"""Folders are the order of the data flow: a folder imports only from those above it, whatever kind of import it is."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import openmodelatlas

PACKAGE = Path(openmodelatlas.__file__).parent
ORDER = [
    "errors", "sources", "capture", "shapes", "graph", "catalogue", "annotation", "evidence", "drawing", "bundle",
    "verification",
    "site", "server", "reference", "stages", "builder", "cli",
]  # fmt: skip
OUTERMOST = {"__init__", "__main__"}  # they import from anywhere; nothing imports more of them than __version__
HEAVY = {"torch", "transformers", "numpy", "scipy", "pandas"}
HEAVY_PLACES = ("capture/child/", "capture/standins/", "reference/")
NUMERIC = {"numpy"}
NUMERIC_PLACES = ("catalogue/references/", "annotation/")  # formulas are evaluated there, in float64

Imported = tuple[int, str]
"""Line, and full name of what is imported."""


def imports_in(source: str) -> list[Imported]:
    """Every import of the file: at its top, in functions, and for types only. ``from a import b`` is both a and a.b."""
    found: list[Imported] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            found += [(node.lineno, f"{module}.{alias.name}") for alias in node.names]
    return found


def violations(path: str, source: str) -> list[str]:
    """What the imports of the file at ``path`` (below the package) break."""
    place = path.split("/", maxsplit=1)[0].removesuffix(".py")
    broken = []
    for line, name in imports_in(source):
        parts = name.split(".")
        if name.startswith("."):
            broken.append(f"{path}:{line}: relative import")
        elif parts[0] in NUMERIC and path.startswith(NUMERIC_PLACES):
            continue
        elif parts[0] in HEAVY and not path.startswith(HEAVY_PLACES):
            broken.append(f"{path}:{line}: {parts[0]} outside {', '.join(HEAVY_PLACES)}")
        elif parts[0] == "openmodelatlas" and len(parts) > 1 and place not in OUTERMOST:
            target = parts[1]
            if target in ORDER and ORDER.index(target) > ORDER.index(place):
                broken.append(f"{path}:{line}: {place} imports from {target}, which comes after it")
            elif target not in ORDER and target not in ("__version__", "__file__"):
                broken.append(f"{path}:{line}: openmodelatlas.{target} is the entry point of users, not of the code")
    return broken


FILES = {path.relative_to(PACKAGE).as_posix(): path for path in sorted(PACKAGE.rglob("*.py"))}


def test_every_part_of_the_package_has_a_place_in_the_order() -> None:
    tops = {path.split("/")[0].removesuffix(".py") for path in FILES}

    assert tops - OUTERMOST == set(ORDER)


def test_imports_go_one_way() -> None:
    broken = [each for path, file in FILES.items() for each in violations(path, file.read_text(encoding="utf-8"))]

    assert broken == []


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("shapes/solve.py", "from openmodelatlas.graph.document import Node"),
        ("shapes/solve.py", "def f():\n    from openmodelatlas.bundle import store\n"),
        ("capture/run.py", "if TYPE_CHECKING:\n    import openmodelatlas.graph.build\n"),
        ("site/page.py", "from openmodelatlas import builder"),
        ("errors.py", "from openmodelatlas.sources import resolve"),
        ("graph/fold.py", "from openmodelatlas import build"),
        ("graph/fold.py", "from . import tree"),
        ("graph/fold.py", "import torch.nn"),
        ("builder.py", "def f():\n    from numpy import array\n"),
        ("capture/run.py", "from transformers import AutoConfig"),
    ],
)
def test_a_wrong_import_is_noticed(path: str, source: str) -> None:
    assert len(violations(path, source)) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("graph/fold.py", "from openmodelatlas.shapes.dimension import Dimension"),
        ("graph/fold.py", "from openmodelatlas.graph.tree import Tree"),
        ("capture/child/run.py", "import torch"),
        ("reference/layers.py", "from torch import nn"),
        ("cli/main.py", "from openmodelatlas import __version__"),
    ],
)
def test_a_right_import_is_let_pass(path: str, source: str) -> None:
    assert violations(path, source) == []
