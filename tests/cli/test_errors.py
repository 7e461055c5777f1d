from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from openmodelatlas import errors
from openmodelatlas.builder import build
from openmodelatlas.cli import main
from openmodelatlas.errors import AtlasError, BundleError
from openmodelatlas.sources.registry import MODELS
from tests.cli.conftest import ROOT, TINY, TINY_MODEL, Oma


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (("bulid", "kimi-k2"), 2, "Did you mean 'build'?"),
        (("build",), 2, "Missing argument"),
        (("build", "kimi-k9"), 2, "kimi-k2"),
        (("build", "no.such.module:thing"), 3, "There is no module"),
        (("build", "./no-such-folder"), 3, "no-such-folder"),
        (("build", "transformers:lama"), 3, "llama"),
        (("build", "someone/something"), 3, "HF_HUB_OFFLINE"),
        (("build", "kimi-k2", "gpt2", "--revision", "main"), 2, "for one source"),
        (("build", "gpt2", "--override", "n_embd"), 2, "KEY=VALUE"),
        (("build", "gpt2", "--limit-memory", "lots"), 2, "12G"),
        (("build", "gpt2", "--limit-seconds", "nan"), 2, "number of seconds"),
        (("build", "gpt2", "--config", "/dev/zero"), 3, "more than 4194304 bytes"),
        (("build", "gpt2", "--revision", "main"), 2, "no hub source"),
        (("build", "x" * 5000), 2, "no registered model"),
        (("build", "./" + "x" * 5000), 3, "File name too long"),
        (("show", "x" * 5000), 2, "no atlas called"),
        (("show", "kimi-k2"), 2, "`oma build kimi-k2`"),
        (("show", "kimi"), 2, "kimi-k2"),
        (("show", TINY_MODEL, "layers/atention"), 2, "layers/attention"),
        (("tree", TINY_MODEL, "--depth", "0"), 2, "--depth"),
        (("serve", TINY_MODEL, "--port", "1", "--nonsense"), 2, "--nonsense"),
    ],
)
def test_a_mistake_is_one_clear_message_with_its_exit_code(
    oma: Oma, arguments: tuple[str, ...], code: int, said: str
) -> None:
    done = oma(*arguments)

    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_untrusted_code_is_refused_with_what_to_do(oma: Oma, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"architectures": ["A"], "auto_map": {"AutoModelForCausalLM": "code.A"}}')
    (tmp_path / "code.py").write_text("class A: pass\n")

    done = oma("build", str(tmp_path))

    assert done.returncode == 4
    assert "--trust-remote-code" in done.stderr


def test_the_models_traceback_is_shown_on_request_only(oma: Oma) -> None:
    quiet = oma("build", "tests.corpus.tiny_transformer:broken")
    verbose = oma("build", "tests.corpus.tiny_transformer:broken", "--verbose")

    assert quiet.returncode == verbose.returncode == 5
    assert "where: tests/corpus/tiny_transformer.py:" in quiet.stderr
    assert "raise RuntimeError" not in quiet.stderr
    assert "  more:  --verbose shows the traceback of the model's code.\n" in quiet.stderr
    assert "\nThe traceback of the model's code:\n  File " in verbose.stderr
    assert "raise RuntimeError" in verbose.stderr


def test_what_a_model_printed_is_shown_on_request_only(oma: Oma) -> None:
    quiet = oma("build", "tests.corpus.tiny_transformer:leaving")
    verbose = oma("build", "tests.corpus.tiny_transformer:leaving", "--verbose")

    assert quiet.returncode == verbose.returncode == 5
    assert "  more:  --verbose shows what the process printed.\n" in quiet.stderr
    assert "raceback" not in quiet.stderr + verbose.stderr
    assert "\nWhat the process printed:\nstdout:\nfirst\nlast\n" in verbose.stderr


def test_every_error_class_has_an_exit_code_that_the_help_tells() -> None:
    classes = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, AtlasError)]
    told = {int(line.split()[0]) for line in main.EXIT_CODES.splitlines() if line.strip()[:1].isdigit()}

    assert {each.exit_code for each in classes} - {1} <= told
    assert {main.BUG, main.INTERRUPTED} <= told


def test_a_bug_is_told_as_one(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr("openmodelatlas.cli.models.listing", fail)

    assert main.run(["models"]) == 70
    quiet = capsys.readouterr().err
    assert main.run(["-v", "models"]) == main.run(["models", "-v"]) == 70
    verbose = capsys.readouterr().err
    assert "bug" in quiet
    assert "--verbose" in quiet
    assert "Traceback" not in quiet
    assert "Traceback" in verbose


@pytest.mark.parametrize(
    "arguments", [["tree", TINY_MODEL, "--depth", "9", "--json"], ["show", TINY_MODEL], ["models"]]
)
def test_the_reader_of_the_output_may_leave(tiny_home: Path, arguments: list[str]) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "openmodelatlas", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=ROOT,
        env={**os.environ, "OMA_HOME": str(tiny_home)},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    said = process.stderr.read()
    process.stderr.close()

    assert process.wait(timeout=60) == 141
    assert said == b""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_build_can_be_stopped_and_leaves_nothing_behind(tmp_path: Path, number: signal.Signals, code: int) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "openmodelatlas", "build", TINY],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env={**os.environ, "OMA_HOME": str(tmp_path / "home"), "TMPDIR": str(temporary)},
    )
    assert process.stderr is not None
    line = ""
    while "Import" not in line and process.poll() is None:
        line = process.stderr.readline()
    process.send_signal(number)
    _, said = process.communicate(timeout=60)

    assert process.returncode == code
    assert "Traceback" not in said
    assert list(temporary.iterdir()) == []
    assert not (tmp_path / "home" / "atlases" / TINY_MODEL / "current").exists()


def test_progress_is_plain_lines_where_there_is_no_terminal(oma: Oma, tmp_path: Path) -> None:
    done = oma("build", TINY, home=tmp_path)

    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert lines[-1] == "Writing the atlas"
    assert len(lines) == len(set(lines))
    assert "\x1b" not in done.stderr


def test_options_are_read_before_anything_runs() -> None:
    result = CliRunner().invoke(main.oma, ["build", "gpt2", "--override", "a=1", "--override", "a=2"])

    assert result.exit_code == 2
    assert "given twice" in result.output


def test_a_folder_that_cannot_be_written_is_one_message(oma: Oma, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    started = time.monotonic()

    done = oma("build", TINY, home=tmp_path / "file" / "home")

    assert done.returncode == 2
    assert "OMA_HOME" in done.stderr
    assert time.monotonic() - started < 30
    with pytest.raises(BundleError, match="cannot be used"):
        build(TINY, home=tmp_path / "file" / "home")


@pytest.mark.parametrize("command", ["models", "doctor", "show", "build", "serve"])
@pytest.mark.parametrize("place", ["file", "file/home", "file/home/deeper"])
def test_a_home_that_is_a_file(
    command: str, place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("OMA_HOME", str(tmp_path / place))
    assert main.run([command, *(["gpt2"] if command in ("show", "build") else [])]) == 2
    assert "this is a file" in capsys.readouterr().err


def test_a_word_that_nothing_is_called_lists_each_model_once(capsys: pytest.CaptureFixture[str]) -> None:
    for word in ("zzz", "./nothing at:all@", "a b"):
        assert main.run(["build", word]) in (2, 3)
        said = capsys.readouterr().err
        assert all(said.count(f" {name},") + said.count(f" {name}.") <= 1 for name in MODELS)


@pytest.mark.parametrize("arguments", [["--json", "--md"], ["--md", "--json"]])
def test_a_page_has_one_form(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["show", TINY_MODEL, *arguments]) == 2
    assert "--json and --md" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["models", "doctor", "show", "build"])
@pytest.mark.parametrize("folder", ["/tmp/" + "x" * 400, "~nobody-is-called-this/x"])
def test_a_home_that_cannot_be(
    command: str, folder: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("OMA_HOME", folder)
    assert main.run([command, *(["gpt2"] if command in ("show", "build") else [])]) == 2
    said = capsys.readouterr().err
    assert said.count("Error: ") == 1
    assert "OMA_HOME names no possible folder" in said
