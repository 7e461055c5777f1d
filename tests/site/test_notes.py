"""Notes on inputs and outputs: at the row if they are of one, once below if they are of several."""

from __future__ import annotations

import io
from typing import Any

import msgspec
import pytest
from rich.console import Console

from openmodelatlas.site.fields import Page
from openmodelatlas.site.markdown import render_markdown
from openmodelatlas.site.node_html import NodeHtml
from openmodelatlas.site.notes import shared_notes
from openmodelatlas.site.page import PageBuilder
from openmodelatlas.site.terminal import render

ADDITION = "layers/first/add-attention-update"


@pytest.fixture
def builder(samples: list[Any]) -> PageBuilder:
    return PageBuilder(samples[1])


def _page(builder: PageBuilder, *notes: str | None) -> Page:
    """A page with two inputs and one output, which have these notes."""
    page = builder.page(builder.atlas[ADDITION])
    first, second = (msgspec.structs.replace(port, note=note) for port, note in zip(page.inputs, notes, strict=False))
    output = msgspec.structs.replace(page.outputs[0], note=notes[2])
    return msgspec.structs.replace(page, inputs=(first, second), outputs=(output,))


def _renderings(builder: PageBuilder, page: Page) -> list[str]:
    stream = io.StringIO()
    Console(file=stream, width=200).print(render(page))
    return [NodeHtml(builder).page(page), render_markdown(page), stream.getvalue()]


def test_a_note_of_several_is_said_once_with_their_names(builder: PageBuilder) -> None:
    page = _page(builder, "told why", "told why", None)

    assert [(item.of, item.text) for item in shared_notes(page)] == [("running and update", "told why")]
    for text in _renderings(builder, page):
        assert text.count("told why") == 1

    assert [item.of for item in shared_notes(_page(builder, "a", "a", "a"))] == ["all of these"]
    assert [item.of for item in shared_notes(_page(builder, "a", None, "a"))] == ["running (2)"]


def test_a_note_of_one_stands_at_its_row(builder: PageBuilder) -> None:
    page = _page(builder, "told why", None, None)

    assert shared_notes(page) == ()
    *_, terminal = _renderings(builder, page)
    lines = [line.strip() for line in terminal.splitlines()]
    row = next(number for number, line in enumerate(lines) if line.startswith("in ") and page.inputs[0].name in line)
    assert lines[row + 1] == "told why"


def test_lists_of_layers_say_whether_the_page_is_in_one(samples: list[Any]) -> None:
    builder = PageBuilder(samples[0])
    for address, heading in (("", "Kinds of layers"), ("layers/moe", "In other layers")):
        page = builder.page(builder.atlas[address])
        assert len(page.same_place) > 1
        for text in _renderings(builder, page):
            assert heading in text
            assert ({"Kinds of layers", "In other layers"} - {heading}).pop() not in text
