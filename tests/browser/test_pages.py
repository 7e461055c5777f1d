"""The pages as a reader has them: without scripts, on a phone, in the dark, on paper, with the keyboard."""

from __future__ import annotations

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest

pytestmark = pytest.mark.browser

Open = Callable[..., Any]
TINY = "tests-corpus-tiny-transformer-tiny"
PAGES = [
    "",
    f"{TINY}/",
    f"{TINY}/layers/",
    f"{TINY}/layers/attention/",
    f"{TINY}/layers/attention/softmax-over-keys/",
    f"{TINY}/layers/attention/attention-update/",
    "sample/",
    "sample/layers/moe/",
    "sample/layers/moe/mlp/experts/",
    "sample/layers/dense/self-attn/softmax/",
    "running-sum/layers/first/add-attention-update/",
    "running-sum/layers/first/stored/",
]
# WCAG 2.2, success criterion 1.4.3: relative luminance, contrast of each text with what lies behind it.
CONTRASTS = """() => {
  const channel = v => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const parse = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const light = ([r, g, b]) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
  const over = (top, under) => { const a = top[3] ?? 1; return under.map((u, i) => top[i] * a + u * (1 - a)); };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode, element = node.parentElement;
    if (!node.textContent.trim() || !element.checkVisibility()) continue;
    const chain = [];
    for (let e = element; e; e = e.parentElement) chain.unshift(e);
    let behind = [255, 255, 255], opacity = 1;
    for (const e of chain) {
      const style = getComputedStyle(e);
      behind = over(parse(style.backgroundColor), behind);
      opacity *= Number(style.opacity);
    }
    if (opacity < 1) continue;  // lines that no layer reached are faded on purpose
    const [a, b] = [light(over(parse(getComputedStyle(element).color), behind)), light(behind)].sort((x, y) => y - x);
    found.push([(a + 0.05) / (b + 0.05), node.textContent.trim().slice(0, 40), element.className || element.tagName]);
  }
  return found.sort((x, y) => x[0] - y[0]).slice(0, 5);
}"""


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.targets: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src") and value:
                self.found.append(value)
            if name == "id" and value:
                self.targets.add(value)


def _read(address: str) -> tuple[int, str, bytes]:
    try:
        with urllib.request.urlopen(address, timeout=10) as response:
            return response.status, response.headers.get_content_type(), response.read()
    except urllib.error.HTTPError as error:
        return error.code, "", b""


def test_every_link_of_an_atlas_leads_somewhere(site: str) -> None:
    queue, seen, broken = [f"{site}{TINY}/"], {f"{site}{TINY}/"}, []
    anchors: dict[str, set[str]] = {}
    asked: list[tuple[str, str, str]] = []
    while queue:
        address = queue.pop()
        status, kind, body = _read(address)
        if status != 200:
            broken.append(address)
        if kind != "text/html" or not address.startswith(f"{site}{TINY}/"):
            continue
        parser = _Links()
        parser.feed(body.decode())
        anchors[address] = parser.targets
        for link in parser.found:
            target, anchor = urllib.parse.urldefrag(urllib.parse.urljoin(address, link))
            if not target.startswith(site):
                continue
            if anchor:
                asked.append((address, target, anchor))
            if target not in seen:
                seen.add(target)
                queue.append(target)
    assert broken == []
    assert len(seen) > 100
    assert [item for item in asked if item[1] in anchors and item[2] not in anchors[item[1]]] == []


@pytest.mark.parametrize("path", PAGES)
def test_pages_need_no_scripts_and_load_nothing_from_elsewhere(site: str, opened: Open, path: str) -> None:
    requests: list[str] = []
    page = opened("about:blank", java_script_enabled=False)
    page.on("request", lambda request: requests.append(request.url))
    response = page.goto(f"{site}{path}")
    assert response.status == 200
    assert "default-src 'none'" in response.headers["content-security-policy"]
    assert page.locator("h1").inner_text().strip()
    assert page.locator("main").is_visible()
    assert [url for url in requests if not url.startswith(site)] == []
    assert any(url.endswith(".css") for url in requests)


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("width", [390, 768, 1280])
def test_nothing_sticks_out_sideways(site: str, opened: Open, path: str, width: int) -> None:
    page = opened(f"{site}{path}", viewport={"width": width, "height": 800})
    page.evaluate("document.querySelectorAll('details').forEach(item => { item.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("path", PAGES)
def test_text_can_be_told_from_what_lies_behind_it(site: str, opened: Open, path: str, scheme: str) -> None:
    page = opened(f"{site}{path}", color_scheme=scheme)
    page.evaluate("document.querySelectorAll('details').forEach(item => { item.open = true; })")
    faint = [item for item in page.evaluate(CONTRASTS) if item[0] < 4.5]
    assert faint == []


def test_the_dark_scheme_is_dark(site: str, opened: Open) -> None:
    def background(scheme: str) -> int:
        page = opened(f"{site}{TINY}/", color_scheme=scheme)
        color = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(int(part) for part in color.removeprefix("rgb(").removesuffix(")").split(","))

    assert background("dark") < 150
    assert background("light") > 600


FOCUS_SHOWS = """() => {
  const element = document.activeElement, style = getComputedStyle(element);
  if (!element.closest("svg")) return style.outlineStyle !== "none";
  const shapes = [...element.querySelectorAll("rect, circle, text")].map(shape => getComputedStyle(shape));
  return shapes.some(shape => parseFloat(shape.strokeWidth) >= 2.5 || shape.textDecorationLine === "underline");
}"""


def test_the_keyboard_reaches_every_link_and_shows_where_it_is(site: str, opened: Open) -> None:
    page = opened(f"{site}{TINY}/layers/attention/")
    page.wait_for_timeout(200)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    assert page.locator(".skip").bounding_box()["x"] >= 0, "the way past the head shows when it is reached"
    # One cell of the strip stands for all: arrows go on from it. Plumbing that is shut is not there yet.
    wanted = page.evaluate("""[...document.querySelectorAll("main a[href], main summary")].filter(
        e => e.checkVisibility() && e.tabIndex >= 0 && !e.closest(".opened:not(.open)")).length""")
    reached = set()
    for _ in range(400):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        assert page.evaluate(FOCUS_SHOWS), page.evaluate("document.activeElement.outerHTML")
        reached.add(
            page.evaluate("""() => {
          const all = [...document.querySelectorAll("main a[href], main summary")];
          return all.indexOf(document.activeElement);
        }""")
        )
    assert len(reached - {-1}) == wanted > 10


def test_the_skip_link_leads_to_the_content(site: str, opened: Open) -> None:
    page = opened(f"{site}{TINY}/")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.url.endswith("#panel")


def test_twins_say_the_same(site: str, opened: Open) -> None:
    page = opened(f"{site}{TINY}/layers/attention/softmax-over-keys/")
    title = page.locator("h1").inner_text()
    twins = {
        link.get_attribute("type"): link.get_attribute("href") for link in page.locator("link[rel=alternate]").all()
    }
    address = page.url
    status, kind, body = _read(urllib.parse.urljoin(address, twins["application/json"]))
    assert (status, kind) == (200, "application/json")
    data = json.loads(body)
    assert data["title"] == title
    status, kind, body = _read(urllib.parse.urljoin(address, twins["text/markdown"]))
    assert (status, kind) == (200, "text/markdown")
    assert f"# {title}" in body.decode()
    assert data["sources"][0]["excerpt"].splitlines()[0] in body.decode()


def test_a_reader_walks_from_the_model_to_one_operation_and_back(site: str, opened: Open) -> None:
    page = opened(site, java_script_enabled=False)
    page.set_default_timeout(5000)
    page.locator(f"a[href='{TINY}/index.html']").click()
    for step in ("layers", "attention", "softmax-over-keys"):
        page.locator(f"figure.diagram g.node a[href$='{step}/index.html']").first.click()
        page.wait_for_url(f"**/{step}/index.html")
    assert page.locator("h1").inner_text().startswith("Softmax")
    assert page.locator(".code mark").inner_text().endswith("softmax(-1)")
    page.get_by_role("navigation", name="Breadcrumb").locator("a").first.click()
    assert page.url.endswith(f"{TINY}/layers/index.html")


def test_paper_has_the_facts_and_none_of_the_ways_about(site: str, opened: Open) -> None:
    page = opened(f"{site}sample/layers/dense/self-attn/softmax/", color_scheme="dark")
    page.emulate_media(media="print")
    assert page.locator("h1").is_visible()
    assert not page.locator(".twins").is_visible()
    assert not page.locator(".neighbours").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert [item for item in page.evaluate(CONTRASTS) if item[0] < 4.5] == []
    assert len(page.pdf()) > 10_000


def test_a_wrong_address_is_told_with_what_comes_close(site: str, browser: Any) -> None:
    context = browser.new_context()
    page = context.new_page()
    response = page.goto(f"{site}{TINY}/layers/atention/")
    assert response.status == 404
    assert page.get_by_role("link", name=f"{TINY}/layers/attention", exact=True).is_visible()
    context.close()
