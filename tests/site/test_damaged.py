"""A damaged file of names or of diagrams costs what is in it, and pages say so; a damaged document stays an error."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from openmodelatlas.bundle.manifest import describe_file, encode_manifest, read_manifest
from openmodelatlas.bundle.store import read, write
from openmodelatlas.cli.show import command as show
from openmodelatlas.cli.tree import command as tree
from openmodelatlas.errors import BundleError
from openmodelatlas.server.pages import Pages
from openmodelatlas.site.export import export
from openmodelatlas.site.page import build_page
from tests.site.sample import build_known, build_running_sum, sample_document, sample_values, texts_of

Damage = Callable[[Path, str], None]
MODEL = "known-sum"
PLACE = "layers/first/add-attention-update"


def _put(folder: Path, name: str, data: bytes, *, listed: bool) -> None:
    """Replaces a file of a bundle, and its hash in the manifest if it is to be ``listed``."""
    (folder / name).write_bytes(data)
    if listed:
        manifest = read_manifest(folder)
        manifest.files[name] = describe_file(data)
        (folder / "manifest.json").write_bytes(encode_manifest(manifest))


def _changed(folder: Path, name: str, **fields: object) -> None:
    _put(folder, name, json.dumps(json.loads((folder / name).read_bytes()) | fields).encode(), listed=True)


def _unlisted(folder: Path, name: str) -> None:
    manifest = read_manifest(folder)
    del manifest.files[name]
    (folder / "manifest.json").write_bytes(encode_manifest(manifest))


def _replaced_by_a_folder(folder: Path, name: str) -> None:
    (folder / name).unlink()
    (folder / name).mkdir()


WAYS: dict[str, Damage] = {
    "missing": lambda folder, name: (folder / name).unlink(),
    "a folder": _replaced_by_a_folder,
    "not in the manifest": _unlisted,
    "empty": lambda folder, name: _put(folder, name, b"", listed=False),
    "cut off": lambda folder, name: _put(folder, name, (folder / name).read_bytes()[:-40], listed=False),
    "cut off, with its hash": lambda folder, name: _put(folder, name, (folder / name).read_bytes()[:-40], listed=True),
    "another hash": lambda folder, name: _put(folder, name, (folder / name).read_bytes() + b" ", listed=False),
    "not JSON": lambda folder, name: _put(folder, name, b"<html>no</html>", listed=True),
    "not UTF-8": lambda folder, name: _put(folder, name, b'{"format":1,"notes":["\xff"]}', listed=True),
    "nested too deeply": lambda folder, name: _put(folder, name, b'{"format":' + b"[" * 100_000, listed=True),
    "another value": lambda folder, name: _put(folder, name, b"[1, 2]", listed=True),
    "of a newer version": lambda folder, name: _changed(folder, name, format=99),
    "wrong types": lambda folder, name: _changed(folder, name, nodes=[3], levels=[3]),
    "wrong content": lambda folder, name: _changed(
        folder,
        name,
        nodes={"": {"mechanism": "../../x"}},
        levels={"": {"width": 1e99, "height": 1, "nodes": [], "edges": []}},
    ),
}
BOTH = pytest.mark.parametrize("name", ["knowledge.json", "drawings.json"])
EVERY = pytest.mark.parametrize("way", WAYS)


def _damaged(home: Path, name: str, way: str) -> Path:
    folder = read(build_known(home)).folder
    WAYS[way](folder, name)
    return folder


def _advice(way: str) -> str:
    return "update openmodelatlas" if way == "of a newer version" else "oma build MODEL --force"


@BOTH
@EVERY
def test_pages_are_shown_without_what_was_in_a_damaged_file(tmp_path: Path, name: str, way: str) -> None:
    whole = build_page(read(build_known(tmp_path)), PLACE)
    _damaged(tmp_path, name, way)
    pages = Pages(tmp_path)
    assert pages.answer("/").status == 200
    for path in (f"/{MODEL}/", f"/{MODEL}/{PLACE}/", f"/{MODEL}/layers/", f"/{MODEL}/contents/"):
        answer = pages.answer(path)
        assert answer.status == 200
        if "contents" not in path:
            assert f"The file <code>{name}</code> of this atlas is damaged".encode() in answer.body
            assert _advice(way).encode() in answer.body
    page = json.loads(pages.answer(f"/{MODEL}/{PLACE}/index.json").body)
    (text,) = page["damage"]
    assert f"`{name}`" in text
    assert str(tmp_path) not in text
    assert [item["name"] for item in page["inputs"]] == [port.name for port in whole.inputs]
    assert page["code"]["text"] == whole.code.text if whole.code else False
    html = pages.answer(f"/{MODEL}/{PLACE}/").body
    assert (b"<svg" in html or b"diagram.svg" in html) == (name != "drawings.json")
    assert bool(page["formulas"]) == (name != "knowledge.json")
    markdown = pages.answer(f"/{MODEL}/{PLACE}/index.md").body.decode()
    assert re.search(rf"^> The file `{re.escape(name)}` of this atlas is damaged", markdown, re.MULTILINE)


@BOTH
@EVERY
def test_the_command_line_shows_them_too(tmp_path: Path, name: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _damaged(tmp_path, name, way)
    monkeypatch.setenv("OMA_HOME", str(tmp_path))
    for form in ([], ["--md"], ["--json"]):
        done = CliRunner().invoke(show, [MODEL, PLACE, *form])
        assert done.exit_code == 0, done.output
        told = " ".join(done.stdout.split())
        assert f"{name}" in told
        assert "of this atlas is damaged" in told
        assert _advice(way) in told
    done = CliRunner().invoke(tree, [MODEL, "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["model"] == MODEL
    assert (name in done.stderr) == (name == "knowledge.json")


def test_an_export_of_a_damaged_atlas_is_whole_and_says_so(tmp_path: Path) -> None:
    folder = _damaged(tmp_path, "drawings.json", "cut off")
    WAYS["missing"](folder, "knowledge.json")
    atlases = [read(folder), read(build_running_sum(tmp_path))]
    export(atlases, tmp_path / "site")
    page = (tmp_path / "site" / MODEL / "index.html").read_text()
    assert page.count('class="damage"') == 2
    other = (tmp_path / "site" / "running-sum" / "index.html").read_text()
    assert 'class="damage"' not in other
    library = (tmp_path / "site" / "index.html").read_text()
    assert library.count('class="damage"') == 2
    assert "This atlas cannot be shown" not in library


def test_a_whole_atlas_says_nothing_of_damage(tmp_path: Path) -> None:
    build_known(tmp_path)
    pages = Pages(tmp_path)
    assert b'class="damage"' not in pages.answer("/").body + pages.answer(f"/{MODEL}/").body
    assert json.loads(pages.answer(f"/{MODEL}/index.json").body)["damage"] == []


def test_a_file_that_is_put_back_is_shown_by_a_new_server(tmp_path: Path) -> None:
    """What a reader keeps of the page is told apart, though the bundle has the same name."""
    folder = read(build_known(tmp_path)).folder
    whole = (folder / "drawings.json").read_bytes()
    WAYS["empty"](folder, "drawings.json")
    damaged = Pages(tmp_path).answer(f"/{MODEL}/")
    (folder / "drawings.json").write_bytes(whole)
    mended = Pages(tmp_path).answer(f"/{MODEL}/")
    assert damaged.etag != mended.etag
    assert b'class="damage"' not in mended.body


@pytest.mark.parametrize("way", [way for way in WAYS if way not in ("wrong types", "wrong content")])
def test_a_damaged_document_stays_an_error(tmp_path: Path, way: str) -> None:
    folder = _damaged(tmp_path, "atlas.json", way)
    with pytest.raises(BundleError):
        read(folder)
    pages = Pages(tmp_path)
    assert pages.answer(f"/{MODEL}/").status == 500
    assert b"This atlas cannot be shown" in pages.answer("/").body


@pytest.mark.parametrize("model", ["kimi-k2", "my-own"])
def test_the_advice_names_a_model_that_can_be_named(tmp_path: Path, model: str) -> None:
    document = msgspec.structs.replace(sample_document(), model=model)
    write(document, texts=texts_of(document), values=sample_values(), home=tmp_path, model=model)
    folder = read(tmp_path / "atlases" / model).folder
    WAYS["empty"](folder, "drawings.json")
    (text,) = build_page(read(folder), "").damage
    assert ("`oma build kimi-k2 --force`" in text) == (model == "kimi-k2")
    assert ("`oma build MODEL --force`" in text) == (model == "my-own")
