"""What strangers write is shown inert and whole."""

from __future__ import annotations

import html
import io
import json
import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import msgspec
import pytest
from rich.console import Console

from openmodelatlas.site.markdown import render_markdown
from openmodelatlas.site.node_html import NodeHtml
from openmodelatlas.site.page import PageBuilder
from openmodelatlas.site.search import search_script
from openmodelatlas.site.terminal import render
from openmodelatlas.site.visible import visible
from tests.site.hostile import BACKWARDS, LINES, LONG, MARKUP, open_hostile

_VOID = {"meta", "link", "br", "wbr", "img"}
_PRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


class _Elements(HTMLParser):
    """Every element with its attributes; refuses tags that do not nest."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str]]] = []
        self.lines: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        self.found.append((tag, values))
        if tag not in _VOID:
            self.open.append(tag)
        if tag == "li" and values.get("id", "").startswith("L"):
            self.lines.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "li" in self.open and "ol" in self.open and self.lines:
            self.lines[-1] += data


@pytest.fixture(scope="module")
def builder(tmp_path_factory: pytest.TempPathFactory) -> PageBuilder:
    return PageBuilder(open_hostile(tmp_path_factory.mktemp("home")))


@pytest.fixture(scope="module")
def pages(builder: PageBuilder) -> dict[str, str]:
    renderer = NodeHtml(builder, [("hostile", MARKUP)])
    return {
        node.address: renderer.page(page, markdown=render_markdown(page))
        for node in builder.atlas
        for page in [builder.page(node)]
    }


def test_nothing_that_was_written_becomes_markup(pages: dict[str, str]) -> None:
    for address, text in pages.items():
        parser = _Elements()
        parser.feed(text)
        assert parser.open == [], address
        for tag, attributes in parser.found:
            assert tag != "img" or attributes["src"].partition("#")[0].lstrip("./") == "diagram.svg"
            assert tag not in ("iframe", "object", "embed", "form", "base", "style"), address
            assert not any(name.startswith("on") or name == "style" for name in attributes), (address, tag, attributes)
            for name in ("href", "src"):
                assert not attributes.get(name, "").lower().lstrip().startswith(("javascript", "data", "vbscript"))
            if tag == "script":
                ours = ("_assets/app/app.js", "_assets/theme.js")
                assert attributes.get("src", "").endswith(ours) or attributes["id"] == "oma-page"


def test_diagrams_beside_pages_are_inert_too(builder: PageBuilder) -> None:
    renderer = NodeHtml(builder)
    count = 0
    for address in builder.atlas.drawings.levels:
        drawn = renderer.drawing(address)
        assert drawn is not None
        script, picture = (part.decode() for part in drawn)
        called = re.fullmatch(r"omaDiagram\((.*)\);\n", script)
        assert called is not None
        assert "<" not in script
        level, inline = json.loads(f"[{called[1]}]")
        assert level == address
        for tree in (ElementTree.fromstring(inline.replace(" data-opens>", ">")), ElementTree.fromstring(picture)):
            for element in tree.iter():
                assert element.tag.rpartition("}")[2] not in ("script", "foreignObject", "image", "use")
                assert not any(name.startswith("on") or name == "style" for name in element.attrib)
        count += 1
    assert count


def test_what_was_written_is_all_there(pages: dict[str, str]) -> None:
    text = html.unescape(re.sub("<[^>]*>", "", pages["layers/one/step"]))
    for wanted in (MARKUP, LONG, visible(BACKWARDS)):
        assert wanted in text
    assert "49" not in re.findall(r"\{\{ ?(\d+) ?\}\}", text), "templates in texts are not run"


def test_five_thousand_lines_are_whole(builder: PageBuilder, pages: dict[str, str]) -> None:
    parser = _Elements()
    parser.feed(pages["layers/one/step"])
    lines = builder.atlas.lines_of(next(iter(builder.document.files)))
    assert len(parser.lines) == LINES - 2
    assert [line.rstrip("\n") for line in parser.lines] == [visible(line) for line in lines[2:LINES]]


def test_no_page_steers_a_terminal_or_turns_a_line_around(builder: PageBuilder, pages: dict[str, str]) -> None:
    for node in builder.atlas:
        page = builder.page(node)
        assert not _PRINTABLE.search(pages[node.address])
        assert not _PRINTABLE.search(render_markdown(page))
        out = io.StringIO()
        Console(file=out, width=120, color_system=None).print(render(page))
        assert "\x07" not in out.getvalue()


def test_the_data_of_a_page_cannot_end_its_element(pages: dict[str, str]) -> None:
    for text in pages.values():
        block = re.search(r'<script type="application/json" id="oma-page">(.*?)</script>', text, re.DOTALL)
        assert block is not None
        assert not set(block[1]) & set("<>&")
        data = json.loads(block[1])
        assert data["model_title"] == MARKUP
        assert "markdown" in data


def test_search_entries_are_data(builder: PageBuilder) -> None:
    script = search_script(builder).decode()
    assert not {"<", "\u2028", "\u2029"} & set(script)
    entries = msgspec.json.decode(script[len("omaSearch(") : -len(");\n")], type=dict[str, Any])["entries"]
    assert any(MARKUP in entry[1] for entry in entries)
    assert all(entry[4].startswith("hostile/") for entry in entries)
