"""Diagrams as SVG: well-formed, inert whatever the names are, with what the site's scripts look for."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import openmodelatlas
from openmodelatlas.annotation.knowledge import Knowledge, NodeKnowledge
from openmodelatlas.drawing.check import faults
from openmodelatlas.drawing.draw import draw_levels
from openmodelatlas.drawing.drawing import Drawing
from openmodelatlas.drawing.style import STYLE
from openmodelatlas.drawing.svg import svg
from tests.drawing.sample import decoder, knowledge

ASSETS = Path(openmodelatlas.__file__).parent / "site" / "assets"

HOSTILE = (
    "<script>alert(1)</script>",
    '" onload="alert(1)',
    "\u202eevil\u2066",
    "]]></text><svg/onload=alert(1)>",
    "W" * 5000,
    "\x00\x1b[31m",
    "名前" * 40,
    "`unfinished $x_",
)


@pytest.fixture(scope="module")
def block() -> Drawing:
    return draw_levels(decoder(), knowledge())["block"]


def parsed(text: str) -> ElementTree.Element:
    return ElementTree.fromstring(text.replace("data-opens>", 'data-opens="">'))


def test_it_is_well_formed_and_has_no_styles_or_scripts(block: Drawing) -> None:
    text = svg(block, href=lambda address: f"/{address}", inline=True)
    root = parsed(text)

    assert "style" not in {name for element in root.iter() for name in element.attrib}
    assert not re.search(r"<(script|style|foreignObject)\b|\son\w+=", text)


def test_every_box_and_line_has_what_the_scripts_look_for(block: Drawing) -> None:
    root = parsed(svg(block, href=lambda address: f"/{address}", inline=True))
    groups = [element for element in root.iter("g") if element.get("class", "").split()[:1] in (["node"], ["edge"])]
    shown = [group.get("data-address") for group in groups if "node" in group.get("class", "").split()]
    edges = [group for group in groups if "edge" in group.get("class", "").split()]

    assert {node.address for node in block.nodes} <= set(shown)
    assert [(edge.get("data-tensor")) for edge in edges] == [edge.tensor for edge in block.edges]
    assert all(edge.get("data-source") in shown and edge.get("data-target") in shown for edge in edges)
    assert root.get("role") == "img"
    assert root.find("title") is not None


def test_plumbing_can_be_opened(block: Drawing) -> None:
    root = parsed(svg(block, href=None, inline=True))
    stretches = [group.get("data-plumbing") for group in root.iter("g") if group.get("data-plumbing")]
    opened = [group.get("data-opened") for group in root.iter("g") if group.get("class") == "opened"]

    assert stretches == opened == ["block/norm/output block/attention"]


def test_boxes_link_to_their_pages(block: Drawing) -> None:
    root = parsed(svg(block, href=lambda address: f"p/{address}", inline=True))
    links = {link.get("href") for link in root.iter("a")}

    assert {"p/block/norm", "p/block/add", "p/embed", "p/block/view"} <= links


def test_axes_say_what_they_are(block: Drawing) -> None:
    root = parsed(svg(block, href=None, inline=True))
    axes = {
        (axis.get("data-expression"), axis.get("data-symbol"), axis.get("data-value"), "".join(axis.itertext()))
        for axis in root.iter("tspan")
        if axis.get("class", "").startswith("dim")
    }

    assert ("hidden_size", "d", "7168", "d") in axes
    assert ("head_dim", "d_h", "112", "dh") in axes
    assert ("B", "B", None, "B") in axes


def test_a_file_of_its_own_has_its_style_sheet_for_light_and_dark(block: Drawing) -> None:
    text = svg(block, href=None, inline=False, title="Block")

    ElementTree.fromstring(text)
    assert 'xmlns="http://www.w3.org/2000/svg"' in text
    assert "prefers-color-scheme:dark" in text
    assert "<a " not in text


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_are_inert_and_fit(name: str) -> None:
    document = decoder()
    nodes = {
        address: msgspec.structs.replace(
            node,
            title=name,
            label=name,
            inputs=tuple(msgspec.structs.replace(port, name=name) for port in node.inputs),
            outputs=tuple(msgspec.structs.replace(port, name=name) for port in node.outputs),
        )
        for address, node in document.nodes.items()
    }
    hostile = msgspec.structs.replace(document, nodes=nodes)
    known = Knowledge(nodes={"block/attention": NodeKnowledge(title=name, symbols={"block/attention/output": name})})
    for drawing in draw_levels(hostile, known).values():
        assert faults(drawing) == []
        text = svg(drawing, href=lambda address: f"/{address}", inline=False, title=name)
        root = ElementTree.fromstring(text)
        assert {element.tag.rpartition("}")[2] for element in root.iter()} <= {
            "svg", "title", "style", "rect", "defs", "marker", "path", "g", "a", "text", "tspan", "circle",
        }  # fmt: skip
        assert not any(attribute.startswith("on") for element in root.iter() for attribute in element.attrib)
        assert not set("\u202e\u2066\x1b\x00") & set(text)


@settings(max_examples=20)
@given(st.text(max_size=60))
def test_any_title_gives_xml(title: str) -> None:
    known = Knowledge(nodes={"block/attention": NodeKnowledge(title=title)})
    drawing = draw_levels(decoder(), known)["block"]

    ElementTree.fromstring(svg(drawing, href=None, inline=False, title=title))
    assert faults(drawing) == []


def test_texts_beside_lines_stand_on_paper_and_have_no_outline(block: Drawing) -> None:
    root = parsed(svg(block, href=None, inline=False))
    edges = [group for group in root.iter() if "edge" in group.get("class", "").split()]
    texts = 0
    for edge in edges:
        for group in edge.iter():
            children = list(group)
            for place, child in enumerate(children):
                if child.tag.endswith("text"):
                    texts += 1
                    assert place
                    assert children[place - 1].get("class") == "ground"
                    assert float(children[place - 1].get("width", "0")) >= float(child.get("data-fit", "0"))

    assert texts
    assert "paint-order" not in STYLE + (ASSETS / "atlas.css").read_text(encoding="utf-8")
