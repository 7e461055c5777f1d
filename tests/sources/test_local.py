from __future__ import annotations

import importlib.metadata
import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmodelatlas.bundle.home import name_for
from openmodelatlas.bundle.key import build_key
from openmodelatlas.errors import ConfigurationError, SourceError, SourceNotFoundError, UsageError
from openmodelatlas.sources import resolve
from openmodelatlas.sources.configuration import read_configuration
from openmodelatlas.sources.files import MAXIMUM_FILE_BYTES, is_safe_path, select
from openmodelatlas.sources.target import find
from tests.sources.samples import sample_files


def write_folder(folder: Path, files: dict[str, bytes]) -> Path:
    for path, data in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    return folder


def test_folder(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "sample", {**sample_files(), "__pycache__/x.py": b"", ".git/hook.py": b""})
    source = resolve(str(folder))
    assert (source.kind, source.repository, source.entry) == ("folder", "sample", "modeling_sample.SampleForCausalLM")
    assert "modeling_sample.py" in {file.path for file in source.files}
    assert not any(file.path.startswith((".git", "__pycache__")) for file in source.files)
    assert not source.trusted
    assert resolve(str(folder), trust=True).trusted
    (folder / "layers.py").write_bytes(b"class Layer:\n    changed = True\n")
    assert resolve(str(folder)).revision != source.revision
    assert len(source.revision) == 64


def test_folder_that_looks_like_a_repository_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_folder(tmp_path / "owner/name", sample_files())
    monkeypatch.chdir(tmp_path)
    assert resolve("owner/name").kind == "folder"


def test_architectures_name_the_class_where_there_is_no_auto_map(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "sample", sample_files(auto_map=None))
    assert resolve(str(folder)).entry == "modeling_sample.SampleForCausalLM"


def test_folder_errors(tmp_path: Path) -> None:
    with pytest.raises(SourceNotFoundError, match="no such folder"):
        resolve("./nothing")
    file = tmp_path / "config.json"
    file.write_bytes(b"{}")
    with pytest.raises(SourceNotFoundError, match="a file, not a folder"):
        resolve(str(file))
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(SourceNotFoundError, match=r"no config\.json"):
        resolve(str(empty))
    with pytest.raises(UsageError, match="has no revisions"):
        resolve(str(tmp_path), revision="main")
    broken = write_folder(tmp_path / "broken", {**sample_files(), "layers.py": b"class Layer(\n"})
    with pytest.raises(SourceError, match="not Python") as caught:
        resolve(str(broken))
    assert caught.value.where == "layers.py:1"
    nameless = write_folder(tmp_path / "nameless", {**sample_files(), "modeling_sample.py": b"x = 1\n"})
    with pytest.raises(SourceNotFoundError, match="defines no SampleForCausalLM"):
        resolve(str(nameless))


@pytest.mark.parametrize("value", [5, "nowhere", "../../x.Y", "other/repository--file.Name", ["file.Name"]])
@pytest.mark.parametrize("key", ["AutoConfig", "AutoModelForCausalLM", "AutoModelForAnything"])
def test_every_class_that_auto_map_names_is_checked_before_anything_runs(
    tmp_path: Path, key: str, value: object
) -> None:
    cases: dict[str, dict[str, object]] = {
        "auto_map": {"auto_map": {key: value}},
        "text_config.auto_map": {"text_config": {"auto_map": {key: value}}},
    }
    for place, changes in cases.items():
        folder = write_folder(tmp_path / place, sample_files(**changes))
        with pytest.raises(ConfigurationError) as caught:
            resolve(str(folder))
        assert caught.value.where == f"{place}/config.json, {place}.{key}"


def test_a_configuration_that_is_left_out_is_said_to_be(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "sample", sample_files(padding="x" * MAXIMUM_FILE_BYTES))
    with pytest.raises(SourceNotFoundError, match=r"config\.json.*more than"):
        resolve(str(folder))


@pytest.mark.parametrize(
    "spec", ["x" * 5000, "./" + "x" * 5000, "./" + "x/" * 5000, "~nobody-is-called-this", "./a/loop"]
)
def test_what_cannot_be_a_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, spec: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "loop").symlink_to("loop")
    with pytest.raises((SourceNotFoundError, UsageError)):
        resolve(spec)


def test_files_that_never_end_are_not_read(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "sample", sample_files())
    os.mkfifo(folder / "pipe.py")
    with pytest.raises(SourceError, match="no regular file") as caught:
        resolve(str(folder))
    assert caught.value.where == "pipe.py"
    with pytest.raises(ConfigurationError, match="has more than"):
        read_configuration(Path("/dev/zero"))


def test_link_that_leads_to_itself(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "sample", sample_files())
    (folder / "loop").symlink_to(".")
    assert resolve(str(folder)).entry
    (folder / "again.py").symlink_to("again.py")
    with pytest.raises(SourceError, match="leads back to itself") as caught:
        resolve(str(folder))
    assert caught.value.where == "again.py"


def test_link_that_leads_out_of_the_folder(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "sample", sample_files())
    secret = tmp_path / "secret.py"
    secret.write_text("password = 1\n")
    (folder / "layers.py").unlink()
    (folder / "layers.py").symlink_to(secret)
    with pytest.raises(SourceError, match="leads out of its folder") as caught:
        resolve(str(folder))
    assert caught.value.where == "layers.py"


@given(st.text(max_size=40))
def test_safe_paths_stay_inside(path: str) -> None:
    if is_safe_path(path):
        root = Path("/root/folder")
        assert path.isascii()
        assert path.isprintable()
        assert Path(path).as_posix() == path
        assert (root / path).parts[: len(root.parts)] == root.parts
        assert ".." not in Path(path).parts


def test_unsafe_json_is_left_out_with_a_reason() -> None:
    selection = select([("config.json", 2), ("../up.json", 2), ("sub/config.json", 2)])
    assert selection.paths == ("config.json", "sub/config.json")
    assert "leads elsewhere" in selection.skipped[0]


def test_names_that_are_no_text_are_written_as_escapes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = write_folder(Path(os.fsdecode(bytes(tmp_path) + b"/caf\xe9")), sample_files())
    configuration = Path(os.fsdecode(bytes(tmp_path) + b"/\xff.json"))
    configuration.write_bytes(sample_files()["config.json"])
    monkeypatch.chdir(folder)
    found = find(".", configuration=configuration)
    assert found.source.repository == "caf\\udce9"
    assert found.source.configuration_origin.endswith("/\\udcff.json")
    assert build_key(found.source)
    assert name_for(tmp_path, found.model, found.origin) == "caf"


def test_transformers() -> None:
    source = resolve("transformers:deepseek_v3")
    assert source.revision == importlib.metadata.version("transformers")
    assert source.entry == "deepseek_v3"
    assert "transformers/models/deepseek_v3/modeling_deepseek_v3.py" in {file.path for file in source.files}
    assert all((source.root / file.path).is_file() for file in source.files)
    assert source.trusted
    assert source.configuration["n_routed_experts"] == 256
    assert "deepseek-ai/DeepSeek-V3" in source.configuration_origin


def test_transformers_folder_differs_from_the_model_type() -> None:
    source = resolve("transformers:gemma3_text")
    assert source.files[0].path.startswith("transformers/models/gemma3/")
    assert source.configuration["hidden_size"] == 5376
    assert source.configuration_origin.startswith("text_config in ")


def test_transformers_without_a_registered_configuration_uses_the_class_defaults() -> None:
    source = resolve("transformers:bert")
    assert source.configuration == {}
    assert source.configuration_origin == "defaults of transformers' bert class"


def test_unknown_model_type() -> None:
    with pytest.raises(SourceNotFoundError, match="has no model type 'deepseek_v9'") as caught:
        resolve("transformers:deepseek_v9")
    assert "deepseek_v" in (caught.value.advice or "")
    for name in ("", "../auto", "gemma3.text"):
        with pytest.raises(SourceNotFoundError, match="no model type"):
            resolve(f"transformers:{name}")


def test_transformers_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [])
    with pytest.raises(SourceNotFoundError, match="not installed") as caught:
        resolve("transformers:llama")
    assert "pip install '.[capture]'" in (caught.value.advice or "")


def test_older_transformers_keeps_its_tables_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    auto = b"""from collections import OrderedDict
CONFIG_MAPPING_NAMES = OrderedDict([("gemma3_text", "Gemma3TextConfig"), ("gpt2", "GPT2Config")])
SPECIAL_MODEL_TYPE_TO_MODULE_NAME = OrderedDict([("gemma3_text", "gemma3")])
"""
    write_folder(
        tmp_path,
        {
            "transformers/__init__.py": b"raise RuntimeError('imported')\n",
            "transformers/models/auto/configuration_auto.py": auto,
            "transformers/models/gemma3/modeling_gemma3.py": b"x = 1\n",
            "transformers-4.48.3.dist-info/METADATA": b"Metadata-Version: 2.1\nName: transformers\nVersion: 4.48.3\n",
        },
    )
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    source = resolve("transformers:gemma3_text")
    assert source.revision == "4.48.3"
    assert [file.path for file in source.files] == ["transformers/models/gemma3/modeling_gemma3.py"]


def test_factory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = b"raise RuntimeError('imported')\n\n\ndef build():\n    return None\n"
    write_folder(
        tmp_path, {"mine/__init__.py": b"raise RuntimeError", "mine/models.py": code, "config.json": b'{"a": 1}'}
    )
    monkeypatch.chdir(tmp_path)
    source = resolve("mine.models:build", configuration=tmp_path / "config.json")
    assert (source.kind, source.repository, source.entry) == ("factory", "mine.models:build", "mine.models:build")
    assert [file.path for file in source.files] == ["mine/models.py"]
    assert source.root == tmp_path.resolve()
    assert source.trusted
    assert source.configuration == {"a": 1}
    assert resolve("mine.models:build").configuration == {}
    with pytest.raises(SourceNotFoundError, match="defines no other"):
        resolve("mine.models:other")
    with pytest.raises(SourceNotFoundError, match=r"no module mine\.nothing"):
        resolve("mine.nothing:build")
    (tmp_path / "mine" / f"compiled{EXTENSION_SUFFIXES[0]}").touch()
    with pytest.raises(SourceNotFoundError, match="no Python source"):
        resolve("mine.compiled:build")
    with pytest.raises(UsageError, match="not the name of a callable"):
        resolve("mine.models:1st")


def test_reference() -> None:
    source = resolve("reference:kimi-k2")
    assert source.entry == "openmodelatlas.reference.kimi_k2:build"
    assert source.configuration["n_routed_experts"] == 384
    assert source.trusted
    assert {file.path for file in source.files} >= {"openmodelatlas/reference/kimi_k2.py"}
    with pytest.raises(SourceNotFoundError, match="no reference model 'nothing'") as caught:
        resolve("reference:nothing")
    assert "kimi-k2" in (caught.value.advice or "")


@pytest.mark.parametrize(
    "spec", ["", "  ", "kimi", "a/b/c", "a b/c", "owner/name@", "owner/..", "a\0b", "own--er/name", "x" * 5000]
)
def test_what_is_no_source(spec: str) -> None:
    with pytest.raises(UsageError):
        resolve(spec)
