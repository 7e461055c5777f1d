"""The export on a server of plain files under a path of its own, and opened from disk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.reader import PAUSE, box, lit, open_box, search, title, trail, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Open = Callable[..., Any]
UPDATE = "kimi-k3/layers/first/add-attention-update/"


def _ready(page: Any) -> Any:
    page.locator("html.scripted").wait_for(timeout=PAUSE)
    return page


def test_a_plain_server_under_a_path(plain_host: str, opened: Open) -> None:
    page = _ready(opened(plain_host))
    page.get_by_role("link", name="Kimi K2", exact=True).click()
    wait_for(page, "Kimi K2")
    open_box(page, "layers", "61 transformer blocks")
    open_box(page, "layers/dense", "1 dense block")
    box(page, "layers/dense/block-output").locator("a").first.click()
    wait_for(page, "Block output")
    assert page.url == f"{plain_host}kimi-k2/layers/dense/block-output/"
    page.reload()
    wait_for(page, "Block output")
    assert page.locator("#level figure.diagram svg").count() == 1
    page.go_back()
    wait_for(page, "1 dense block")
    search(page, "add attention update")
    page.keyboard.press("Tab")
    page.locator("dialog .hit-where b", has_text="Kimi K3").first.click()
    wait_for(page, "Add attention update")
    assert page.url.startswith(f"{plain_host}kimi-k3/")


def test_from_disk_by_links(exported: Path, opened: Open) -> None:
    page = _ready(opened((exported / "index.html").as_uri()))
    page.get_by_role("link", name="Kimi K3", exact=True).click()
    wait_for(page, "Kimi K3")
    for address, heading in (("layers", "93 layers"), ("layers/first", "First layer")):
        box(page, address).locator("a").first.click()
        wait_for(page, heading)
    box(page, "layers/first/add-attention-update").locator("a").first.click()
    wait_for(page, "Add attention update")
    assert trail(page) == ["93 layers", "First layer", "Add attention update"]
    page.locator('#level g.node.selected[data-address="layers/first/add-attention-update"]').wait_for()
    page.keyboard.press("Escape")
    wait_for(page, "First layer")
    page.go_back()
    wait_for(page, "Add attention update")


def test_from_disk_without_scripts_a_picture_leads_to_its_level(exported: Path, opened: Open) -> None:
    page = opened((exported / UPDATE / "index.html").as_uri(), java_script_enabled=False)
    picture = page.locator("#level figure.diagram img")
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 300
    picture.click(position={"x": 20, "y": 20})
    page.locator("#panel h1").get_by_text("First layer", exact=True).wait_for(timeout=PAUSE)
    assert page.locator("#level figure.diagram svg a").count() > 5


def test_from_disk_by_search_and_with_settings(exported: Path, opened: Open) -> None:
    page = _ready(opened((exported / "kimi-k2/index.html").as_uri()))
    page.keyboard.press("s")
    page.keyboard.press("s")
    assert page.url.endswith("?shapes=numbers")
    search(page, "block output dense")
    page.keyboard.press("Enter")
    wait_for(page, "Block output")
    assert page.locator(".ports .shape").first.inner_text() == "[B, T, 7168]"
    search(page, "add attention update")
    page.keyboard.press("Tab")
    page.locator("dialog .hit-where b", has_text="Kimi K3").first.click()
    wait_for(page, "Add attention update")


def test_from_disk_the_light_and_the_copies(exported: Path, opened: Open) -> None:
    address = (exported / UPDATE / "index.html").as_uri()
    page = _ready(opened(address, permissions=["clipboard-read", "clipboard-write"]))
    page.locator("#panel .formulas .katex-html [data-light]").last.hover(force=True)
    assert lit(page) >= {"term", "port"}
    page.locator("summary", has_text="Copy").click()
    page.get_by_role("button", name="Page as Markdown").click()
    page.get_by_text("is copied").wait_for()
    assert "Add attention update" in page.evaluate("() => navigator.clipboard.readText()")
    assert title(page) == "Add attention update"
