"""A model in which everything is an attack, in a real browser with the scripts on: nothing runs, nothing sticks out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytestmark = pytest.mark.browser

Open = Callable[..., Any]
PATHS = ["hostile/", "hostile/layers/one/", "hostile/layers/one/step/", "hostile/layers/one/seen/", "hostile/contents/"]


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("width", [390, 1280])
def test_hostile_pages_are_inert_and_whole(site: str, opened: Open, path: str, width: int) -> None:
    page = opened("about:blank", viewport={"width": width, "height": 800})
    dialogs: list[str] = []
    elsewhere: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    page.on("request", lambda request: elsewhere.append(request.url) if not request.url.startswith(site) else None)
    assert page.goto(f"{site}{path}").status == 200
    page.evaluate("document.querySelectorAll('details').forEach(item => { item.open = true; })")
    page.keyboard.press("Control+k")
    page.keyboard.type("script")
    page.wait_for_timeout(300)
    page.keyboard.press("Escape")
    for link in page.locator("main svg a, main [data-light]").all()[:5]:
        link.hover(force=True, timeout=2000)
    assert (dialogs, elsewhere) == ([], [])
    assert page.locator("img").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert "alert(1)" in page.locator("main").inner_text()
