"""A real server in a process of its own, and a real browser; both end with the tests of this folder."""

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
from tests.site.sample import build_running_sum, build_sample

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
    return folder


@pytest.fixture(scope="package")
def site(home: Path) -> Iterator[str]:
    """Address of ``oma serve`` on a free port, with a slash at the end."""
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
    """Opens an address in a new context with the given settings, and fails the test for errors in the console."""
    contexts: list[Any] = []
    errors: list[str] = []

    def open_page(address: str, **settings: Any) -> Any:
        context = browser.new_context(**settings)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda line: errors.append(line.text) if line.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert errors == []
