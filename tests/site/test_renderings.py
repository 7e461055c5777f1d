"""HTML, Markdown and terminal: complete, escaped, linked."""

from __future__ import annotations

import io
import re
from html.parser import HTMLParser
from typing import Any

import msgspec
import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console

from openmodelatlas.site.assets import stylesheet
from openmodelatlas.site.fields import Page
from openmodelatlas.site.highlight import Highlighter
from openmodelatlas.site.markdown import block, code, plain, render_markdown
from openmodelatlas.site.node_html import NodeHtml
from openmodelatlas.site.page import PageBuilder, build_page
from openmodelatlas.site.terminal import render

_VOID = {"meta", "link", "br", "wbr", "img"}


class _Checker(HTMLParser):
    """Collects text and attributes, and refuses tags that do not nest."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str, str | None]] = []
        self.text = ""
        self.scripts: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "script":
            found = dict(attrs)
            ours = (found.get("src") or "").endswith(("_assets/app/app.js", "_assets/theme.js"))
            self.scripts.add("app" if ours else found.get("type") or "unknown")
        self.tags.add(tag)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def _parsed(html: str) -> _Checker:
    checker = _Checker()
    checker.feed(html)
    assert checker.open == []
    return checker


def _html(atlas: Any, page: Page) -> str:
    return NodeHtml(PageBuilder(atlas)).page(page)


def test_pages_are_well_formed_without_scripts_or_inline_styles(samples: list[Any]) -> None:
    for atlas in samples:
        builder = PageBuilder(atlas)
        renderer = NodeHtml(builder)
        for node in atlas:
            parsed = _parsed(renderer.page(builder.page(node)))
            assert parsed.scripts <= {"app", "application/json"}
            names = {name for _, name, _ in parsed.attributes}
            assert "style" not in names
            assert not any(name.startswith("on") for name in names)
            identifiers = [value for _, name, value in parsed.attributes if name == "id"]
            assert len(identifiers) == len(set(identifiers))


def test_the_fields_of_the_branch_page(samples: list[Any]) -> None:
    page = build_page(samples[1], "layers/first/add-attention-update")
    text = " ".join(_parsed(_html(samples[1], page)).text.split())
    for expected in (
        "93 layers First layer",
        "no parameters running + update · 48–51",
        "in running [B batch, T positions, 7168 d] bfloat16",
        "false layers 1, 13, 25, 37, 49, 61, 73, 85",
        "RunningSumBlock.forward · modeling_running_sum.py 24–55",
        "Direct evidence",
        "runningsumblock-forward · example/Sample / modeling_running_sum.py",
        "Pinned revision 0123456789ab ↗ · lines 24–55",
        "Read code excerpt",
        "Contextual evidence from First layer",
        "… lines 29–34 omitted …",
        "Greyed lines 44–46: no layer reached this: kept out by output_scores (line 43).",
        "This atlas shows example/Sample at 0123456789ab (transformers)",
        "example/Sample-Original@fedcba987654 was passed over",
        "<script>alert(1)</script>",
    ):
        assert expected in text


@pytest.fixture
def hostile(samples: list[Any]) -> Page:
    """A page on which every text is an attack."""
    page = build_page(samples[0], "layers/moe/self-attn/softmax")
    attack = '"><script>alert(1)</script>{{ 7*7 }}[x](javascript:1)`</code>'
    encoded = msgspec.to_builtins(page)

    def spoil(value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: spoil(item, key) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [spoil(item, name) for item in value]
        kept = {
            "model",
            "address",
            "kind",
            "source",
            "others_are",
            "tensor",
            "producer",
            "consumers",
            "owner",
            "readers",
        }
        kept |= {"file", "level", "id"}
        if name == "url":
            return "javascript:alert(1)"
        return attack if isinstance(value, str) and name not in kept else value

    return msgspec.convert(spoil(encoded), Page)


def test_every_datum_is_escaped(samples: list[Any], hostile: Page) -> None:
    html = _html(samples[0], hostile)
    parsed = _parsed(html)
    assert parsed.scripts <= {"app", "application/json"}
    assert "{{ 7*7 }}" in html
    assert not [value for _, name, value in parsed.attributes if name == "href" and str(value).startswith("javascript")]
    assert '"><script>' in parsed.text


def test_markdown_has_no_html_and_no_foreign_links(hostile: Page) -> None:
    def flat(tokens: list[Token]) -> list[Token]:
        return [item for token in tokens for item in (token, *flat(token.children or []))]

    tokens = flat(MarkdownIt("commonmark").enable("table").parse(render_markdown(hostile)))
    assert not [token.content for token in tokens if token.type.startswith("html")]
    links = [str(token.attrs["href"]) for token in tokens if token.type == "link_open"]
    assert len(links) >= 5
    assert all(link.startswith("../") for link in links)


@pytest.mark.parametrize("text", ["a", "`", "``x`", "a`b", "`a`b``", "|"])
def test_inline_code_survives_ticks(text: str) -> None:
    coded = code(text)
    fence = re.match("`+", coded)
    assert fence is not None
    inner = coded[len(fence[0]) : -len(fence[0])]
    assert inner.strip() == text.strip() or inner == text
    assert fence[0] not in re.findall("`+", inner)


def test_blocks_survive_fences() -> None:
    assert block("```\nx\n```").startswith("````\n")
    assert plain("a_b `c_d` <e>") == "a\\_b `c_d` \\<e\\>"


def test_own_characters_are_marked() -> None:
    text = "def f(x):\n    y = g(\n        x + 1\n    )\n    return y"
    html = Highlighter().html(text, 10, own=(11, 13), columns=(8, 5))
    marked = "".join(re.findall(r"<mark>(.*?)</mark>", html))
    assert re.sub(r"<[^>]+>", "", marked) == "g(x + 1)"
    assert html.count('class="own"') == 3
    assert html.startswith('<ol class="code" start="10" tabindex="0"><li id="L10">')


@pytest.mark.parametrize("text", ["", "\n", "x = '''a\nb'''\n", "a\f\n\tb", "def broken(:\n  ¬ €", "\n\nx", "x\n\n"])
def test_highlighting_keeps_every_character(text: str) -> None:
    lines = Highlighter().lines(text)
    assert "\n".join("".join(part for _, part in line) for line in lines) == text


def test_the_terminal_shows_the_page_and_reads_no_markup(samples: list[Any]) -> None:
    def shown(atlas: Any, address: str) -> str:
        out = io.StringIO()
        Console(file=out, width=160).print(render(build_page(atlas, address)))
        return out.getvalue()

    text = shown(samples[1], "layers/first/add-attention-update")
    for expected in (
        "Running sum <&> › 93 layers › First layer",
        "[B batch, T positions, 7168 d]",
        "no layer reached lines 44–46: kept out by output_scores (line 43)",
        "lines 24–55",
        "was passed over",
    ):
        assert expected in text
    for atlas in samples:
        for node in atlas:
            assert node.title in shown(atlas, node.address)


def test_long_code_is_cut_around_the_own_lines(samples: list[Any]) -> None:
    page = build_page(samples[0], "layers/dense/self-attn/softmax")
    assert page.code is not None
    text = "\n".join(f"line_{number} = 0" for number in range(1, 501))
    long = msgspec.structs.replace(
        page.code,
        lines=(1, 500),
        own_lines=(300, 300),
        text=text,
    )
    out = io.StringIO()
    Console(file=out, width=120).print(render(msgspec.structs.replace(page, code=long)))
    assert "line_300" in out.getvalue()
    assert "line_1 " not in out.getvalue()
    assert "here 260–339; --md shows all" in out.getvalue()


def test_the_style_sheet_loads_nothing_from_elsewhere() -> None:
    css = stylesheet().decode()
    assert "url(" not in css
    assert "@import" not in css
    for wanted in ("prefers-color-scheme: dark", "@media print", "max-width: 44rem"):
        assert wanted in css
