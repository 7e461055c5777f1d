"""From the library to one tensor of Kimi K2 and one operation of Kimi K3: by clicks, keys, search and address alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tests.browser.reader import box, open_box, search, title, trail, wait_for, walk_to

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Open = Callable[..., Any]


@dataclass(frozen=True)
class Goal:
    """Where to go.

    Attributes:
        model, name: identifier and display name.
        levels: address and heading of the levels on the way, outermost first.
        address, heading: of the page.
        query: what a reader types who looks for it.
    """

    model: str
    name: str
    levels: tuple[tuple[str, str], ...]
    address: str
    heading: str
    query: str


K2 = Goal(
    model="kimi-k2",
    name="Kimi K2",
    levels=(("layers", "61 transformer blocks"), ("layers/dense", "1 dense block")),
    address="layers/dense/block-output",
    heading="Block output",
    query="block output dense",
)
K3 = Goal(
    model="kimi-k3",
    name="Kimi K3",
    levels=(("layers", "93 layers"), ("layers/first", "First layer")),
    address="layers/first/add-attention-update",
    heading="Add attention update",
    query="add attention update first",
)
goals = pytest.mark.parametrize("goal", [K2, K3], ids=lambda goal: goal.model)


def _arrived(page: Any, goal: Goal) -> None:
    wait_for(page, goal.heading)
    assert trail(page) == [*(heading for _, heading in goal.levels), goal.heading]
    assert page.url.split("?")[0].endswith(f"/{goal.model}/{goal.address}/")
    assert page.locator("#level").get_attribute("data-level") == goal.levels[-1][0]
    assert page.title().startswith(f"{goal.heading} · {goal.name}")


@goals
def test_by_clicks_alone(kimi: str, opened: Open, goal: Goal) -> None:
    page = opened(kimi)
    page.get_by_role("link", name=goal.name, exact=True).click()
    wait_for(page, goal.name)
    for address, heading in goal.levels:
        open_box(page, address, heading)
    box(page, goal.address).locator("a").first.click()
    _arrived(page, goal)


@goals
def test_by_keys_alone(kimi: str, opened: Open, goal: Goal) -> None:
    page = opened(kimi)
    page.locator("html.scripted").wait_for()
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("() => document.activeElement?.textContent") == goal.name:
            break
    page.keyboard.press("Enter")
    wait_for(page, goal.name)
    for address, heading in goal.levels:
        walk_to(page, address)
        page.keyboard.press("Enter")
        wait_for(page, heading)
    walk_to(page, goal.address)
    page.keyboard.press("Enter")
    _arrived(page, goal)
    page.keyboard.press("Escape")
    wait_for(page, goal.levels[-1][1])
    page.keyboard.press("Backspace")
    wait_for(page, goal.levels[-2][1])


@goals
def test_by_search_alone(kimi: str, opened: Open, goal: Goal) -> None:
    page = opened(kimi)
    page.locator("html.scripted").wait_for()
    search(page, goal.query)
    options = page.locator("dialog [role=option]")
    page.wait_for_function("() => !document.querySelector('dialog .tally')?.textContent.includes('Loading')")
    assert options.first.locator(".hit-name").inner_text() == goal.heading
    page.keyboard.press("Enter")
    _arrived(page, goal)


@goals
def test_by_address_alone(kimi: str, opened: Open, goal: Goal) -> None:
    page = opened(f"{kimi}{goal.model}/{goal.address}/")
    _arrived(page, goal)


@goals
def test_without_scripts(kimi: str, opened: Open, goal: Goal) -> None:
    page = opened(kimi, java_script_enabled=False)
    page.get_by_role("link", name=goal.name, exact=True).click()
    for address, heading in goal.levels:
        box(page, address).locator("a").first.click()
        assert title(page) == heading
    box(page, goal.address).locator("a").first.click()
    assert title(page) == goal.heading
