"""What a reader does with the site, for tests: press, point, look."""

from __future__ import annotations

import re
from typing import Any

BOX = "#level figure.diagram g.node"


def title(page: Any) -> str:
    """Heading of the page beside the diagram."""
    return str(page.locator("#panel h1").inner_text())


def trail(page: Any) -> list[str]:
    """What the breadcrumb says, from the outside inwards."""
    return [text.strip() for text in page.locator("#crumbs li").all_inner_texts()]


def wait_for_title(page: Any, text: str) -> None:
    """Waits until the page beside the diagram has this heading."""
    page.locator("#panel h1").get_by_text(text, exact=True).wait_for(timeout=10_000)


def box(page: Any, text: str) -> Any:
    """The box of the diagram with this title."""
    return page.locator(BOX, has=page.locator("text.title", has_text=re.compile(rf"^\s*{re.escape(text)}\s*$"))).first


def walk_to(page: Any, text: str) -> None:
    """Moves the focus with the arrow keys, downwards and where lines divide to both sides, to the box with this title."""
    seen: list[str] = []
    for key in ["ArrowDown"] * 40 + ["ArrowUp"] * 40:
        page.keyboard.press(key)
        here = focused_box(page)
        seen.append(here)
        if here == text:
            return
        for side in ("ArrowRight", "ArrowLeft"):
            page.keyboard.press(side)
            if focused_box(page) == text:
                return
            page.keyboard.press("ArrowLeft" if side == "ArrowRight" else "ArrowRight")
    raise AssertionError(f"the arrow keys never came to {text!r}, but to {seen}")


def focused_box(page: Any) -> str:
    """Title of the box with the focus; empty if it is elsewhere."""
    return str(
        page.evaluate(
            "() => document.activeElement?.closest('g.node')?.querySelector('text.title')?.textContent?.trim() ?? ''"
        )
    )


def search(page: Any, text: str) -> None:
    """Opens search, types, and waits until something has been found."""
    page.keyboard.press("/")
    page.locator("dialog input").wait_for()
    page.keyboard.type(text)
    page.locator("dialog [role=option]").first.wait_for()


def lit(page: Any) -> set[str]:
    """Where there is light: ``node``, ``edge``, ``term``, ``port``, ``code``."""
    found = page.evaluate(
        """() => [...document.querySelectorAll('.lit')].map(e =>
             e.matches('g.node') ? 'node' : e.matches('g.edge') ? 'edge' : e.closest('.katex') ? 'term'
             : e.closest('.ports') ? 'port' : e.closest('.code') ? 'code' : 'other')"""
    )
    return set(found)
