"""Model code that works against the recorder: one clear error or a whole atlas comes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import openmodelatlas
from openmodelatlas.capture.job import Limits
from openmodelatlas.errors import AtlasError, CaptureError, ModelCodeError
from tests.end_to_end.pebble import IMPORTED, MADE, MODELING, STARTED, pebble, put


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return pebble(tmp_path / "pebble")


def fails(folder: Path) -> AtlasError:
    with pytest.raises(CaptureError) as caught:
        openmodelatlas.build(str(folder), trust=True, limits=Limits(seconds=60))
    error = caught.value
    assert "Traceback" not in error.what
    assert "\n" not in error.what
    assert len(error.what) < 1000
    assert all(character.isprintable() for character in f"{error.what}{error.where}")
    return error


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("raise KeyboardInterrupt", "raised KeyboardInterrupt."),
        ("raise GeneratorExit", "raised GeneratorExit."),
        ("import sys; sys.exit(0)", "called sys.exit(0)."),
        ("raise type('Own', (BaseException,), {})('a\\x1b[31mred')", "raised Own: a�[31mred."),
        ("raise type('Mute', (Exception,), {'__str__': lambda self: 1 / 0})", "__str__ raised ZeroDivisionError"),
        ("raise type('Number', (Exception,), {'__str__': lambda self: 5})", "__str__ raised TypeError"),
        ("raise ValueError('x' * 50_000_000)", "raised ValueError: xxx"),
        ("raise ValueError('\\udc80bad')", "raised ValueError: ?bad."),
    ],
    ids=["Ctrl-C", "generator exit", "sys.exit", "BaseException", "mute", "no text", "huge", "surrogate"],
)
def test_whatever_is_raised_is_told_with_its_place(model: Path, statement: str, said: str) -> None:
    line = put(model, STARTED, statement)
    error = fails(model)
    assert type(error) is ModelCodeError
    assert said in error.what
    assert error.where == f"{MODELING}:{line}"


@pytest.mark.parametrize(
    "statement",
    [
        "import json, pathlib; json.dumps = pathlib.Path.write_bytes = None",
        "import builtins, os; builtins.open = os.write = None; os._exit = lambda code: None",
        "import builtins; builtins.len = lambda value: 3",
        "import sys; [sys.modules.pop(name) for name in list(sys.modules) if name.startswith('openmodelatlas')]",
    ],
    ids=["writers", "system", "builtins", "modules"],
)
def test_code_that_replaces_parts_of_python(model: Path, statement: str) -> None:
    put(model, IMPORTED, statement)
    fails(model)


def test_what_is_raised_outside_of_the_code_is_not_said_to_be_inside(model: Path) -> None:
    put(model, IMPORTED, "torch.set_default_device('meta')")
    error = fails(model)
    assert type(error) is CaptureError
    assert "outside of its own code" in error.what
    assert error.__notes__


@pytest.mark.parametrize(
    "statement",
    [
        "import os, time\nif os.fork() == 0:\n    time.sleep(600)",
        "import os\nos.fork()",
        "import os\nos.fork() or 1 / 0",
    ],
    ids=["sleeps", "goes on", "raises"],
)
def test_copies_of_the_process_do_not_take_part(model: Path, home: Path, statement: str) -> None:
    put(model, STARTED, statement)
    atlas = openmodelatlas.build(str(model), trust=True, limits=Limits(seconds=60))
    assert all(check.passed is not False for check in atlas.document.checks)


def test_code_that_waits_for_all_processes(model: Path, home: Path) -> None:
    put(model, MADE, "import os, contextlib\nwith contextlib.suppress(ChildProcessError):\n    os.wait()")
    assert len(openmodelatlas.build(str(model), trust=True, limits=Limits(seconds=60)))
