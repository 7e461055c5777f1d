"""What a reader does with the site, for tests: press, point, look."""

from __future__ import annotations

from typing import Any

PAUSE = 10_000
"""How long anything may take, in milliseconds, on a machine that does other things too."""


def title(page: Any) -> str:
    """Heading of the page beside the diagram."""
    return str(page.locator("#panel h1").inner_text())


def trail(page: Any) -> list[str]:
    """What the breadcrumb says, from the outside inwards."""
    return [str(text).strip() for text in page.locator("#crumbs li").all_inner_texts()]


def wait_for(page: Any, heading: str) -> None:
    """Waits until the page beside the diagram has this heading, and the front end is there."""
    page.locator("#panel h1").get_by_text(heading, exact=True).wait_for(timeout=PAUSE)
    page.locator("html.scripted").wait_for(timeout=PAUSE)


def box(page: Any, address: str) -> Any:
    """The box of the diagram that stands for this address."""
    return page.locator(f'#level figure.diagram g.node[data-address="{address}"]').first


def open_box(page: Any, address: str, heading: str) -> None:
    """Opens a box with the mouse: the first click shows its page, the second goes in."""
    box(page, address).locator("a").first.dblclick()
    page.wait_for_function("(level) => document.querySelector('#level')?.dataset.level === level", arg=address)
    wait_for(page, heading)


def focused(page: Any) -> str:
    """Address of the box with the focus; empty if it is elsewhere."""
    return str(page.evaluate("() => document.activeElement?.closest('g.node')?.dataset.address ?? ''"))


def walk_to(page: Any, address: str) -> None:
    """Moves the focus with the arrow keys alone: down the diagram, starting further and further from its first box."""
    seen: list[str] = []
    for aside in ([], ["ArrowRight"], ["ArrowLeft"], ["ArrowRight"] * 2, ["ArrowLeft"] * 2):
        for key in ["ArrowUp"] * 20 + aside + ["ArrowDown"] * 20:
            page.keyboard.press(key)
            seen.append(focused(page))
            if seen[-1] == address:
                return
    raise AssertionError(f"the arrow keys never came to {address}, but to {list(dict.fromkeys(seen))}")


def search(page: Any, text: str) -> None:
    """Opens search, types, and waits until something has been found."""
    page.keyboard.press("/")
    page.locator("dialog input").wait_for(timeout=PAUSE)
    page.keyboard.type(text)
    page.locator("dialog [role=option]").first.wait_for(timeout=PAUSE)


def lit(page: Any) -> set[str]:
    """Where there is light: ``box``, ``line``, ``term``, ``port``, ``code``, or ``other``."""
    found = page.evaluate(
        """() => [...document.querySelectorAll('.lit')].map(e =>
             e.matches('g.node') ? 'box' : e.matches('g.edge') ? 'line' : e.closest('.katex') ? 'term'
             : e.closest('.ports') ? 'port' : e.closest('.code') ? 'code' : 'other')"""
    )
    return set(found)


def point_at(page: Any, selector: str) -> None:
    """Moves the pointer to the middle of a line of the diagram, which may be too thin for a box around it."""
    x, y = page.evaluate(
        """selector => {
          const path = document.querySelector(selector);
          path.scrollIntoView({block: 'center', behavior: 'instant'});
          const middle = path.getPointAtLength(path.getTotalLength() / 2).matrixTransform(path.getScreenCTM());
          return [middle.x, middle.y];
        }""",
        selector,
    )
    page.mouse.move(x, y)
