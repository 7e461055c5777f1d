"""Which stand-in packages a piece of model code asks for."""

from __future__ import annotations

import ast

from openmodelatlas.capture.standins.packages import PACKAGES


def imported_standins(text: str) -> set[str]:
    """Names of the stand-in packages that the Python source ``text`` imports anywhere, also under ``try`` or ``if``.

    Installing just these keeps libraries beside the model's code, which probe for the same packages to choose
    between a kernel and their own PyTorch, on their own PyTorch.

    Raises:
        SyntaxError: ``text`` is not Python.
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            found.update(alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found.add(node.module.partition(".")[0])
    return found & set(PACKAGES)
