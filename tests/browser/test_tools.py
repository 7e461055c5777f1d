"""What the front end adds to pages has nothing that axe-core objects to, and can be worked with the keyboard."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.reader import PAUSE

pytestmark = pytest.mark.browser

Open = Callable[..., Any]
LEVEL = "tests-corpus-tiny-transformer-tiny/layers/attention/"


@pytest.fixture(scope="module")
def axe() -> str:
    """The script of axe-core."""
    package = pytest.importorskip("axe_playwright_python")
    return next(Path(package.__file__).parent.rglob("axe.min.js")).read_text("utf-8")


def _search(page: Any) -> None:
    page.keyboard.press("/")
    page.keyboard.type("attention")
    page.locator("dialog [role=option]").first.wait_for()


def _menu(name: str) -> Callable[[Any], None]:
    return lambda page: page.locator("summary", has_text=name).click()


OPEN: dict[str, Callable[[Any], None]] = {
    "search": _search,
    "keys": lambda page: page.keyboard.press("?"),
    "sizes": _menu("Sizes"),
    "copy": _menu("Copy"),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("what", OPEN)
def test_no_violations(site: str, opened: Open, axe: str, what: str, scheme: str) -> None:
    page = opened(f"{site}{LEVEL}", color_scheme=scheme)
    page.locator("html.scripted").wait_for(timeout=PAUSE)
    OPEN[what](page)
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    assert [(item["id"], item["nodes"][0]["html"][:200], item["nodes"][0]["failureSummary"]) for item in found] == []


def test_the_tools_are_reached_and_left_with_the_keyboard(site: str, opened: Open) -> None:
    page = opened(f"{site}{LEVEL}")
    page.locator("html.scripted").wait_for(timeout=PAUSE)
    page.locator("summary", has_text="Sizes").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("3")
    assert "b=3" in page.url
    page.keyboard.press("Escape")
    assert page.evaluate("() => document.activeElement.textContent").strip().startswith("Sizes")
    assert page.locator(".menu.sizes[open]").count() == 0
    assert page.url.split("?")[0].endswith(f"/{LEVEL}")


def test_menus_shut_when_one_looks_elsewhere(site: str, opened: Open) -> None:
    page = opened(f"{site}{LEVEL}")
    page.locator("html.scripted").wait_for(timeout=PAUSE)
    page.locator("summary", has_text="Copy").click()
    assert page.locator(".menu[open]").count() == 1
    page.locator("summary", has_text="Sizes").click()
    assert page.locator(".menu[open]").count() == 1
    page.locator("#panel .lede").click()
    assert page.locator(".menu[open]").count() == 0
