from __future__ import annotations

import hashlib
import importlib.util
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from openmodelatlas import sources
from openmodelatlas.errors import HashMismatchError, SourceError, UsageError
from openmodelatlas.sources import MODELS, PublishedParameters, RegisteredModel, RegisteredSource, resolve_model
from tests.hub import Hub
from tests.sources.samples import sample_files

NAMES = [
    "kimi-k2",
    "kimi-k3",
    "kimi-linear",
    "deepseek-v3",
    "llama-3-8b",
    "qwen3-8b",
    "qwen3-30b-a3b",
    "gpt-oss-120b",
    "gemma-3-27b",
    "mixtral-8x7b",
    "gpt2",
    "mamba2",
]


def test_names_and_exports() -> None:
    assert list(MODELS) == NAMES
    assert all(hasattr(sources, name) for name in sources.__all__)


@pytest.mark.parametrize("name", NAMES)
def test_entry_is_complete(name: str) -> None:
    entry = MODELS[name]
    assert entry.name == name
    assert entry.configuration()["model_type"] if name != "kimi-k2" else True
    assert entry.display_name
    assert entry.description.endswith(".")
    assert entry.configuration_origin
    assert entry.parameters.origin
    assert entry.parameters.counts.endswith(".")
    for source in entry.sources:
        if source.is_hub:
            assert len(source.spec.partition("@")[2]) == 40
        else:
            assert source.measured_parameters


def test_preferences_that_the_project_promises() -> None:
    assert MODELS["kimi-k2"].sources[0].label == "moonshotai/Kimi-K2-Instruct@fd1984e2b7a3"
    assert MODELS["kimi-k2"].sources[1].spec == "transformers:deepseek_v3"
    assert MODELS["kimi-k2"].sources[1].measured_parameters == 1_026_408_209_408
    assert MODELS["kimi-k3"].sources[0].label == "moonshotai/Kimi-K3@f831ab668142"
    assert MODELS["kimi-k3"].sources[1].spec == "reference:kimi-k3"


@pytest.mark.parametrize("name", [name for name in NAMES if name != "kimi-k3"])
def test_measured_count_agrees_with_the_published_one(name: str) -> None:
    published = MODELS[name].parameters
    # What the published number counts besides: correction biases that are buffers here, or a vision tower.
    besides = {"kimi-k2": 60 * 384, "kimi-linear": 26 * 256, "deepseek-v3": 58 * 256, "gemma-3-27b": 423_060_336}
    measured = next(s.measured_parameters for s in MODELS[name].sources if s.spec.startswith("transformers:"))
    assert measured is not None
    assert published.agrees_with(measured + besides.get(name, 0))
    assert not published.agrees_with(measured + besides.get(name, 0) + published.precision)


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("kimi-linear", "a6ac3c2c4b5aa72370f9727f49ffa4432715d20061889acdb37c688be853096e"),
        ("deepseek-v3", "cbf0b95dc614de208a109bb5fd4e7eed11385e9c68411d2c17db5319443035d9"),
    ],
)
def test_configuration_is_the_published_file_byte_for_byte(name: str, published: str) -> None:
    folder = Path(sources.__file__).parent / "configurations"
    assert hashlib.sha256((folder / MODELS[name].configuration_file).read_bytes()).hexdigest() == published
    assert published in MODELS[name].configuration_origin


def test_rounded_counts() -> None:
    rounded = PublishedParameters(total=47_000_000_000, precision=10**9, counts=".", origin=".")
    assert rounded.agrees_with(46_702_792_704)
    assert not rounded.agrees_with(46_400_000_000)


def test_unknown_name() -> None:
    with pytest.raises(UsageError, match="no registered model 'kimi-k4'") as caught:
        resolve_model("kimi-k4")
    assert "kimi-k2" in (caught.value.advice or "")


def register(monkeypatch: pytest.MonkeyPatch, *entries: RegisteredSource) -> None:
    template = MODELS["kimi-k2"]
    monkeypatch.setitem(
        MODELS,
        "sample",
        RegisteredModel(
            name="sample",
            display_name="Sample",
            description="A sample.",
            sources=entries,
            configuration_file="kimi-k2.json",
            configuration_origin="here",
            parameters=template.parameters,
        ),
    )


FALLBACK = RegisteredSource(spec="transformers:deepseek_v3")


def test_trusted_hub_source_comes_first(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = hub.add("owner/sample", sample_files()).branches["main"]
    register(monkeypatch, RegisteredSource(spec=f"owner/sample@{commit}"), FALLBACK)
    resolved = resolve_model("sample", trust=True)
    assert (resolved.source.kind, resolved.source.revision, resolved.passed_over) == ("hub", commit, ())
    assert resolved.source.configuration["hidden_size"] == 64, "the hub's own configuration, never the registry's"


def test_untrusted_hub_source_is_passed_over_and_not_asked(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add("owner/sample", sample_files())
    register(monkeypatch, RegisteredSource(spec="owner/sample@main"), FALLBACK)
    resolved = resolve_model("sample")
    assert resolved.source.kind == "transformers"
    assert "--trust-remote-code" in resolved.passed_over[0]
    assert hub.requests == []
    register(monkeypatch, RegisteredSource(spec="owner/sample@main"))
    alone = resolve_model("sample")
    assert (alone.source.kind, alone.source.trusted, alone.passed_over) == ("hub", False, ())


@pytest.mark.parametrize("state", ["missing", "gated", "broken", "offline"])
def test_fallback(hub: Hub, monkeypatch: pytest.MonkeyPatch, state: str) -> None:
    if state != "missing":
        hub.add("owner/sample", sample_files()).gated = "all" if state == "gated" else ""
    hub.status = 503 if state == "broken" else 0
    if state == "offline":
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    register(monkeypatch, RegisteredSource(spec="owner/sample@main"), FALLBACK)
    resolved = resolve_model("sample", trust=True)
    assert resolved.source.kind == "transformers"
    assert resolved.source.configuration["n_routed_experts"] == 384
    word = {"missing": "no such repository", "gated": "gated", "broken": "HTTP 503", "offline": "Offline mode"}[state]
    assert len(resolved.passed_over) == 1
    assert resolved.passed_over[0].startswith("owner/sample@main was passed over: ")
    assert word in resolved.passed_over[0]
    with pytest.raises(SourceError, match="No source of Sample can be used"):
        resolve_model("sample", trust=True, revision="main")


def test_hash_that_differs_is_an_error_and_never_passed_over(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add("owner/sample", sample_files())
    register(monkeypatch, RegisteredSource(spec="owner/sample@main", pins={"layers.py": "0" * 64}), FALLBACK)
    for trust in (False, True):
        with pytest.raises(HashMismatchError):
            resolve_model("sample", trust=trust)


def test_pinned_source_is_trusted_without_asking(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add("owner/sample", sample_files())
    register(monkeypatch, RegisteredSource(spec="owner/sample@main"), FALLBACK)
    pins = {file.path: file.sha256 for file in resolve_model("sample", trust=True).source.files}
    register(monkeypatch, RegisteredSource(spec="owner/sample@main", pins=pins), FALLBACK)
    assert resolve_model("sample").source.trusted


def test_revision_only_for_hub_sources() -> None:
    with pytest.raises(UsageError, match="no hub source"):
        resolve_model("gpt2", revision="main")


def test_given_configuration_replaces_the_registered_one(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text('{"model_type": "gpt2", "n_layer": 3}')
    source = resolve_model("gpt2", configuration=file).source
    assert source.configuration["n_layer"] == 3
    assert source.configuration_origin == str(file)


def test_no_heavy_import() -> None:
    heavy = ("torch", "transformers", "numpy", "huggingface_hub")
    code = (
        "import sys, openmodelatlas.sources as s\n"
        "for name in s.MODELS: s.resolve_model(name)\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    assert run(code) == "[]"
    assert run("import transformers\n" + code) != "[]", "the control must fail the test"


def run(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


@pytest.mark.skipif(importlib.util.find_spec("hatchling") is None, reason="hatchling is not installed")
def test_data_files_are_in_the_wheel(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=root, check=True, capture_output=True)
    names = zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist()
    assert "openmodelatlas/sources/models.json" in names
    for entry in MODELS.values():
        assert f"openmodelatlas/sources/configurations/{entry.configuration_file}" in names
