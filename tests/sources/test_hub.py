from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path

import pytest

from openmodelatlas.errors import (
    ConfigurationError,
    HashMismatchError,
    HubUnreachableError,
    SourceError,
    SourceGatedError,
    SourceNotFoundError,
    UsageError,
)
from openmodelatlas.sources import hub_fault, resolve, resolve_model
from openmodelatlas.sources.hub import hub_source
from tests.hub import Hub, SilentServer
from tests.sources.samples import sample_files

NAME = "owner/sample"


def test_branch_is_resolved_to_its_full_hash_and_only_code_and_configuration_are_fetched(hub: Hub) -> None:
    commit = hub.add(NAME, sample_files()).branches["main"]
    source = resolve(NAME)
    assert (source.kind, source.repository, source.revision, source.requested_revision) == ("hub", NAME, commit, None)
    assert [file.path for file in source.files] == [
        "config.json",
        "configuration_sample.py",
        "generation_config.json",
        "layers.py",
        "modeling_sample.py",
    ]
    fetched = [
        request.rsplit("/", 1)[1] for request in hub.requests if request.startswith("GET") and "resolve" in request
    ]
    assert sorted(fetched) == [file.path for file in source.files]
    assert source.entry == "modeling_sample.SampleForCausalLM"
    assert source.configuration["hidden_size"] == 64
    assert source.configuration_origin == f"{NAME}/config.json@{commit}"
    assert source.transformers_version == "4.48.3"
    assert not source.trusted
    assert resolve(NAME, trust=True).trusted
    assert source.url == f"{hub.address}/{NAME}"
    assert any("tokenizer.json" in note for note in source.notes)
    assert any("index of weight files" in note for note in source.notes)


@pytest.mark.parametrize("how", ["branch", "tag", "full", "short", "short resolved by the hub", "inline"])
def test_revisions(hub: Hub, how: str) -> None:
    repository = hub.add(NAME, sample_files(hidden_size=32))
    first = repository.branches["main"]
    repository.tags["v1"] = first
    repository.branches["old"] = first
    repository.commit(sample_files(hidden_size=48))
    repository.resolves_short_hashes = how == "short resolved by the hub"
    revision = {"branch": "old", "tag": "v1", "full": first, "inline": "v1"}.get(how, first[:12])
    source = resolve(f"{NAME}@v1") if how == "inline" else resolve(NAME, revision=revision)
    assert source.revision == first
    assert source.requested_revision == revision
    assert source.configuration["hidden_size"] == 32
    assert resolve(NAME).configuration["hidden_size"] == 48


def test_missing_revision(hub: Hub) -> None:
    hub.add(NAME, sample_files())
    for revision in ("nowhere", "abcdef012345", "0" * 40):
        with pytest.raises(SourceNotFoundError, match="no revision"):
            resolve(NAME, revision=revision)
    with pytest.raises(UsageError, match="Two revisions"):
        resolve(f"{NAME}@main", revision="other")


def test_missing_repository(hub: Hub) -> None:
    with pytest.raises(SourceNotFoundError, match="no such repository"):
        resolve("owner/nothing")


@pytest.mark.parametrize("gated", ["files", "all"])
def test_gated_repository(hub: Hub, monkeypatch: pytest.MonkeyPatch, gated: str) -> None:
    repository = hub.add(NAME, sample_files())
    repository.gated, repository.token = gated, "hf_secret"
    with pytest.raises(SourceGatedError, match="gated") as caught:
        resolve(NAME)
    assert "HF_TOKEN" in (caught.value.advice or "")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    assert resolve(NAME).entry == "modeling_sample.SampleForCausalLM"


def test_repository_without_configuration(hub: Hub, tmp_path: Path) -> None:
    files = sample_files()
    configuration = tmp_path / "mine.json"
    configuration.write_bytes(files.pop("config.json"))
    hub.add(NAME, files)
    with pytest.raises(SourceNotFoundError, match=r"no config\.json"):
        resolve(NAME)
    source = resolve(NAME, configuration=configuration)
    assert source.configuration_origin == str(configuration)


def test_repository_with_neither_code_nor_configuration(hub: Hub) -> None:
    hub.add(NAME, {"README.md": b"", "model.safetensors": b""})
    with pytest.raises(SourceNotFoundError, match="neither code nor a configuration"):
        resolve(NAME)


def test_repository_without_code_uses_transformers_and_says_so(hub: Hub) -> None:
    configuration = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 64}
    commit = hub.add(NAME, {"config.json": json.dumps(configuration).encode()}).branches["main"]
    source = resolve(NAME)
    assert (source.kind, source.repository, source.entry, source.trusted) == (
        "transformers",
        "transformers",
        "llama",
        True,
    )
    assert source.configuration_origin == f"{NAME}/config.json@{commit}"
    assert source.configuration == configuration
    assert source.transformers_version is None
    assert all(file.path.startswith("transformers/models/llama/") for file in source.files)
    assert "holds no model code" in source.notes[0]


def test_repository_without_code_and_with_an_unknown_model_type(hub: Hub) -> None:
    hub.add(NAME, {"config.json": b'{"model_type": "unheard_of"}'})
    with pytest.raises(SourceNotFoundError, match="no model code, and for its model type 'unheard_of'"):
        resolve(NAME)
    hub.repositories[NAME].commit({"config.json": b"{}"})
    with pytest.raises(ConfigurationError, match="names no model_type"):
        resolve(NAME)


def test_code_in_another_repository_is_refused(hub: Hub) -> None:
    hub.add(NAME, sample_files(auto_map={"AutoModelForCausalLM": "other/code--modeling_sample.SampleForCausalLM"}))
    with pytest.raises(ConfigurationError, match="another repository, other/code; two sources are never mixed"):
        resolve(NAME)


def test_import_of_a_file_that_is_not_there(hub: Hub) -> None:
    files = sample_files()
    del files["layers.py"]
    hub.add(NAME, files)
    with pytest.raises(SourceNotFoundError, match=r"imports layers\.py") as caught:
        resolve(NAME)
    assert caught.value.where == "modeling_sample.py:2"


@pytest.mark.parametrize(
    "text",
    [
        "def later():\n    from .absent import name",
        "class Lazy:\n    def later(self):\n        from .absent import name",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .absent import name",
        "import typing\nif typing.TYPE_CHECKING:\n    from .absent import name\nelse:\n    name = None",
        "import contextlib\nwith contextlib.suppress(ImportError):\n    from .absent import name",
        "if 1 > 2:\n    from .absent import name",
        "try:\n    from .absent import name\nexcept ImportError:\n    name = None",
        "try:\n    from .absent import name\nexcept* ImportError:\n    name = None",
    ],
)
def test_only_what_runs_with_its_file_must_be_there(hub: Hub, text: str) -> None:
    files = sample_files()
    hub.add(NAME, {**files, "layers.py": files["layers.py"] + f"\n{text}\n".encode()})
    assert "layers.py" in [file.path for file in resolve(NAME).files]


@pytest.mark.parametrize(
    "text",
    [
        "from .absent import name",
        "class Holder:\n    from .absent import name",
    ],
)
def test_what_runs_with_its_file_must_be_there(hub: Hub, text: str) -> None:
    files = sample_files()
    hub.add(NAME, {**files, "layers.py": files["layers.py"] + f"\n{text}\n".encode()})
    with pytest.raises(SourceNotFoundError, match=r"imports absent\.py"):
        resolve(NAME)


def test_file_that_is_not_utf8(hub: Hub) -> None:
    hub.add(NAME, {**sample_files(), "layers.py": b"# first\n# caf\xe9\n"})
    with pytest.raises(SourceError, match="not UTF-8: byte 13 is 0xe9") as caught:
        resolve(NAME)
    assert caught.value.where == "layers.py:2"


@pytest.mark.parametrize(
    "path", ["../evil.py", "/etc/evil.py", "a/../../evil.py", ".hidden/evil.py", "a\\evil.py", "evi\u202el.py"]
)
def test_code_with_an_unsafe_name_is_refused(hub: Hub, path: str) -> None:
    hub.add(NAME, {**sample_files(), path: b""})
    with pytest.raises(SourceError, match="code that is refused"):
        resolve(NAME)


def test_large_files(hub: Hub) -> None:
    hub.add(NAME, {**sample_files(), "big.json": b" " * (4 * 2**20 + 1)})
    assert any("big.json" in note and "4194305 bytes" in note for note in resolve(NAME).notes)
    hub.repositories[NAME].commit({**sample_files(), "big.py": b" " * (4 * 2**20 + 1)})
    with pytest.raises(SourceError, match="4194305 bytes"):
        resolve(NAME)


def test_pins(hub: Hub) -> None:
    hub.add(NAME, sample_files())
    pins = {file.path: file.sha256 for file in resolve(NAME).files}
    assert hub_source(NAME, pins=pins).trusted
    with pytest.raises(HashMismatchError, match="has SHA-256"):
        hub_source(NAME, pins={**pins, "layers.py": "0" * 64})
    with pytest.raises(HashMismatchError, match="is absent"):
        hub_source(NAME, pins={**pins, "more.py": "0" * 64})
    with pytest.raises(HashMismatchError, match="not among the pinned"):
        hub_source(NAME, pins={path: digest for path, digest in pins.items() if path != "layers.py"})


def test_content_that_differs_from_the_pin_is_found_whatever_the_hub_says(hub: Hub) -> None:
    hub.add(NAME, sample_files())
    pins = {file.path: file.sha256 for file in resolve(NAME).files}
    other = hub.add("owner/other", sample_files())
    hub.served["layers.py"] = b"class Layer:\n    evil\n"
    assert other.branches["main"]
    with pytest.raises(HashMismatchError):
        hub_source("owner/other", pins=pins)


def test_offline_mode_uses_the_cache_and_asks_nobody(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = hub.add(NAME, sample_files())
    repository.tags["v1"] = repository.branches["main"]
    online = resolve(NAME)
    resolve(NAME, revision="v1")
    hub.requests.clear()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    for revision in (None, "main", "v1", online.revision, online.revision[:8]):
        offline = resolve(NAME, revision=revision)
        assert (offline.revision, offline.files, offline.entry) == (online.revision, online.files, online.entry)
        assert "Offline mode is on" in offline.notes[0]
    with pytest.raises(HubUnreachableError, match="not in the local cache"):
        resolve(NAME, revision="v2")
    with pytest.raises(HubUnreachableError, match="not in the local cache"):
        resolve(NAME, revision="../../escape")
    assert hub.requests == []


def test_second_resolution_downloads_nothing(hub: Hub) -> None:
    hub.add(NAME, sample_files())
    resolve(NAME)
    hub.requests.clear()
    resolve(NAME)
    assert not [request for request in hub.requests if "/resolve/" in request]


def test_cache_that_lacks_a_file_is_not_taken_for_whole(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add(NAME, sample_files())
    source = resolve(NAME)
    (source.root / "layers.py").unlink()
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(SourceNotFoundError, match=r"imports layers\.py"):
        resolve(NAME)


def test_silent_hub_is_noticed_within_three_seconds(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.add(NAME, sample_files())
    online = resolve(NAME)
    with SilentServer() as silent:
        monkeypatch.setenv("HF_ENDPOINT", silent.address)
        started = time.monotonic()
        with pytest.raises(HubUnreachableError, match="did not answer"):
            resolve("owner/other")
        assert time.monotonic() - started < 3.0
        started = time.monotonic()
        cached = resolve(NAME, revision=online.revision)
        assert time.monotonic() - started < 3.0
    assert cached.files == online.files
    assert "did not answer" in cached.notes[0]


def test_drip_feeding_hub_is_noticed_within_three_seconds(hub: Hub) -> None:
    hub.delay = 30.0
    started = time.monotonic()
    with pytest.raises(HubUnreachableError):
        resolve(NAME)
    assert time.monotonic() - started < 3.0


def test_closed_port_and_server_error(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.status = 500
    with pytest.raises(HubUnreachableError, match="HTTP 500"):
        resolve(NAME)
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    assert hub_fault() is not None
    with pytest.raises(HubUnreachableError, match="cannot be reached"):
        resolve(NAME)


STRANGE = [
    b"",
    b"<html>log in first</html>",
    b"null",
    b"[]",
    b"3",
    b"{}",
    b'{"id": "owner/sample"}',
    *(
        json.dumps({"id": NAME, "sha": commit, "siblings": files}).encode()
        for commit, files in [
            (5, []),
            ("../../../evil", [{"rfilename": "config.json"}]),
            ("0" * 40, [{"rfilename": 5}]),
            ("0" * 40, [{"rfilename": None}]),
            ("0" * 40, [{"rfilename": "config.json", "size": "big"}]),
            ("0" * 40, [{"rfilename": "config.json", "size": 1.5}]),
            ("0" * 40, [{}]),
            ("0" * 40, 7),
        ]
    ),
]


@pytest.mark.parametrize("answer", STRANGE)
def test_an_answer_that_no_hub_gives_is_a_hub_out_of_reach(hub: Hub, answer: bytes) -> None:
    hub.add(NAME, sample_files())
    online = resolve(NAME)
    hub.described = answer
    with pytest.raises(HubUnreachableError, match="no hub's answer"):
        resolve("owner/other")
    cached = resolve(NAME)
    assert cached.files == online.files
    assert "no hub's answer" in cached.notes[0]
    registered = resolve_model("kimi-k2", trust=True)
    assert registered.source.kind == "transformers"
    assert "no hub's answer" in registered.passed_over[0]
    assert hub_fault() is not None


@pytest.mark.parametrize(("status", "told"), [(429, "HTTP 429"), (500, "HTTP 500"), (404, "HTTP 404"), (-1, "reached")])
def test_files_that_cannot_be_fetched(hub: Hub, monkeypatch: pytest.MonkeyPatch, status: int, told: str) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)  # huggingface_hub tries again, with growing pauses
    hub.add(NAME, sample_files())
    hub.file_status = status
    with pytest.raises(HubUnreachableError, match=told):
        resolve(NAME)
    hub.file_status = 0
    assert resolve(NAME).entry == "modeling_sample.SampleForCausalLM"


@pytest.mark.parametrize("data", [b"", b"<html>log in first</html>", b"#" * (5 * 2**20)])
def test_a_file_of_another_size_than_was_said_is_not_taken(hub: Hub, data: bytes) -> None:
    hub.add(NAME, sample_files())
    hub.served["layers.py"] = data
    with pytest.raises(HubUnreachableError, match="instead of the file"):
        resolve(NAME)
    hub.served.clear()
    assert resolve(NAME).entry == "modeling_sample.SampleForCausalLM"


@pytest.mark.parametrize("header", ["ETag", "X-Repo-Commit", "Content-Disposition", "X-Linked-Etag", "X-Xet-Hash"])
@pytest.mark.parametrize("value", ['"../../../../evil"', "../../../../evil", "/tmp/evil", "", "a/b"])
def test_no_header_leads_out_of_the_cache(hub: Hub, tmp_path: Path, header: str, value: str) -> None:
    hub.add(NAME, sample_files())
    hub.file_headers[header] = value
    with contextlib.suppress(HubUnreachableError):
        resolve(NAME)
    cache = tmp_path / "huggingface" / "hub"
    own = (
        cache / "models--owner--sample",
        cache / ".locks" / "models--owner--sample",
        tmp_path / "huggingface" / "xet",
    )
    written = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "CACHEDIR.TAG"]
    assert [path for path in written if not any(path.is_relative_to(folder) for folder in own)] == []
    assert not Path("/tmp/evil").exists()


def test_a_cache_that_cannot_be_written_is_no_bug(hub: Hub, tmp_path: Path) -> None:
    hub.add(NAME, sample_files())
    (tmp_path / "huggingface" / "hub").mkdir(parents=True)
    (tmp_path / "huggingface" / "hub" / "models--owner--sample").write_text("no folder")
    with pytest.raises(HubUnreachableError):
        resolve(NAME)


def test_a_hub_without_a_default_branch(hub: Hub) -> None:
    hub.add(NAME, sample_files()).branches.clear()
    with pytest.raises(SourceNotFoundError, match="has no default branch"):
        resolve(NAME)


def test_what_only_accepts_connections_or_knows_nothing_does_not_answer(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    for status in (403, 404, 500):
        hub.status = status
        assert f"HTTP {status}" in (hub_fault() or "")
    with SilentServer() as silent:
        monkeypatch.setenv("HF_ENDPOINT", silent.address)
        assert "did not answer" in (hub_fault() or "")


def test_a_hub_that_answers(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    assert hub_fault() is None
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert hub_fault() is not None
