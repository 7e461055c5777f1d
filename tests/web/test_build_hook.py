"""The build hook builds when something has changed, and only then, and says what to do when it cannot."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import hatch_build
import pytest

from openmodelatlas.site import html

ROOT = Path(__file__).parents[2]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The parts of the project that the hook reads, as if everything had been built."""
    shutil.copy(ROOT / "hatch_build.py", tmp_path)
    ignored = shutil.ignore_patterns("node_modules")
    shutil.copytree(ROOT / "web", tmp_path / "web", ignore=ignored)
    for path in (*hatch_build.BUILT, *hatch_build.COPIED.values(), hatch_build.FONTS[1] / "a.woff2"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("built", encoding="utf-8")
    (tmp_path / hatch_build.STAMP).write_text(hatch_build.digest(tmp_path), encoding="utf-8")
    return tmp_path


def test_nothing_is_done_when_nothing_changed(project: Path) -> None:
    assert hatch_build.build(project) is False


@pytest.mark.parametrize("name", ["src/main.ts", "package-lock.json", "vite.config.ts", "src/new.ts"])
def test_changed_sources_are_noticed(project: Path, name: str) -> None:
    with (project / "web" / name).open("a", encoding="utf-8") as file:
        file.write("\n")
    assert not hatch_build.is_current(project, hatch_build.digest(project))


@pytest.mark.parametrize("path", [*hatch_build.BUILT, *hatch_build.COPIED.values(), hatch_build.FONTS[1] / "a.woff2"])
def test_missing_files_are_noticed(project: Path, path: Path) -> None:
    (project / path).unlink()
    assert not hatch_build.is_current(project, hatch_build.digest(project))


def test_tests_and_notes_are_no_inputs(project: Path) -> None:
    (project / "web" / "README.md").write_text("other words", encoding="utf-8")
    (project / "web" / "src" / "light.test.ts").write_text("", encoding="utf-8")
    assert hatch_build.is_current(project, hatch_build.digest(project))


def test_an_unreachable_registry_is_told(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / hatch_build.STAMP).unlink()
    monkeypatch.setenv("npm_config_registry", "http://127.0.0.1:9")
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    monkeypatch.setenv("npm_config_cache", str(project / "cache"))
    with pytest.raises(hatch_build.FrontEndError, match=r"(?s)could not install.*npm registry is reachable.*wheel"):
        hatch_build.build(project)
    assert not (project / hatch_build.STAMP).exists()


def test_the_command_refuses_what_it_does_not_know() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "hatch_build.py"), "yarn"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "Usage" in done.stderr


def test_the_script_is_small_and_needs_no_evaluation() -> None:
    script = (ROOT / hatch_build.APP / "app.js").read_text(encoding="utf-8")
    assert "eval(" not in script
    assert "new Function" not in script
    assert "unsafe" not in html.CONTENT_SECURITY_POLICY
