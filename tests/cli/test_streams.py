"""Output that takes no Unicode, no more bytes, or nothing at all, and Ctrl-C before anybody listens."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import ROOT, TINY_MODEL, Oma

COMMANDS = [
    ("tree", TINY_MODEL),
    ("show", TINY_MODEL),
    ("show", TINY_MODEL, "--md"),
    ("show", TINY_MODEL, "--json"),
    ("export", "--svg", TINY_MODEL),
    ("models",),
    ("models", "--json"),
    ("--help",),
]
ENVIRONMENTS = [
    {"PYTHONIOENCODING": "ascii"},
    {"PYTHONIOENCODING": "latin-1:strict"},
    {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
]


@pytest.mark.parametrize("environment", ENVIRONMENTS, ids=str)
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_an_encoding_that_lacks_characters_is_no_bug(
    oma: Oma, tiny_home: Path, arguments: tuple[str, ...], environment: dict[str, str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "openmodelatlas", *arguments],
        capture_output=True,
        cwd=ROOT,
        env={**os.environ, "OMA_HOME": str(tiny_home), **environment},
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert b"raceback" not in done.stderr
    if "--json" in arguments:
        text = done.stdout.decode("latin-1" if "latin" in str(environment) else "ascii")
        assert json.loads(text) == json.loads(oma(*arguments).stdout)


@pytest.mark.parametrize("redirection", [">/dev/full", ">&-", ">&- 2>&-", ">/dev/full 2>/dev/full"])
@pytest.mark.parametrize("arguments", COMMANDS[::3], ids=" ".join)
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_output_that_cannot_be_written_is_told(
    tiny_home: Path, arguments: tuple[str, ...], redirection: str, unbuffered: str
) -> None:
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {redirection}', "sh", sys.executable, "-m", "openmodelatlas", *arguments],
        capture_output=True,
        text=True,
        cwd=ROOT,
        env={**os.environ, "OMA_HOME": str(tiny_home), "PYTHONUNBUFFERED": unbuffered},
        timeout=60,
        check=False,
    )
    assert done.returncode == 7, done.stderr
    assert "2>" in redirection or "The output cannot be written" in done.stderr
    assert "bug" not in done.stderr


@pytest.mark.parametrize("redirection", ["2>&-", "2>/dev/null"])
def test_the_exit_code_is_the_same_without_messages(tiny_home: Path, redirection: str) -> None:
    for arguments, code in ((("models",), 0), (("show", "nothing-is-called-this"), 2)):
        command = f'exec "$@" >/dev/null {redirection}'
        done = subprocess.run(
            ["/bin/sh", "-c", command, "sh", sys.executable, "-m", "openmodelatlas", *arguments],
            cwd=ROOT,
            env={**os.environ, "OMA_HOME": str(tiny_home)},
            timeout=60,
            check=False,
        )
        assert done.returncode == code


def test_ctrl_c_while_the_program_is_being_loaded_says_nothing() -> None:
    code = """
import os, signal, sys

class Stop:
    def find_spec(self, name, path=None, target=None):
        if name == "openmodelatlas.cli.main":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Stop())
from openmodelatlas.__main__ import main
main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code, "models"], capture_output=True, text=True, timeout=60, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGINT, "", "")


def test_names_of_strangers_do_not_steer_the_terminal(oma: Oma) -> None:
    done = oma("build", "./\x1b[31mred")
    assert done.returncode in (2, 3)
    assert "\x1b" not in done.stderr
