"""Real servers in processes of their own, and a real browser; all end with the tests of this folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from openmodelatlas import build
from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.bundle.home import model_folder
from tests.browser.reader import PAUSE
from tests.site.hostile import open_hostile
from tests.site.sample import build_known, build_running_sum, build_sample

ROOT = Path(__file__).parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find_browser() -> str:
    """Path of a Chromium; skips where there is none, which in CI is a failure."""
    found = next((path for path in map(shutil.which, NAMES) if path is not None), None)
    if found is None:
        message = "No Chromium is installed (on Debian: apt-get install chromium)."
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return found


@pytest.fixture(scope="package")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a small model built from its code, and the two samples of the pages' own tests."""
    folder = tmp_path_factory.mktemp("browser-home")
    build("tests.corpus.tiny_transformer:tiny", home=folder, trust=True)
    build_sample(folder)
    build_running_sum(folder)
    build_known(folder)
    open_hostile(folder)
    return folder


@pytest.fixture(scope="package")
def kimi_home(tmp_path_factory: pytest.TempPathFactory, atlas_of: Callable[[str], Atlas]) -> Path:
    """A home with the atlases of Kimi K2 and Kimi K3, built in this run from the code that the registry names.

    ``OMA_TEST_KIMI_HOME`` names a home that has both already, for whoever works on the pages.
    """
    if (built := os.environ.get("OMA_TEST_KIMI_HOME")) and not os.environ.get("CI"):
        return Path(built)
    folder = tmp_path_factory.mktemp("kimi-home")
    for model in ("kimi-k2", "kimi-k3"):
        shutil.copytree(atlas_of(model).folder.parent, model_folder(folder, model))
    return folder


@pytest.fixture(scope="package")
def site(home: Path) -> Iterator[str]:
    """Address of ``oma serve`` for the small models on a free port, with a slash at the end."""
    yield from _served(home)


@pytest.fixture(scope="package")
def kimi(kimi_home: Path) -> Iterator[str]:
    """Address of ``oma serve`` for Kimi K2 and Kimi K3, with a slash at the end."""
    yield from _served(kimi_home)


@pytest.fixture(scope="package")
def exported(kimi_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The static site of Kimi K2 and Kimi K3, below a folder that a server can show."""
    folder = tmp_path_factory.mktemp("host") / "some" / "where"
    command = [sys.executable, "-m", "openmodelatlas", "export", "-o", str(folder), "kimi-k2", "kimi-k3"]
    subprocess.run(
        command, env={**os.environ, "OMA_HOME": str(kimi_home)}, cwd=ROOT, check=True, stdout=subprocess.DEVNULL
    )
    return folder


@pytest.fixture(scope="package")
def plain_host(exported: Path) -> Iterator[str]:
    """Address of the export on a server that knows nothing but files, under a path of its own."""
    process = subprocess.Popen(
        [
            sys.executable,
            "-u",
            "-m",
            "http.server",
            "0",
            "--bind",
            "127.0.0.1",
            "--directory",
            str(exported.parents[1]),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        found = re.search(r"port (\d+)", process.stdout.readline())
        assert found is not None, "the server did not say where it is"
        yield f"http://127.0.0.1:{found[1]}/some/where/"
    finally:
        process.terminate()
        process.wait(timeout=10)
        process.stdout.close()


def _served(home: Path) -> Iterator[str]:
    environment = {**os.environ, "OMA_HOME": str(home), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "openmodelatlas", "serve", "--port", "0"],
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        cwd=ROOT,
    )
    assert process.stdout is not None
    try:
        found = re.search(r"http://127\.0\.0\.1:\d+/", process.stdout.readline())
        assert found is not None, "the server did not say where it is"
        yield found[0]
    finally:
        process.terminate()
        process.wait(timeout=10)
        process.stdout.close()


@pytest.fixture(scope="package")
def browser() -> Iterator[Any]:
    """One browser for all tests; each test gets a context of its own."""
    path = find_browser()
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield started
        started.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """Opens an address in a new context with the given settings; console errors and failed requests fail the test."""
    contexts: list[Any] = []
    errors: list[str] = []

    def open_page(address: str, **settings: Any) -> Any:
        context = browser.new_context(**settings)
        contexts.append(context)
        context.set_default_timeout(PAUSE)
        page = context.new_page()
        page.on("console", lambda line: errors.append(line.text) if line.type in ("error", "warning") else None)
        page.on("requestfailed", lambda request: errors.append(_failure(request)) if _failure(request) else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on(
            "response", lambda answer: errors.append(f"{answer.status} {answer.url}") if answer.status >= 400 else None
        )
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert errors == []


def _failure(request: Any) -> str | None:
    """Why a request failed; ``None`` if the page itself gave it up, since the reader went elsewhere."""
    return None if request.failure == "net::ERR_ABORTED" else f"{request.failure} {request.url}"
