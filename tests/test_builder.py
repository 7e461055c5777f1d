from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from openmodelatlas import builder
from openmodelatlas.bundle import store
from openmodelatlas.bundle.home import model_folder
from openmodelatlas.bundle.key import build_key
from openmodelatlas.bundle.manifest import is_whole, read_manifest
from openmodelatlas.capture.job import Limits
from openmodelatlas.errors import ConfigurationError, LimitError, UsageError
from openmodelatlas.graph.published_count import published_count
from openmodelatlas.sources import MODELS, resolve, resolve_model, target

ROOT = Path(__file__).resolve().parent.parent
TINY = "tests.corpus.tiny_transformer:tiny"
TINY_MODEL = "tests-corpus-tiny-transformer-tiny"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("home")
    builder.build(TINY, home=home)
    return home


@pytest.mark.parametrize(
    ("spec", "model"),
    [
        ("moonshotai/Kimi-K2-Instruct@fd1984e2b7a3", "moonshotai-kimi-k2-instruct"),
        ("transformers:deepseek_v3", "transformers-deepseek-v3"),
        ("reference:kimi-k3", "reference-kimi-k3"),
        (TINY, TINY_MODEL),
        ("./Some Model", "some-model"),
        ("./gpt2", "gpt2-source"),
    ],
)
def test_a_source_gives_its_atlas_a_name_that_no_registered_model_has(spec: str, model: str) -> None:
    assert target.identifier_of(spec) == model
    assert model not in MODELS


@pytest.mark.parametrize("spec", ["transformers:gpt2", "reference:kimi-k2", TINY])
def test_the_name_is_the_same_from_the_text_and_from_the_source(spec: str) -> None:
    assert target.identifier(resolve(spec)) == target.identifier_of(spec)


def test_a_bare_word_that_nothing_is_called_names_what_is_near() -> None:
    with pytest.raises(UsageError, match=r"kimi-k2"):
        target.find("kimi-k22")


def test_an_atlas_that_is_up_to_date_is_opened(home: Path) -> None:
    before = store.read(model_folder(home, TINY_MODEL)).folder
    told: list[str] = []

    atlas = builder.build(TINY, home=home, progress=lambda step: told.append(step.stage))

    assert atlas.folder == before
    assert told[-1] == "tiny is up to date"


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_bytes(path.read_bytes()[:-1])])
def test_an_atlas_with_a_damaged_file_is_not_up_to_date(
    home: Path, tmp_path: Path, harm: Callable[[Path], None]
) -> None:
    shutil.copytree(home, tmp_path, dirs_exist_ok=True)
    found = target.find(TINY)
    folder = store.read(model_folder(tmp_path, TINY_MODEL)).folder
    key = read_manifest(folder).key
    for name in read_manifest(folder).files:
        assert builder.up_to_date(tmp_path, found, key) is not None
        kept = (folder / name).read_bytes()
        harm(folder / name)
        assert builder.up_to_date(tmp_path, found, key) is None, name
        (folder / name).write_bytes(kept)


def test_a_damaged_atlas_is_built_again(home: Path, tmp_path: Path) -> None:
    shutil.copytree(home, tmp_path, dirs_exist_ok=True)
    before = store.read(model_folder(tmp_path, TINY_MODEL))
    (before.folder / "drawings.json").write_bytes(b"{}")

    after = builder.build(TINY, home=tmp_path)

    assert after.document == before.document
    assert is_whole(after.folder, after.manifest)


def test_the_bundle_tells_how_long_the_build_took(tmp_path: Path) -> None:
    started = time.monotonic()
    atlas = builder.build(TINY, home=tmp_path)
    took = time.monotonic() - started
    seconds = atlas.manifest.seconds
    assert seconds is not None
    assert took / 2 < seconds < took
    again = builder.build(TINY, home=tmp_path)  # up to date: it was not built
    assert again.manifest.seconds == seconds


@pytest.mark.parametrize(
    "changed", [{"packages": ["msgspec"]}, {"overrides": {"hidden_size": 48}}, {"overrides": {"hidden_size": [48, 64]}}]
)
def test_what_was_asked_for_is_part_of_the_key(changed: dict[str, object]) -> None:
    source = resolve(TINY)

    assert build_key(source) == build_key(source)
    assert build_key(source, **changed) != build_key(source)  # type: ignore[arg-type]


def test_a_build_that_fails_leaves_the_previous_atlas(home: Path) -> None:
    before = store.read(model_folder(home, TINY_MODEL))

    with pytest.raises(ConfigurationError):
        builder.build(TINY, home=home, overrides={"hidden_size": 33, "num_attention_heads": 4})
    with pytest.raises(LimitError):
        builder.build(TINY, home=home, force=True, limits=Limits(seconds=0.5))

    after = store.read(model_folder(home, TINY_MODEL))
    assert after.folder == before.folder
    assert after.document == before.document


def test_every_value_that_the_document_names_is_kept_once(home: Path) -> None:
    atlas = store.read(model_folder(home, TINY_MODEL))
    document = atlas.document
    facts = [
        *(node.tensor for node in atlas if node.tensor is not None),
        *document.inputs.values(),
        *document.parameters.values(),
    ]
    keys = {fact.value for fact in facts if fact.value is not None}

    contents = [(value.dtype, value.shape, value.data) for value in (atlas.value(key) for key in sorted(keys))]
    assert len(keys) > 20
    assert len(set(contents)) == len(contents)


def test_two_builds_at_once_wait_for_each_other(tmp_path: Path) -> None:
    environment = {**os.environ, "OMA_HOME": str(tmp_path)}
    command = [sys.executable, "-m", "openmodelatlas", "build", TINY]
    processes = [
        subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=120)[1] for process in processes]

    assert [process.returncode for process in processes] == [0, 0], said
    assert sorted("Waiting for another build" in each for each in said) == [False, True]
    assert sorted("up to date" in each for each in said) == [False, True]


def test_the_published_count_holds_if_it_is_equal() -> None:
    entry = MODELS["gpt2"]
    source = resolve_model("gpt2").source

    assert published_count(entry, source, entry.parameters.total).passed
    assert published_count(entry, source, entry.parameters.total + 1).passed is False


def test_a_known_difference_from_the_published_count_is_told_with_its_reason() -> None:
    entry = MODELS["kimi-k2"]
    source = resolve("transformers:deepseek_v3")

    known = published_count(entry, source, 1026408209408)
    unknown = published_count(entry, source, 1026408209409)

    assert known.passed
    assert "23,040 fewer" in known.detail
    assert "correction biases" in known.detail
    assert unknown.passed is False
    assert "does not know" in unknown.detail


@pytest.mark.slow
def test_kimi_k2_without_a_hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    atlas = builder.build("kimi-k2", home=tmp_path)

    assert atlas.root.parameter_count == 1026408209408
    assert atlas.document.provenance.repository == "transformers"
    assert atlas.document.provenance.preferred[0].startswith("moonshotai/Kimi-K2-Instruct@fd1984e2b7a3")
    labels = [node.label for node in atlas.children("layers") if node.kind != "tensor"]
    assert atlas["layers"].label == "61 transformer blocks"
    assert labels == ["1 dense block", "60 MoE blocks"]
    assert [check.name for check in atlas.document.checks if check.passed is False] == []
