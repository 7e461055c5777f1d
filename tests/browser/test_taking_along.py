"""Search, copying and saving, the library, phones and the dark, on the atlases of Kimi K2 and K3."""

from __future__ import annotations

import struct
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.browser.reader import PAUSE, box, search, title, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Open = Callable[..., Any]
UPDATE = "kimi-k3/layers/first/add-attention-update/"
ATTENTION = "kimi-k2/layers/dense/self-attn/"
CLIPBOARD = {"permissions": ["clipboard-read", "clipboard-write"]}


def _ready(page: Any) -> Any:
    page.locator("html.scripted").wait_for(timeout=PAUSE)
    return page


def _copy(page: Any, entry: str, what: str) -> str:
    page.locator("summary", has_text="Copy").click()
    page.get_by_role("button", name=entry).click()
    page.get_by_text(f"{what} is copied.").wait_for()
    return str(page.evaluate("() => navigator.clipboard.readText()"))


def _save(page: Any, entry: str) -> tuple[str, bytes]:
    page.locator("summary", has_text="Copy").click()
    with page.expect_download() as saving:
        page.get_by_role("button", name=entry).click()
    return saving.value.suggested_filename, Path(saving.value.path()).read_bytes()


@pytest.mark.parametrize(
    ("typed", "kind", "heading"),
    [
        ("q_a_proj.weight", "parameter", "Query latent projection"),
        ("latnet atention", "node", "Latent attention"),
        ("rms_norm_eps", "config", "Kimi K2"),
    ],
)
def test_search_finds_by_every_name(kimi: str, opened: Open, typed: str, kind: str, heading: str) -> None:
    page = _ready(opened(f"{kimi}kimi-k2/"))
    search(page, typed)
    found = page.locator("dialog [role=option]", has=page.locator(".hit-kind", has_text=kind)).first
    found.click()
    wait_for(page, heading)


def test_search_finds_lines_and_leads_to_them(kimi: str, opened: Open) -> None:
    page = _ready(opened(f"{kimi}kimi-k3/"))
    search(page, "stored_sums torch.cat")
    line = page.locator("dialog [role=option]", has=page.locator(".hit-kind", has_text="code")).first
    line.click()
    page.wait_for_function("() => /#L\\d+$/.test(location.hash)")
    number = page.evaluate("() => location.hash.slice(1)")
    assert page.locator(f"#{number}").is_visible()
    assert "cat(" in page.locator(f"#{number}").inner_text()


def test_search_goes_through_this_model_or_all(kimi: str, opened: Open) -> None:
    page = _ready(opened(f"{kimi}kimi-k2/"))
    page.keyboard.press("/")
    page.keyboard.type("delta rule")
    page.get_by_text("Nothing is called that.").wait_for()
    page.keyboard.press("Tab")
    page.locator("dialog .hit-where b", has_text="Kimi K3").first.wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**/kimi-k3/**")


def test_search_can_be_left(kimi: str, opened: Open) -> None:
    page = _ready(opened(f"{kimi}kimi-k2/"))
    page.keyboard.press("Control+k")
    page.locator("dialog input").wait_for()
    page.keyboard.type("zzzzzz")
    page.get_by_text("Nothing is called that.").wait_for()
    page.keyboard.press("Escape")
    page.wait_for_function("() => !document.querySelector('dialog')")
    assert title(page) == "Kimi K2"


def test_formula_page_and_address_are_copied(kimi: str, opened: Open) -> None:
    page = _ready(opened(f"{kimi}{UPDATE}", **CLIPBOARD))
    formula = _copy(page, "Formula as LaTeX", "The formula")
    assert "=" in formula
    assert "htmlData" not in formula
    markdown = _copy(page, "Page as Markdown", "The page")
    assert markdown.startswith("# ") or "\n# " in markdown
    assert "Add attention update" in markdown
    assert _copy(page, "Address of this view", "The address") == page.url


def test_the_diagram_is_saved_as_svg_with_text(kimi: str, opened: Open) -> None:
    page = _ready(opened(f"{kimi}{ATTENTION}"))
    name, content = _save(page, "Diagram as SVG")
    assert name == "kimi-k2-layers-dense-self-attn.svg"
    root = ET.fromstring(content.decode())
    space = "{http://www.w3.org/2000/svg}"
    texts = ["".join(text.itertext()) for text in root.iter(f"{space}text")]
    assert any("Query latent" in text for text in texts)
    assert not any(element.get("class") for element in root.iter())
    frames = [rect for rect in root.iter(f"{space}rect") if rect.get("stroke") not in (None, "none")]
    assert len(frames) > 5
    links = [link.get("href", "") for link in root.iter(f"{space}a")]
    assert links
    assert all(link.startswith(kimi) for link in links)


def test_the_diagram_is_saved_as_png(kimi: str, opened: Open) -> None:
    page = _ready(opened(f"{kimi}{ATTENTION}"))
    width = float(page.locator("figure.diagram > svg").get_attribute("width"))
    name, content = _save(page, "Diagram as PNG")
    assert name.endswith(".png")
    assert content.startswith(b"\x89PNG")
    assert struct.unpack(">I", content[16:20])[0] == pytest.approx(2 * width, abs=2)


def test_the_library_is_filtered_and_sorted(kimi: str, opened: Open) -> None:
    page = _ready(opened(kimi))
    names = page.locator(".models .card:visible h2")
    assert names.all_inner_texts() == ["Kimi K2", "Kimi K3"]
    page.get_by_label("Sort by").select_option("parameters")
    assert names.all_inner_texts() == ["Kimi K3", "Kimi K2"]
    page.get_by_label("Filter").fill("delta")
    assert names.all_inner_texts() == ["Kimi K3"]
    assert page.url.endswith("?filter=delta&sort=parameters")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_sticks_out_with_scripts(kimi: str, opened: Open, width: int, scheme: str) -> None:
    viewport = {"width": width, "height": 844}
    page = _ready(opened(f"{kimi}{ATTENTION}", viewport=viewport, color_scheme=scheme))
    assert page.evaluate("() => document.documentElement.scrollWidth - innerWidth") <= 0
    page.locator(".tools .menu.sizes summary").click()
    sheet = page.locator(".menu.sizes .sheet").bounding_box()
    assert sheet["x"] >= 0
    assert sheet["x"] + sheet["width"] <= width


def test_a_finger_opens_boxes_too(kimi: str, opened: Open) -> None:
    page = _ready(
        opened(f"{kimi}kimi-k2/layers/dense/", viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    )
    link = box(page, "layers/dense/self-attn").locator("a")
    link.scroll_into_view_if_needed()
    link.tap()
    wait_for(page, "Latent attention")
    link.tap()
    page.wait_for_function("() => document.querySelector('#level').dataset.level === 'layers/dense/self-attn'")
