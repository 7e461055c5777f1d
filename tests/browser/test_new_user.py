"""What somebody who has never seen the site looks for, from the library alone, by what is written on it.

The clicks are those that a first reader needed; each question is answered within a handful of them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.browser.reader import PAUSE, wait_for

pytestmark = [pytest.mark.browser, pytest.mark.slow]

HANDFUL = 6
PATIENCE = 120
"""Seconds after which a reader would give up."""


class NewUser:
    """Somebody who clicks on what they can read, and counts the clicks; a double click is two."""

    def __init__(self, page: Any) -> None:
        self.page = page
        self.clicks = 0
        self.began = time.monotonic()

    def card(self, model: str, link: str) -> None:
        """Clicks a link on a model's card in the library."""
        card = self.page.locator(".models .card").filter(has=self.page.get_by_role("link", name=model, exact=True))
        card.get_by_role("link", name=link, exact=True).click()
        self.clicks += 1
        self.page.locator("html.scripted").wait_for(timeout=PAUSE)

    def _box(self, name: str) -> Any:
        boxes = self.page.locator("figure.diagram g.node").filter(has=self.page.get_by_role("link"))
        return boxes.filter(has_text=re.compile(name)).locator("a").first

    def look_at(self, name: str, heading: str | None = None) -> None:
        """Clicks a box of the diagram, and reads its page."""
        self._box(name).click()
        self.clicks += 1
        wait_for(self.page, heading or name)

    def go_into(self, name: str) -> None:
        """Double-clicks a box of the diagram."""
        self._box(name).dblclick()
        self.clicks += 2
        self.page.get_by_text(f"Inside {name}", exact=True).wait_for(timeout=PAUSE)
        wait_for(self.page, name)

    def is_content(self) -> None:
        assert self.clicks <= HANDFUL, f"{self.clicks} clicks"
        assert time.monotonic() - self.began < PATIENCE


@pytest.fixture
def reader(kimi: str, opened: Callable[..., Any]) -> Iterator[NewUser]:
    page = opened(kimi, viewport={"width": 1440, "height": 900})
    page.locator("html.scripted").wait_for(timeout=PAUSE)
    reader = NewUser(page)
    yield reader
    reader.is_content()


def _own_lines(page: Any) -> str:
    """What is marked in the code as the page's own, which is in view within the window of the code."""
    own = page.locator("#panel ol.code .own")
    frame, line = page.locator("#panel ol.code").bounding_box(), own.first.bounding_box()
    assert frame["y"] <= line["y"] <= frame["y"] + frame["height"]
    return "\n".join(own.all_inner_texts())


def test_where_the_running_sum_is_stored_and_by_which_layers(reader: NewUser) -> None:
    reader.card("Kimi K3", "First layer")
    reader.look_at("Store the running sum")
    branches = reader.page.get_by_role("region", name="Branches").inner_text()
    assert re.search(r"true\s+layers 1, 13, 25, 37, 49, 61, 73, 85\s", branches)
    assert "torch.cat(" in _own_lines(reader.page)


def test_the_shape_of_the_query_after_the_heads_are_split(reader: NewUser) -> None:
    reader.card("Kimi K2", "60 MoE blocks")
    reader.go_into("Latent attention")
    edge = reader.page.locator("figure.diagram g.edge").filter(has_text="q_states").first
    assert "[B, h, T, dnope + drope]" in edge.text_content()
    edge.locator(".plumbing-sign.closed").click()
    reader.clicks += 1
    reader.look_at("transpose", "Move heads before positions of the queries")
    outputs = reader.page.get_by_role("region", name="Inputs and outputs").locator(".port").filter(has_text="out")
    assert outputs.locator(".shape").inner_text() == "[B batch, 64 h, T positions, 192 (d_nope + d_rope)]"


def test_the_lines_that_choose_the_experts(reader: NewUser) -> None:
    reader.card("Kimi K2", "60 MoE blocks")
    reader.go_into("Mixture of experts")
    reader.go_into("Router")
    reader.look_at("of 384 experts", "Keep the best 8 of 384 experts")
    assert "torch.topk(scores_for_choice, k=self.top_k" in _own_lines(reader.page)


def test_what_differs_between_layers_12_13_and_16(reader: NewUser) -> None:
    reader.card("Kimi K3", "Kimi K3")
    wait_for(reader.page, "Kimi K3")
    kinds = reader.page.get_by_role("region", name="Kinds of layers")
    assert kinds.locator("dt").count() == 4
    seven = kinds.locator("dd").last.inner_text()
    assert "layers 13, 25, 37, 49, 61, 73, 85" in seven
    assert "self.starts_group is true" in seven
    cells = reader.page.locator("#level .strip a.cell")
    cells.nth(11).click()
    reader.clicks += 1
    wait_for(reader.page, "24 gated latent attention layers")
    told = {}
    for layer in (13, 16):
        cells.nth(layer - 1).hover()
        told[layer] = reader.page.locator(".strip-note").inner_text()
    assert told[13].startswith("Layer 13: 7 delta attention layers; ")
    assert "self.starts_group is true, here false" in told[13]
    assert "self.is_linear is true, here false" in told[13]
    assert told[16] == "Layer 16: 24 gated latent attention layers; as here"
