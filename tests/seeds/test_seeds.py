"""The pages that specify the atlas, reproduced by the general machinery, field by field."""

from __future__ import annotations

import pytest

from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.site.page import build_page
from tests.seeds.building import MISSING, PLACES, build_atlases, compared
from tests.seeds.compare import Row, words
from tests.seeds.report import FILE, table
from tests.seeds.seed import FOLDER


@pytest.fixture(scope="module")
def atlases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Atlas]:
    if not FOLDER.is_dir():
        pytest.skip(MISSING)
    return build_atlases(tmp_path_factory.mktemp("seeds"))


@pytest.fixture(scope="module", params=sorted(PLACES))
def found(request: pytest.FixtureRequest, atlases: dict[str, Atlas]) -> list[Row]:
    return compared(atlases[request.param])


@pytest.mark.slow
def test_every_field_is_the_seeds_own_or_means_the_same(found: list[Row]) -> None:
    assert [row for row in found if row.verdict == "differs"] == []
    assert len([row for row in found if row.verdict == "same"]) > 15


@pytest.mark.slow
def test_only_sentences_may_be_worded_differently(found: list[Row]) -> None:
    free = {row.field for row in found if row.verdict != "same"}
    sentences = {
        field for field in free if field.startswith(("sentence", "explanation", "further")) or "claim" in field
    }
    assert free - sentences <= {"source 2: from"}


@pytest.mark.slow
def test_the_committed_report_is_this_comparison(atlases: dict[str, Atlas]) -> None:
    committed, today = FILE.read_text(encoding="utf-8"), table(atlases)
    assert _fixed(committed) == _fixed(today), "write it anew: python -m tests.seeds.report"


def _fixed(text: str) -> list[list[str]]:
    """The cells of the report, without the sentences of ours that may be reworded as long as they mean the same."""
    rows = [row.split(" | ") for row in text.splitlines()]
    return [[*row[:2], *row[3:]] if len(row) == 4 and not row[3].startswith("same |") else row for row in rows]


@pytest.mark.slow
def test_terms_lead_to_what_they_stand_for(atlases: dict[str, Atlas]) -> None:
    atlas = atlases["kimi-k3"]
    page = build_page(atlas, PLACES["kimi-k3"][1])
    places = {term.latex: [place.label for place in term.places] for term in page.formulas[0].terms}
    assert "Add attention update" in places["s'_n"]
    assert "Store the running sum" in places[r"\bar{s}_n"]
    assert "Attention update" in places[r"\Delta_{\mathrm{attn}}"]
    assert page.formulas[0].check.verdict == "checked"


def test_a_sentence_that_says_something_else_is_told_apart() -> None:
    assert words("the blocks use the dense MLP, the rest MoE") == words(
        "The blocks use the gated feed-forward network, the rest the mixture of experts."
    )
    assert words("adds the attention output") - words("adds the feed-forward output") == {"attention"}
    assert words("so here $a=b$") - words("so here $a=c$") == {"a=b"}
