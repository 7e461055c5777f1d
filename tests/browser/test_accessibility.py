"""axe-core finds nothing to object to, in light and in dark, with everything opened."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser

Open = Callable[..., Any]
TINY = "tests-corpus-tiny-transformer-tiny"
PAGES = {
    "library": "",
    "model": f"{TINY}/",
    "level": f"{TINY}/layers/attention/",
    "operation": f"{TINY}/layers/attention/softmax-over-keys/",
    "level-without-diagram": "sample/layers/moe/",
    "known": "known-sum/layers/first/add-attention-update/",
    "mechanisms": "mechanisms/",
    "mechanism": "mechanisms/residual-addition/",
    "missing": "sample/layers/moee/",
}


@pytest.fixture(scope="session")
def axe() -> str:
    """The checker's script, https://github.com/dequelabs/axe-core."""
    package = pytest.importorskip("axe_playwright_python")
    return next(Path(package.__file__).parent.rglob("axe.min.js")).read_text("utf-8")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_no_violations(site: str, browser: Any, axe: str, name: str, scheme: str) -> None:
    context = browser.new_context(color_scheme=scheme, viewport={"width": 1280, "height": 900})
    page = context.new_page()
    page.goto(f"{site}{PAGES[name]}")
    page.evaluate("document.querySelectorAll('details').forEach(item => { item.open = true; })")
    page.evaluate(axe)
    found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
    context.close()
    assert [(item["id"], item["nodes"][0]["html"][:200], item["nodes"][0]["failureSummary"]) for item in found] == []
    assert axe.startswith("/*! axe v")


def test_the_checker_can_object(site: str, browser: Any, axe: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{site}sample/")
    page.evaluate("document.querySelector('h1').innerHTML = '<img src=\"data:,\">'")
    page.evaluate(axe)
    found = page.evaluate("axe.run(document)")["violations"]
    context.close()
    assert "image-alt" in {item["id"] for item in found}


def test_the_reader_chooses_light_or_dark_for_all_pages(site: str, browser: Any) -> None:
    context = browser.new_context(color_scheme="light")
    page = context.new_page()

    def is_dark() -> bool:
        color = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in color.removeprefix("rgb(").removesuffix(")").split(",")) < 150

    page.goto(f"{site}sample/")
    assert not is_dark()
    page.get_by_role("button", name="Colours").click()
    assert not is_dark(), "light, whatever the system says"
    page.get_by_role("button", name="Colours").click()
    assert is_dark()
    page.goto(f"{site}known-sum/layers/first/")
    assert is_dark()
    page.get_by_role("button", name="Colours").click()
    assert not is_dark()
    context.close()
