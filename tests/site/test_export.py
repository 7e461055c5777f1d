"""The static site: golden pages, links that lead somewhere, and a folder replaced as a whole."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from openmodelatlas.errors import BundleError, UsageError
from openmodelatlas.site import beside, writing
from openmodelatlas.site import export as module
from openmodelatlas.site.assets import assets
from openmodelatlas.site.export import MARKER, export
from openmodelatlas.site.paths import address_in, contents_folder, mechanism_folder, page_folder, to_root
from tests.site.regenerate import CASES

GOLDEN = Path(__file__).parent / "golden"


def _files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture(scope="module")
def site(samples: list[Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "site"
    assert export(samples, folder) == sum(len(atlas) for atlas in samples)
    return folder


def test_every_page_has_its_twins(samples: list[Any], site: Path) -> None:
    files = set(_files(site))
    expected = {"index.html", MARKER, *(f"_assets/{name}" for name in assets())}
    assert {"_assets/atlas.css", "_assets/icon.svg"} <= expected
    folders = {f"{place}mechanisms" for place in ("", "known-sum/")}
    folders |= {f"{place}mechanisms/residual-addition" for place in ("", "known-sum/")} | {"mechanisms/layer-norm"}
    expected |= {f"{folder}/index.{form}" for folder in folders for form in ("html", "md", "json")}
    for atlas in samples:
        expected |= {f"_assets/math/{atlas.document.model}.css", f"_assets/search/{atlas.document.model}.js"}
        expected.add(f"{atlas.document.model}/contents/index.html")
        for node in atlas:
            expected |= {
                str(page_folder(atlas.document.model, node.address) / f"index.{form}")
                for form in ("html", "md", "json")
            }
            if node.address in atlas.drawings.levels:
                folder = page_folder(atlas.document.model, node.address)
                expected |= {str(folder / f"diagram.{form}") for form in ("js", "svg")}
    assert files == expected


def test_every_relative_link_leads_to_a_file(site: Path) -> None:
    count = 0
    for path in [*site.rglob("*.html"), *site.rglob("*.md")]:
        text = path.read_text("utf-8")
        links = re.findall(r'href="([^"#]*)', text) if path.suffix == ".html" else re.findall(r"\]\(([^<)#]+)\)", text)
        for link in links:
            if "/_assets/app/" in link or "/_assets/katex/" in link:
                continue  # made by the build hook
            if link and not link.startswith("https://"):
                assert (path.parent / link).is_file(), f"{path}: {link}"
                count += 1
    assert count > 1000


def test_twins_are_linked_and_advertised(site: Path) -> None:
    """On every page that has them, and on no other."""
    for path in site.rglob("index.html"):
        text = path.read_text("utf-8")
        for form, kind in (("md", "text/markdown"), ("json", "application/json")):
            has = path.with_suffix(f".{form}").is_file()
            assert (f'<link rel="alternate" type="{kind}" href="index.{form}">' in text) == has, path
            assert (f'<a href="index.{form}">' in text) == has, path


def test_golden_pages(site: Path) -> None:
    """One folder a case; ``python -m tests.site.regenerate`` is the only thing that writes them."""
    cases = sorted(path for path in GOLDEN.iterdir() if path.is_dir())
    assert [case.name for case in cases] == sorted(CASES)
    for case in cases:
        found = _files(site / (case / "page").read_text("utf-8").strip())
        wanted = _files(case)
        del wanted["page"]
        here = {name: data for name, data in found.items() if "/" not in name}
        assert sorted(here) == sorted(wanted), f"{case.name}: files are missing or unexpected"
        for name, data in wanted.items():
            assert here[name].decode() == data.decode(), f"{case.name}/{name} differs"


def test_exports_are_equal_and_replace_earlier_ones(samples: list[Any], site: Path, tmp_path: Path) -> None:
    target = tmp_path / "site"
    export(samples[:1], target)
    (target / "stale.html").write_text("old")
    export(samples, target)
    assert _files(target) == _files(site)
    assert [path.name for path in tmp_path.iterdir()] == ["site"]


def test_two_processes_write_the_same_site(
    samples: list[Any], site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "WORTH_IT", 10)
    monkeypatch.setattr(beside.os, "cpu_count", lambda: 2)
    told: list[tuple[int, int]] = []
    total = sum(len(atlas) for atlas in samples)
    assert export(samples, tmp_path / "site", progress=lambda done, every: told.append((done, every))) == total
    assert _files(tmp_path / "site") == _files(site)
    assert told[-1] == (total, total)
    assert [done for done, _ in told] == sorted(done for done, _ in told)


def test_a_second_process_that_fails_changes_nothing(
    samples: list[Any], site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beside, "WORTH_IT", 10)
    monkeypatch.setattr(beside.os, "cpu_count", lambda: 2)
    monkeypatch.setattr(beside.sys, "executable", "/bin/false")
    export(samples, tmp_path / "site")
    assert _files(tmp_path / "site") == _files(site)


def test_foreign_folders_are_refused(samples: list[Any], tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("mine")
    with pytest.raises(UsageError, match="not empty and no earlier export"):
        export(samples, tmp_path)
    with pytest.raises(UsageError, match="not a folder"):
        export(samples, tmp_path / "letter.txt")
    with pytest.raises(UsageError, match="given twice"):
        export([samples[0], samples[0]], tmp_path / "site")
    assert [path.name for path in tmp_path.iterdir()] == ["letter.txt"]


def test_a_full_disk_leaves_the_export(samples: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "site"
    export(samples, target)
    before = _files(target)

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    for place, name in ((writing, "search_script"), (writing, "render_markdown"), (module, "asset")):
        with monkeypatch.context() as patch:
            patch.setattr(place, name, full)
            with pytest.raises(BundleError, match="No space left on device"):
                export(samples, target)
        assert _files(target) == before
        assert [path.name for path in tmp_path.iterdir()] == ["site"]


@pytest.mark.parametrize("address", ["", "layers", "layers/aux/con", "a-b/c1", "mechanisms", "contents/x"])
def test_addresses_and_folders_are_one_to_one(address: str) -> None:
    folder = page_folder("kimi-k2", address)
    assert address_in(str(folder)) == ("kimi-k2", address)
    assert to_root("kimi-k2", address) == "../" * len(folder.parts)
    assert folder not in (contents_folder("kimi-k2"), mechanism_folder("kimi-k2"))
    assert page_folder("mechanisms", "") != mechanism_folder(None)
    assert address_in(str(page_folder("mechanisms", address))) == ("mechanisms", address)


@pytest.mark.parametrize("address", ["..", "a/../b", "/a", "a//b", "A", "a.html", "a b", "a/" + "x" * 201])
def test_addresses_cannot_lead_elsewhere(address: str) -> None:
    with pytest.raises(UsageError):
        page_folder("kimi-k2", address)
