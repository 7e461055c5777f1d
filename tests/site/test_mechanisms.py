"""Pages of mechanisms: where each is, in three forms that say the same."""

from __future__ import annotations

import json
import re
from typing import Any

import jsonschema
import msgspec
import pytest

from openmodelatlas.annotation.knowledge import NodeKnowledge
from openmodelatlas.annotation.markup import split
from openmodelatlas.catalogue.entry import Note
from openmodelatlas.catalogue.load import load
from openmodelatlas.site import mechanism_builder
from openmodelatlas.site.fields.mechanisms import MechanismList, MechanismPage
from openmodelatlas.site.mechanism_builder import MechanismBuilder
from openmodelatlas.site.mechanism_markdown import render_mechanism
from openmodelatlas.site.mechanism_pages import FORMS, MechanismPages
from openmodelatlas.site.page import PageBuilder
from openmodelatlas.site.schema import mechanism_schema, mechanisms_schema
from tests.site.known import ADD

NAME = "residual-addition"


@pytest.fixture(scope="module")
def pages(samples: list[Any]) -> dict[str, str]:
    return {str(path): text for path, text in MechanismPages([PageBuilder(atlas) for atlas in samples]).files()}


def test_mechanisms_have_pages_of_their_own(pages: dict[str, str]) -> None:
    folders = [
        "mechanisms",
        f"mechanisms/{NAME}",
        "mechanisms/layer-norm",
        "known-sum/mechanisms",
        f"known-sum/mechanisms/{NAME}",
    ]
    assert set(pages) == {f"{folder}/index.{form}" for folder in folders for form in FORMS}
    one = pages[f"mechanisms/{NAME}/index.html"]
    assert f'href="../../known-sum/{ADD}/index.html"' in one
    assert "checked: largest relative error 3e-16" in one
    assert "When porting" in one


def test_the_three_forms_say_the_same(pages: dict[str, str]) -> None:
    for path in (f"mechanisms/{NAME}", f"known-sum/mechanisms/{NAME}", "mechanisms/layer-norm"):
        page = msgspec.json.decode(pages[f"{path}/index.json"], type=MechanismPage)
        html, markdown = pages[f"{path}/index.html"], pages[f"{path}/index.md"]
        notes = [note for section in page.sections for note in section.notes]
        places = [place for model in page.models for place in model.places]
        assert page.sentence
        assert notes
        assert page.papers
        said = [page.title, page.sentence, *(paper.title for paper in page.papers), *(place.title for place in places)]
        for text in said:
            assert text in html
            assert text in markdown
        for note in notes:
            for kind, content in split(note):
                if kind == "text" and content.isascii() and re.fullmatch(r"[\w ,.]+", content):
                    assert content in html
                    assert content in markdown
        for place in places:
            assert f"{place.address}/index.html" in html
            assert f"{place.address}/index.md" in markdown
            assert (place.check is None) == (place.formula is None)


def test_the_list_counts_places(pages: dict[str, str]) -> None:
    every = msgspec.json.decode(pages["mechanisms/index.json"], type=MechanismList)
    assert [(row.id, [(item.model, item.places) for item in row.models]) for row in every.mechanisms] == [
        ("layer-norm", []),
        (NAME, [("known-sum", 1)]),
    ]
    assert "[Known sum](../known-sum/mechanisms/residual-addition/index.md): 1 place" in pages["mechanisms/index.md"]
    own = pages["known-sum/mechanisms/index.md"]
    assert own.startswith("[Known sum](../index.md)")
    assert "(1 place)" in own
    assert "layer-norm" not in own


def test_the_schemas_are_kept(pages: dict[str, str]) -> None:
    for path, text in pages.items():
        if path.endswith(".json"):
            schema = mechanisms_schema() if path.endswith("mechanisms/index.json") else mechanism_schema()
            jsonschema.Draft202012Validator(schema).validate(json.loads(text))


def _with(builder: PageBuilder, name: str) -> PageBuilder:
    """The builder as if the model were this mechanism."""
    builder.knowledge = msgspec.structs.replace(builder.knowledge, nodes={"": NodeKnowledge(mechanism=name)})
    return builder


def test_every_entry_of_the_catalogue_has_a_page(samples: list[Any]) -> None:
    for name, entry in load().mechanisms.items():
        builder = MechanismBuilder([_with(PageBuilder(samples[0]), name)])
        page = builder.page(name, "sample")
        assert (page.id, page.title, page.family) == (name, entry.front.title, entry.front.family)
        assert len(page.symbols) == sum(symbol.latex != "" for symbol in entry.front.symbols.values())
        assert len(page.papers) == len(entry.front.papers)
        assert [place.address for place in page.models[0].places] == [""]
        text = render_mechanism(page)
        assert text.startswith("[Sample](../../index.md) › [Mechanisms](../index.md)\n\n# ")
        assert "[Sample](../../index.md) |" in text
        for heading in ("Papers", *(section.title for section in page.sections)):
            assert f"\n## {heading}\n" in text
        assert text.count("$$") == text.count("\n$$\n") in (0, 2), "an empty formula"
        assert "None" not in re.sub(r"`[^`]*`", "", text)


def test_a_mechanism_that_left_the_catalogue_keeps_its_places(
    samples: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mechanism_builder, "_entries", dict)
    made = MechanismPages([PageBuilder(atlas) for atlas in samples])
    page = json.loads(made.text("json", NAME))
    assert (page["family"], page["sentence"], page["symbols"], page["sections"]) == (None, None, [], [])
    assert page["formula"] is not None
    for form in ("html", "md"):
        assert f"known-sum/{ADD}/index.{form}" in made.text(form, NAME)
    assert "others" in made.text("md", None)


def test_hostile_titles_are_inert(samples: list[Any]) -> None:
    builder = PageBuilder(samples[2])
    title = "](javascript:alert(1)) <script>alert(1)</script> | `$x"
    builder.document = msgspec.structs.replace(builder.document, title=title)
    pages = MechanismPages([builder])
    assert "<script>alert" not in pages.text("html", NAME)
    markdown = pages.text("md", NAME)
    assert "<script>" not in markdown.replace("\\<script", "")
    assert "](javascript" not in markdown.replace("\\](javascript", "")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{eps}, inside the root.", r"$\varepsilon$: inside the root."),
        ("{eps}.", ""),
        ("At least {eps}.", r"$\varepsilon$: At least $\varepsilon$."),
        (
            r"Divided by $\sqrt{g}$ and $e^{x}$, not by $d - {eps}$.",
            r"$\varepsilon$: Divided by $\sqrt{g}$ and $e^{x}$, not by $d - \varepsilon$.",
        ),
    ],
)
def test_a_note_has_symbols_in_place_of_values_and_says_none_twice(text: str, said: str) -> None:
    """``g`` and ``x`` are symbols of the entry, and arguments of LaTeX here."""
    entry = load().mechanisms["rms-norm"]
    assert mechanism_builder._note(entry, Note(text=text, symbols=("eps",))) == said
