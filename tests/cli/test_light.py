"""The command line and the package load nothing heavy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import TINY_MODEL

HEAVY = ("torch", "transformers", "numpy")
_REPORT = f"\nimport sys\nprint([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)\n"


def loaded_by(code: str, home: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code + _REPORT],
        capture_output=True,
        text=True,
        env={"OMA_HOME": str(home), "PATH": "/usr/bin:/bin"},
        check=True,
        timeout=120,
    )
    return done.stderr.strip()


@pytest.mark.parametrize(
    "code",
    [
        "import openmodelatlas",
        "from openmodelatlas import Atlas, build, open",
        "import openmodelatlas.builder",
        *(
            f"from openmodelatlas.cli.main import run; assert run({arguments!r}) == 0"
            for arguments in (
                ["models"],
                ["show", TINY_MODEL, "layers.0.attention"],
                ["show", TINY_MODEL, "--json"],
                ["show", TINY_MODEL, "--md"],
                ["tree", TINY_MODEL],
            )
        ),
    ],
)
def test_nothing_heavy_is_imported(code: str, tiny_home: Path) -> None:
    assert loaded_by(code, tiny_home) == "[]"


def test_the_control_does_import_something_heavy(tiny_home: Path) -> None:
    """Shows that the test above can fail."""
    assert loaded_by("import openmodelatlas, torch", tiny_home) != "[]"


def test_the_stages_of_a_build_are_not_loaded_to_show_a_page(tiny_home: Path) -> None:
    code = f"""
from openmodelatlas.cli.main import run
assert run(["show", {TINY_MODEL!r}, "--json"]) == 0
import sys
assert not [name for name in ("openmodelatlas.builder", "huggingface_hub", "jinja2", "rich") if name in sys.modules]
"""
    assert loaded_by(code, tiny_home) == "[]"
