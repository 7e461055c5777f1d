from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from openmodelatlas import builder
from openmodelatlas.bundle import store
from openmodelatlas.bundle.home import is_identifier, list_built, model_folder, name_for, write_origin
from openmodelatlas.bundle.key import build_key
from openmodelatlas.bundle.manifest import is_whole, read_manifest
from openmodelatlas.capture.job import Limits
from openmodelatlas.cli.building import ensure_built
from openmodelatlas.cli.locate import built_name, open_page
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
    assert target.named(spec)[0] == model
    assert model not in MODELS


def made(home: Path, spec: str) -> str:
    """As if the atlas of ``spec`` were built; returns what it is called."""
    model = name_for(home, *target.named(spec))
    folder = model_folder(home, model)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "current").touch()
    write_origin(folder, target.named(spec)[1])
    return model


@pytest.mark.parametrize(
    "specs",
    [
        ("./日本語", "./中文", "./model", "./한국어"),
        ("one/same", "two/same", "./same", "same"),
        ("acme/x-y", "acme-x/y", "acme-x:y", "./acme_x.y"),
        ("transformers:qwen3", "transformers/qwen3", "./transformers-qwen3"),
        ("./" + "x" * 120, "./" + "x" * 121),
        ("./gpt2", "./gpt2-source"),
    ],
)
def test_no_two_sources_share_a_name(specs: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for folder in ("one/same", "two/same"):
        (tmp_path / folder).mkdir(parents=True)
    specs = tuple(dict.fromkeys(target.named(spec)[1] for spec in specs))
    home = tmp_path / "home"
    for order in (specs, specs[::-1]):
        shutil.rmtree(home, ignore_errors=True)
        names = {spec: made(home, spec) for spec in order}
        assert names[order[0]] == target.named(order[0])[0]  # nothing clashed yet
        assert len(set(names.values())) == len(specs)
        assert all(is_identifier(name) for name in names.values())
        assert {spec: made(home, spec) for spec in order[::-1]} == names
        shutil.rmtree(model_folder(home, names[order[0]]))  # the others keep their names
        assert {spec: made(home, spec) for spec in order[1:]} == {spec: names[spec] for spec in order[1:]}


def test_a_factory_of_the_same_name_elsewhere_is_another_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    origins = []
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text("def tiny(): ...\n")
        monkeypatch.chdir(tmp_path / folder)
        origins.append(target.find("mine:tiny").origin)
    assert origins == [f"mine:tiny in {tmp_path / folder}" for folder in ("one", "two")]


def test_hubs_tell_no_repositories_apart_by_case_or_revision() -> None:
    assert len({target.named(spec) for spec in ("Acme/X", "acme/x", "acme/x@v1", "acme/X@main")}) == 1


def test_a_repository_without_code_is_called_after_itself(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text('{"model_type": "gpt2"}')
    found = [target.find(str(tmp_path / name)) for name in ("a", "b")]
    assert [each.source.kind for each in found] == ["transformers", "transformers"]
    assert [(each.model, each.origin) for each in found] == [(name, str(tmp_path / name)) for name in ("a", "b")]


def test_the_atlas_of_another_source_is_never_shown_or_replaced(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(home, tmp_path / "home", dirs_exist_ok=True)
    monkeypatch.setenv("OMA_HOME", str(tmp_path / "home"))
    before = store.read(model_folder(tmp_path / "home", TINY_MODEL))
    other = tmp_path / TINY_MODEL
    shutil.copytree(ROOT / "tests" / "corpus" / "hub" / "pebble", other)

    assert built_name(TINY, list_built(tmp_path / "home")) == TINY_MODEL
    with pytest.raises(UsageError, match=f"is that of {TINY} in {ROOT}"):
        open_page(str(other), None)
    built = builder.build(str(other), trust=True)

    assert built.document.model.startswith(f"{TINY_MODEL}-")
    assert open_page(str(other), None)[0].folder == built.folder
    assert open_page(TINY, None)[0].document == before.document
    assert ensure_built([str(other), TINY]) == [built.document.model, TINY_MODEL]
    again = builder.build(str(other), trust=True)
    assert (again.folder, again.document.model) == (built.folder, built.document.model)


def test_a_bare_word_that_nothing_is_called_names_what_is_near() -> None:
    with pytest.raises(UsageError, match=r"kimi-k2"):
        target.find("kimi-k22")


def test_an_atlas_that_is_up_to_date_is_opened(home: Path) -> None:
    before = store.read(model_folder(home, TINY_MODEL)).folder
    told: list[str] = []

    atlas = builder.build(TINY, home=home, progress=lambda step: told.append(step.stage))

    assert atlas.folder == before
    assert told[-1] == "tiny is up to date"


def test_an_atlas_that_is_up_to_date_tells_why_sources_were_passed_over_now(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found, key = target.find(TINY), store.read(model_folder(home, TINY_MODEL)).manifest.key
    monkeypatch.setattr(builder, "_key", lambda *_: key)
    for reasons in (("one",), ("another",), ()):
        monkeypatch.setattr(builder, "find", lambda *_, r=reasons, **__: replace(found, passed_over=r))
        atlas = builder.build(TINY, home=home)
        assert atlas.document.provenance.preferred == reasons
    assert store.read(model_folder(home, TINY_MODEL)).folder == atlas.folder


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


@pytest.mark.parametrize("name", MODELS)
def test_no_verdict_on_the_published_count_contradicts_its_name(name: str) -> None:
    entry = MODELS[name]
    source = resolve("reference:kimi-k2")  # from where only Kimi K2 is known
    for counted in (entry.parameters.total, entry.parameters.total + 10**9):
        check = published_count(entry, source, counted)
        assert check.name == "parameters against the published count"
        assert "published" in check.detail
        assert ("than the published" in check.detail) == (not check.passed)


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
