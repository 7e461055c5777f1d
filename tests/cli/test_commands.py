from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from openmodelatlas.bundle.store import read
from openmodelatlas.cli.main import COMMANDS
from openmodelatlas.cli.models import command as models
from openmodelatlas.sources.registry import MODELS
from tests.cli.conftest import ROOT, TINY, TINY_MODEL, Oma


def test_build_tells_where_the_atlas_lies_its_source_and_the_checks(oma: Oma, tiny_home: Path) -> None:
    done = oma("build", TINY)

    assert done.returncode == 0, done.stderr
    assert "is up to date" in done.stderr
    assert str(tiny_home / "atlases" / TINY_MODEL) in done.stdout
    assert f"source   {TINY}" in done.stdout
    assert "parameters from the solved expressions equal the model at full size: 164,096 solved" in done.stdout


def test_build_as_json_tells_of_every_source_and_goes_on_after_a_failure(oma: Oma, tmp_path: Path) -> None:
    done = oma("build", "tests.corpus.tiny_transformer:broken", TINY, "--json", home=tmp_path)

    assert done.returncode == 5
    failed, built = json.loads(done.stdout)
    assert list(failed) == list(built)
    assert [each["requested"] for each in (failed, built)] == ["tests.corpus.tiny_transformer:broken", TINY]
    assert {key for key, value in failed.items() if value is not None} == {"requested", "error"}
    assert built["source"]["origin"] == f"{TINY} in {ROOT}"
    page = (ROOT / "docs" / "command-line.md").read_text("utf-8")
    assert all(f"`{key}`" in page for key in (*built, *built["source"], *failed["error"]))
    assert failed["error"]["error"] == "ModelCodeError"
    assert failed["error"]["where"].startswith("tests/corpus/tiny_transformer.py:")
    assert built["model"] == TINY_MODEL
    assert built["error"] is None
    assert built["parameters"] == 164096


def test_models_tells_how_long_a_build_took_and_what_is_damaged(
    tiny_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(tiny_home / "atlases", tmp_path / "atlases")
    monkeypatch.setenv("OMA_HOME", str(tmp_path))
    bundle = read(tmp_path / "atlases" / TINY_MODEL)
    manifest = bundle.folder / "manifest.json"

    def told(**fields: object) -> tuple[dict[str, Any], str]:
        manifest.write_text(json.dumps(json.loads(manifest.read_bytes()) | fields))
        entries = json.loads(CliRunner().invoke(models, ["--json"]).stdout)
        (entry,) = [entry["built"] for entry in entries if entry["model"] == TINY_MODEL]
        return entry, " ".join(CliRunner().invoke(models, []).stdout.split())

    entry, text = told(seconds=65.0)
    assert (entry["build_seconds"], entry["damaged_files"], entry["damage"]) == (65.0, [], None)
    assert "built in 1 min 5 s" in text
    entry, text = told(seconds=None)
    assert entry["build_seconds"] is None
    assert "build time not recorded" in text
    (bundle.folder / "drawings.json").unlink()
    entry, text = told()
    assert (entry["damaged_files"], entry["damage"]) == (["drawings.json"], None)
    assert "damaged: drawings.json. Build it again" in text


def test_models_lists_the_registry_and_what_is_built(oma: Oma) -> None:
    entries = {entry["model"]: entry for entry in json.loads(oma("models", "--json").stdout)}

    assert list(entries)[: len(MODELS)] == list(MODELS)
    assert entries["kimi-k2"]["published_parameters"] == 1026408232448
    assert entries["kimi-k2"]["built"] is None
    assert entries[TINY_MODEL]["built"]["repository"] == TINY
    text = oma("models").stdout
    assert "not built" in text
    assert "parameters, published" in text


def test_show_prints_a_page_in_three_forms(oma: Oma) -> None:
    text = oma("show", TINY_MODEL, "layers.0.attention")
    markdown = oma("show", TINY_MODEL, "layers.0.attention", "--md")
    page = json.loads(oma("show", TINY_MODEL, "layers.0.attention", "--json").stdout)

    assert "query_key_value" in text.stdout
    assert "\x1b[" not in text.stdout
    assert markdown.stdout.startswith("#") or "\n# " in markdown.stdout
    schema = json.loads((ROOT / "docs/schema/page.schema.json").read_text())
    jsonschema.validate(page, schema)
    assert page["class_name"] == "Attention"
    assert page["breadcrumb"][0]["label"].startswith("2 ")


@pytest.mark.parametrize("name", [TINY_MODEL, TINY, TINY_MODEL.upper(), f"{TINY_MODEL}/head"])
def test_an_atlas_is_found_by_name_source_and_address(oma: Oma, name: str) -> None:
    done = oma("show", name, "--json")

    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["model"] == TINY_MODEL


def test_an_atlas_is_found_by_its_folder(oma: Oma, tiny_home: Path, tmp_path: Path) -> None:
    done = oma("show", str(tiny_home / "atlases" / TINY_MODEL), "--json", home=tmp_path)

    assert json.loads(done.stdout)["model"] == TINY_MODEL


def test_tree_shows_levels_with_counts_and_shapes(oma: Oma) -> None:
    shallow, deep = oma("tree", TINY_MODEL, "--depth", "1"), oma("tree", TINY_MODEL, "--depth", "3")

    assert "2 transformer blocks" in shallow.stdout
    assert "164,096 parameters" in shallow.stdout
    assert "1000 V]" in shallow.stdout
    assert len(deep.stdout.splitlines()) > len(shallow.stdout.splitlines())
    # What is left out is said.
    assert re.search(r"Left out: .*\d+ tensors.*\(--all shows them\)", deep.stdout)
    assert "Left out" not in oma("tree", TINY_MODEL, "--depth", "3", "--all").stdout


def test_tree_as_json_has_everything_down_to_its_depth(oma: Oma) -> None:
    tree = json.loads(oma("tree", TINY_MODEL, "--json", "--depth", "1").stdout)

    assert tree["parameters"] == 164096
    addresses = [child["address"] for child in tree["children"]]
    assert {"embedding", "layers", "norm", "head"} <= set(addresses)
    layers = tree["children"][addresses.index("layers")]
    assert layers["children"] is None
    assert layers["members"] == [1, 2]


def test_export_writes_every_page_and_replaces_only_its_own(oma: Oma, tmp_path: Path) -> None:
    done = oma("export", TINY_MODEL, "-o", str(tmp_path / "site"))

    assert done.returncode == 0, done.stderr
    assert (tmp_path / "site" / TINY_MODEL / "head" / "index.json").is_file()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").write_text("mine")
    refused = oma("export", TINY_MODEL, "-o", str(tmp_path / "other"))
    assert refused.returncode == 2
    assert (tmp_path / "other" / "mine.txt").read_text() == "mine"


def test_help_gives_examples_and_the_exit_codes(oma: Oma) -> None:
    assert "130" in oma("--help").stdout
    for name in COMMANDS:
        assert f"Examples:\n    oma {name}" in oma(name, "--help").stdout.replace("      oma", "    oma"), name
    assert oma("--version").stdout.startswith("openmodelatlas ")
