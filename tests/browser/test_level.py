"""The level view of Kimi K2 and K3: light, selection, plumbing, strip, settings, history."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from tests.browser.reader import PAUSE, box, focused, lit, open_box, point_at, title, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.slow]

Open = Callable[..., Any]
BLOCK = "kimi-k2/layers/dense/"
ATTENTION = "kimi-k2/layers/dense/self-attn/"
UPDATE = "kimi-k3/layers/first/add-attention-update/"


def _ready(page: Any) -> Any:
    page.locator("html.scripted").wait_for(timeout=PAUSE)
    return page


def _shapes(page: Any) -> list[str]:
    return [str(text) for text in page.locator(".ports .shape").all_inner_texts()]


def test_a_term_lights_its_box_line_entry_and_code(kimi: str, opened: Open) -> None:
    page = _ready(opened(f"{kimi}{UPDATE}"))
    for place, selector in (
        ("term", "#panel .formulas .katex-html [data-light]"),
        ("port", "#panel .ports [data-light*='@']"),
        ("code", "#panel .code [data-light]"),
    ):
        found = set()
        for element in page.locator(selector).all():
            element.hover(force=True)
            lights = lit(page)
            assert place in lights
            found |= lights
        assert found >= {"term", "box", "port", "code"}, f"from a {place}"


def test_boxes_and_lines_light_what_belongs_to_them(kimi: str, opened: Open) -> None:
    page = _ready(opened(f"{kimi}{BLOCK}"))
    box(page, "layers/dense/self-attn").hover()
    assert lit(page) >= {"box", "code"}
    point_at(page, 'g.edge[data-tensor="layers/dense/block-output"] path.hit')
    assert lit(page) >= {"line", "port"}
    page.locator("#panel .ports [data-light]").last.hover()
    assert lit(page) >= {"line", "port"}
    page.mouse.move(2, 2)
    assert lit(page) == set()


def test_the_focus_lights_as_the_pointer_does(kimi: str, opened: Open) -> None:
    page = _ready(opened(f"{kimi}{BLOCK}"))
    page.keyboard.press("ArrowDown")
    assert focused(page)
    assert "box" in lit(page)
    page.locator("#panel .ports a").last.focus()
    assert lit(page) >= {"line", "port"}


def test_a_click_shows_a_page_beside_the_diagram_and_the_address_says_so(kimi: str, opened: Open) -> None:
    page = _ready(opened(f"{kimi}{BLOCK}"))
    box(page, "layers/dense/self-attn").locator("a").click()
    wait_for(page, "Latent attention")
    assert page.locator("#level").get_attribute("data-level") == "layers/dense"
    assert "select=layers/dense/self-attn" in page.url
    assert "selected" in str(box(page, "layers/dense/self-attn").get_attribute("class"))
    other = _ready(opened(page.url))
    wait_for(other, "Latent attention")
    assert other.locator("#level").get_attribute("data-level") == "layers/dense"
    other.get_by_role("link", name="Go inside").click()
    other.wait_for_function("() => document.querySelector('#level').dataset.level === 'layers/dense/self-attn'")
    page.keyboard.press("Escape")
    wait_for(page, "1 dense block")
    assert "select" not in page.url


def test_plumbing_opens_in_place_and_nothing_else_moves(kimi: str, opened: Open) -> None:
    page = _ready(opened(f"{kimi}{ATTENTION}"))
    places = "() => [...document.querySelectorAll('g.node:not(.role-step)')].map(e => { const b = e.getBBox();"
    places += " return [b.x, b.y, b.width, b.height] })"
    before = page.evaluate(places)
    assert page.locator("g.opened:visible").count() == 0
    page.locator(".plumbing-sign.closed").first.click()
    assert page.locator("g.opened:visible").count() >= 1
    assert page.evaluate(places) == before
    assert "plumbing=" in page.url
    other = _ready(opened(page.url))
    assert other.locator("g.opened:visible").count() >= 1
    page.locator(".plumbing-sign.closer:visible").first.click()
    assert page.locator("g.opened:visible").count() == 0
    assert "plumbing=" not in page.url
    page.locator(".plumbing-sign.closed").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("g.opened:visible").count() >= 1
    page.keyboard.press("Enter")
    assert page.locator("g.opened:visible").count() == 0


def test_back_and_forward_bring_each_view_back(kimi: str, opened: Open) -> None:
    page = _ready(opened(f"{kimi}kimi-k2/"))
    open_box(page, "layers", "61 transformer blocks")
    open_box(page, "layers/dense", "1 dense block")
    views = []
    for _ in range(2):
        views.append((page.url, title(page)))
        page.go_back()
        page.wait_for_function("(old) => location.href !== old", arg=views[-1][0])
    page.wait_for_timeout(300)
    for url, heading in reversed(views):
        page.go_forward()
        wait_for(page, heading)
        assert page.url == url


def test_header_and_footer_follow_and_switches_stay(kimi: str, opened: Open) -> None:
    page = _ready(opened(f"{kimi}{ATTENTION}"))
    page.locator("#crumbs a").last.click()
    wait_for(page, "1 dense block")
    assert page.locator("header.top button.theme").count() == 1
    assert page.locator("header.top .tools").count() == 1
    twin = page.locator(".twins a", has_text="Markdown").get_attribute("href")
    assert str(twin).endswith("/kimi-k2/layers/dense/index.md")
    assert page.locator("footer.bottom .address").inner_text().endswith("kimi-k2/layers/dense")


def test_going_up_puts_the_focus_on_where_one_came_from(kimi: str, opened: Open) -> None:
    page = _ready(opened(f"{kimi}{ATTENTION}"))
    page.keyboard.press("Escape")
    wait_for(page, "1 dense block")
    assert focused(page) == "layers/dense/self-attn"


def test_the_strip_tells_what_differs_and_leads_there(kimi: str, opened: Open) -> None:
    page = _ready(opened(f"{kimi}kimi-k3/layers/first/"))
    cells = page.locator("#level .strip a.cell")
    assert cells.count() == 93
    notes = set()
    for layer in (12, 13, 16):
        cells.nth(layer - 1).hover()
        note = page.locator(".strip-note").inner_text()
        assert note.startswith(f"Layer {layer}")
        notes.add(re.sub(r"^Layer \d+: ", "", note))
    assert len(notes) == 2  # 12 and 16 are alike, 13 stores the running sum
    cells.nth(12).click()
    page.wait_for_function("() => document.querySelector('#level').dataset.level !== 'layers/first'")
    assert page.locator('#level .strip a.cell[aria-current="true"]').count() == 7
    page.locator('#level .strip a.cell[tabindex="0"]').focus()
    page.keyboard.press("ArrowRight")
    assert page.evaluate("() => document.activeElement.textContent") == "14"


def test_shapes_and_sizes_follow_the_reader(kimi: str, opened: Open) -> None:
    page = _ready(opened(f"{kimi}{BLOCK}block-output/"))
    assert _shapes(page)[0] == "[B batch, T positions, 7168 d]"
    page.keyboard.press("s")
    assert _shapes(page)[0] == "[B, T, d]"
    page.keyboard.press("s")
    assert _shapes(page)[0] == "[B, T, 7168]"
    assert "7168" in " ".join(page.locator("figure.diagram text.shape").all_text_contents())
    page.locator("summary", has_text="Sizes").click()
    page.get_by_label("batch").fill("2")
    page.get_by_label("positions").fill("4096")
    assert _shapes(page)[0] == "[2, 4096, 7168]"
    assert page.locator(".ports .bytes").first.inner_text() == "117 MB"
    page.get_by_label("element type").select_option("float32")
    assert page.locator(".ports .bytes").first.inner_text() == "235 MB"
    assert page.locator(".ports .dtype").first.inner_text() == "float32"
    assert "b=2&t=4096&dtype=float32&shapes=numbers" in page.url
    other = _ready(opened(page.url))
    assert _shapes(other)[0] == "[2, 4096, 7168]"
    page.keyboard.press("Escape")
    page.locator("#crumbs a").last.click()
    wait_for(page, "1 dense block")
    assert "[2, 4096, 7168]" in _shapes(page)
    page.locator("summary", has_text="Sizes").click()
    page.get_by_role("button", name="As at first").click()
    assert "[B batch, T positions, 7168 d]" in _shapes(page)
    assert "?" not in page.url


def test_the_diagram_zooms_and_pans(kimi: str, opened: Open) -> None:
    page = _ready(opened(f"{kimi}{ATTENTION}"))
    drawing = page.locator("figure.diagram > svg")
    figure = page.locator("figure.diagram")

    def width() -> float:
        return float(str(drawing.get_attribute("width")))

    whole = width()
    page.keyboard.press("+")
    assert width() == pytest.approx(whole * 1.25)
    page.keyboard.press("0")
    assert width() == whole
    page.keyboard.press("f")
    assert figure.evaluate("figure => figure.scrollHeight - figure.clientHeight") <= 2
    page.keyboard.press("0")
    area = figure.bounding_box()
    start = figure.evaluate("figure => figure.scrollTop")
    page.mouse.move(area["x"] + 30, area["y"] + 300)
    page.mouse.down()
    page.mouse.move(area["x"] + 30, area["y"] + 200, steps=5)
    page.mouse.up()
    assert figure.evaluate("figure => figure.scrollTop") == pytest.approx(start + 100, abs=2)
    assert title(page) == "Latent attention"


def test_the_keys_are_listed(kimi: str, opened: Open) -> None:
    page = _ready(opened(f"{kimi}{BLOCK}"))
    page.keyboard.press("?")
    page.get_by_role("dialog", name="Keys").wait_for()
    page.keyboard.press("Escape")
    page.wait_for_function("() => !document.querySelector('dialog')")
    assert title(page) == "1 dense block"


def test_the_diagram_can_have_the_whole_window(kimi: str, opened: Open) -> None:
    page = _ready(opened(f"{kimi}{ATTENTION}"))
    dialog = page.get_by_role("dialog", name="Diagram over the whole window")
    before = page.locator("#level figure").bounding_box()["width"]
    page.get_by_role("button", name="window").click()
    dialog.wait_for(timeout=PAUSE)
    assert page.locator("#level figure").bounding_box()["width"] > page.viewport_size["width"] - 60 > before
    page.locator("#panel a").first.focus()
    assert not page.locator("#panel a:focus").count(), "what is covered can be reached"
    box(page, "layers/dense/self-attn/rotate-queries-and-shared-key-part").locator("a").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelector('#level').dataset.level.endsWith('shared-key-part')")
    assert dialog.count() == 1, "the diagram inside is not shown large"
    page.keyboard.press("Escape")
    dialog.wait_for(state="detached", timeout=PAUSE)
    assert page.locator("[inert]").count() == 0
    assert page.locator("#level").get_attribute("aria-label") == "Diagram"
    page.keyboard.press("l")
    dialog.wait_for(timeout=PAUSE)
    page.get_by_role("button", name="window").click()
    dialog.wait_for(state="detached", timeout=PAUSE)


def test_the_diagram_by_itself_needs_no_scripts(kimi: str, opened: Open) -> None:
    page = opened(f"{kimi}{ATTENTION}", java_script_enabled=False)
    page.get_by_role("link", name="The diagram by itself").click()
    assert page.url == f"{kimi}{ATTENTION}diagram.svg"
    assert page.locator("svg g.node").count() > 10
    fill = page.locator("svg g.node .frame").first.evaluate("frame => getComputedStyle(frame).fill")
    assert fill != "rgb(0, 0, 0)", "the style sheet of the picture was refused"
