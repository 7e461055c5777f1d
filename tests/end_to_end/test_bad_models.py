"""Bad input of every kind ends in one clear message, with file and line where there is one, and the right exit code."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import openmodelatlas
from openmodelatlas import builder
from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.bundle.home import list_built
from openmodelatlas.capture.job import Limits
from openmodelatlas.errors import (
    AtlasError,
    CaptureError,
    ConfigurationError,
    HashMismatchError,
    LimitError,
    MissingStandInError,
    ModelCodeError,
    SandboxError,
    SourceError,
    SourceNotFoundError,
)
from tests.end_to_end.conftest import Build
from tests.end_to_end.pebble import IMPORTED, MADE, MODELING, STARTED, pebble, put

Fails = Callable[..., AtlasError]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return pebble(tmp_path / "pebble")


@pytest.fixture
def fails(home: Path) -> Fails:
    """Builds a folder, which fails, and leaves nothing behind."""

    def build(folder: Path, kind: type[AtlasError], **limits: float) -> AtlasError:
        with pytest.raises(kind) as caught:
            openmodelatlas.build(str(folder), trust=True, limits=Limits(**{"seconds": 60, **limits}))  # type: ignore[arg-type]
        assert type(caught.value) is kind
        assert "\n" not in caught.value.what
        assert list_built(home) == ()
        return caught.value

    return build


@pytest.fixture
def refused(home: Path, oma: Build) -> Callable[..., str]:
    """The same through the command line; returns what it printed on standard error."""

    def build(folder: Path, code: int, *options: str) -> str:
        done = oma("build", folder, "--trust-remote-code", *options)
        assert done.returncode == code, done.stderr
        assert [line[:7] for line in done.stderr.splitlines()].count("Error: ") == 1
        assert "Traceback" not in done.stderr
        assert "bug of openmodelatlas" not in done.stderr
        assert done.stdout == ""
        return done.stderr

    return build


def test_the_good_model_builds(model: Path, home: Path) -> None:
    """The control: what the bad ones are made from is good."""
    atlas: Atlas = openmodelatlas.build(str(model), trust=True)
    assert atlas["layers"].label == "3 layers"
    assert atlas.root.parameter_count == 2 * 5000 * 256 + 3 * (2 * 256 + 2 * 256 * 1024 + 1024 + 256)
    assert all(check.passed is not False for check in atlas.document.checks)


# Configuration --------------------------------------------------------------------------------------------------------


def test_missing_key(tmp_path: Path, fails: Fails, refused: Callable[..., str]) -> None:
    folder = pebble(tmp_path / "pebble", intermediate_size=None)
    error = fails(folder, ConfigurationError)
    assert "PebbleConfig refuses the configuration" in error.what
    assert "'intermediate_size'" in error.what
    assert "intermediate_size" in refused(folder, 3)


@pytest.mark.parametrize(
    ("key", "value"),
    [("hidden_size", -256), ("num_hidden_layers", 10**9), ("vocab_size", "many"), ("hidden_size", 0.5)],
)
def test_absurd_key(tmp_path: Path, fails: Fails, key: str, value: object) -> None:
    folder = pebble(tmp_path / "pebble", **{key: value})
    put(folder, IMPORTED, "raise RuntimeError('the code must not run')")
    error = fails(folder, ConfigurationError)
    assert key in f"{error.where} {error.what}"
    assert str(value) in error.what


def test_absurd_key_through_the_command_line(tmp_path: Path, refused: Callable[..., str]) -> None:
    assert "hidden_size" in refused(pebble(tmp_path / "pebble", hidden_size=-256), 3)


# Code that fails ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("place", [IMPORTED, MADE], ids=["import", "init"])
def test_code_that_raises(model: Path, fails: Fails, place: str) -> None:
    line = put(model, place, "raise ValueError('no pebble today')")
    error = fails(model, ModelCodeError)
    assert error.what == "The model's code raised ValueError: no pebble today."
    assert error.where == f"{MODELING}:{line}"
    assert "raise ValueError" in error.__notes__[0]


def test_forward_that_raises(model: Path, refused: Callable[..., str]) -> None:
    line = put(model, STARTED, "raise ValueError('no pebble today')")
    shown = refused(model, 5)
    assert "Error: The model's code raised ValueError: no pebble today.\n" in shown
    assert f"where: {MODELING}:{line}\n" in shown


def test_code_that_does_not_parse(model: Path, fails: Fails) -> None:
    line = put(model, IMPORTED, "def broken(:")
    assert fails(model, SourceError).where == f"{MODELING}:{line}"


def test_import_without_a_stand_in(model: Path, refused: Callable[..., str]) -> None:
    line = put(model, IMPORTED, "from deep_gemm import gemm_fp8")
    shown = refused(model, 5)
    assert "'deep_gemm'" in shown
    assert f"where: {MODELING}:{line}\n" in shown
    assert "docs/adding-a-stand-in.md" in shown


def test_import_of_a_package_that_is_not_installed(model: Path, fails: Fails) -> None:
    put(model, IMPORTED, "import nobody_has_this_package")
    error = fails(model, MissingStandInError)
    assert "'nobody_has_this_package'" in error.what
    assert "--with nobody_has_this_package" in (error.advice or "")


def test_kernel_of_a_package_with_stand_ins_that_has_none(model: Path, fails: Fails) -> None:
    line = put(model, IMPORTED, "from fla.ops.nothing_like_it import chunk_nothing")
    error = fails(model, MissingStandInError)
    assert "fla.ops.nothing_like_it" in error.what
    assert error.where == f"{MODELING}:{line}"


@pytest.mark.parametrize("arguments", ["self", "self, pixel_values, *, mask=None", "self, ids, *rest"])
def test_model_that_takes_no_tokens(model: Path, fails: Fails, arguments: str) -> None:
    file = model / MODELING
    file.write_text(file.read_text().replace("def forward(self, input_ids)", f"def forward({arguments})"))
    error = fails(model, ConfigurationError)
    assert "PebbleForCausalLM.forward takes " in error.what
    assert "package.module:function" in (error.advice or "")


@pytest.mark.parametrize(("name", "said"), [("torch", "no class of modules"), ("PebbleLayer", "AutoConfig")])
def test_class_that_is_no_model(tmp_path: Path, fails: Fails, name: str, said: str) -> None:
    folder = pebble(tmp_path / "pebble", auto_map={"AutoModelForCausalLM": f"modeling_pebble.{name}"})
    error = fails(folder, ConfigurationError)
    assert said in f"{error.what} {error.where}"


# Code that misbehaves -------------------------------------------------------------------------------------------------


def test_endless_loop(model: Path, refused: Callable[..., str]) -> None:
    put(model, STARTED, "while True:\n    pass")
    assert "5 s" in refused(model, 5, "--limit-seconds", "5")


def test_memory_eater(model: Path, fails: Fails) -> None:
    put(model, STARTED, "kept = []\nwhile True:\n    kept.append(torch.ones(4_000_000))")
    assert "memory" in fails(model, LimitError, memory_bytes=900 * 2**20).what.lower()


def test_exit_of_the_process(model: Path, fails: Fails) -> None:
    put(model, STARTED, "import os", "os._exit(3)")
    assert "exit code 3" in fails(model, CaptureError).what


def test_exit_of_the_process_as_if_it_were_done(model: Path, refused: Callable[..., str]) -> None:
    put(model, MADE, "import os", "os._exit(0)")
    shown = refused(model, 5)
    assert "without a result" in shown
    assert "os._exit" in shown


def test_socket(model: Path, refused: Callable[..., str]) -> None:
    line = put(model, STARTED, "import socket\nsocket.create_connection(('127.0.0.1', 9))")
    assert f"where: {MODELING}:{line + 1}\n" in refused(model, 5)


def test_write_outside(model: Path, tmp_path: Path, fails: Fails) -> None:
    target = tmp_path / "outside"
    line = put(model, STARTED, f"open({str(target)!r}, 'w').write('gone')")
    error = fails(model, SandboxError)
    assert error.where == f"{MODELING}:{line}"
    assert not target.exists()


def test_change_of_its_own_source(model: Path, fails: Fails) -> None:
    put(model, STARTED, "open(__file__, 'a').write('# changed')")
    before = (model / MODELING).read_bytes()
    fails(model, SandboxError)
    assert (model / MODELING).read_bytes() == before


def test_gigabytes_of_output(model: Path, fails: Fails) -> None:
    put(model, STARTED, "while True:\n    print('x' * 1_000_000)")
    assert "printed" in fails(model, LimitError, output_bytes=20 * 2**20).what


# Files that are not what they should be -------------------------------------------------------------------------------


def test_folder_without_code(tmp_path: Path, fails: Fails, refused: Callable[..., str]) -> None:
    folder = pebble(tmp_path / "pebble")
    for file in folder.glob("*.py"):
        file.unlink()
    (folder / "model.safetensors").write_bytes(b"\0" * 64)
    error = fails(folder, SourceNotFoundError)
    assert "modeling_pebble.py" in error.what
    assert "modeling_pebble.py" in refused(folder, 3)


def test_folder_without_code_or_a_class(tmp_path: Path, fails: Fails) -> None:
    folder = pebble(tmp_path / "pebble", auto_map=None, architectures=None)
    for file in folder.glob("*.py"):
        file.unlink()
    assert "pebble" in str(fails(folder, SourceNotFoundError))


def test_file_that_is_not_utf8(model: Path, fails: Fails, refused: Callable[..., str]) -> None:
    line = put(model, IMPORTED, "# pebble")
    file = model / MODELING
    file.write_bytes(file.read_bytes().replace(b"# pebble", b"# p\xe9bble"))
    error = fails(model, SourceError)
    assert error.where == f"{MODELING}:{line}"
    assert "not UTF-8" in error.what
    assert f"{MODELING}:{line}" in refused(model, 3)


def test_file_that_changes_after_it_was_pinned(model: Path, fails: Fails, monkeypatch: pytest.MonkeyPatch) -> None:
    capture = builder.capture

    def change_and_capture(*arguments: object, **named: object) -> object:
        put(model, STARTED, "raise RuntimeError('changed code must not run')")
        return capture(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(builder, "capture", change_and_capture)
    error = fails(model, HashMismatchError)
    assert error.where == MODELING
    assert error.exit_code == 3


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace("\n\n", "\n\f\n"),
        lambda text: text.replace("# started", "# st\u2028art\x85ed\x1c"),
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: text.replace("    ", "\t"),
        lambda text: text + f"{'long'!r} * 2  # {'x' * 1_000_000}",
    ],
    ids=["form feeds", "separators", "mark", "CRLF", "CR", "tabs", "long line"],
)
def test_text_in_every_form_that_python_reads(
    model: Path, home: Path, tmp_path: Path, change: Callable[[str], str]
) -> None:
    plain = openmodelatlas.build(str(pebble(tmp_path / "plain")), trust=True)
    file = model / MODELING
    file.write_bytes(change(file.read_text()).encode())
    atlas = openmodelatlas.build(str(model), trust=True)
    assert [node.address for node in atlas] == [node.address for node in plain]
    for node, expected in zip(atlas, plain, strict=True):
        assert (node.symbol is None) == (expected.symbol is None)
        if node.symbol is not None and expected.symbol is not None:
            assert node.symbol.lines.first == expected.symbol.lines.first
            assert atlas.text_of(node.symbol.lines) == plain.text_of(expected.symbol.lines)
