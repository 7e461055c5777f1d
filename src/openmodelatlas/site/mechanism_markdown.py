"""Pages of mechanisms as Markdown; links lead to the Markdown twins of other pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from openmodelatlas.site.fields.mechanisms import (
    MechanismList,
    MechanismPage,
    MechanismPaper,
    MechanismPlace,
    MechanismSymbol,
)
from openmodelatlas.site.markdown import code, formula_block, math, plain, table, web_link
from openmodelatlas.site.paths import mechanism_folder, page_folder, relative_link
from openmodelatlas.site.visible import visible


def render_list(page: MechanismList) -> str:
    """The list of mechanisms."""
    return _joined(_list(page))


def render_mechanism(page: MechanismPage) -> str:
    """The page of one mechanism."""
    return _joined(_mechanism(page))


def _joined(parts: Iterator[str]) -> str:
    return visible("\n\n".join(part for part in parts if part) + "\n")


def _link(here: PurePosixPath, there: PurePosixPath, label: str) -> str:
    return f"[{plain(label)}]({relative_link(here, there).removesuffix('.html')}.md)"


def _list(page: MechanismList) -> Iterator[str]:
    here = mechanism_folder(page.model)
    if page.model is not None:
        yield _link(here, page_folder(page.model, ""), page.model_title or page.model)
    yield "# Mechanisms"
    subject = f"{plain(page.model_title or page.model)} is" if page.model is not None else "the models are"
    yield (
        f"What {subject} made of. Each was recognised by its structure, and its formula was evaluated on the values "
        "that the model’s own code gave."
    )
    families = dict.fromkeys(row.family for row in page.mechanisms)
    for family in families:
        yield f"## {family or 'others'}"
        lines = []
        for row in page.mechanisms:
            if row.family != family:
                continue
            link = _link(here, mechanism_folder(page.model, row.id), row.title)
            counted = "; ".join(
                f"{_link(here, mechanism_folder(item.model, row.id), item.title)}: {_places(item.places)}"
                if page.model is None
                else _places(item.places)
                for item in row.models
            )
            sentence = f": {plain(row.sentence)}" if row.sentence else ""
            lines.append(f"- {link}{sentence}" + (f" ({counted})" if counted else ""))
        yield "\n".join(lines)


def _places(count: int) -> str:
    return f"{count} place{'s' if count != 1 else ''}"


def _mechanism(page: MechanismPage) -> Iterator[str]:
    here = mechanism_folder(page.model, page.id)
    trail = [] if page.model is None else [_link(here, page_folder(page.model, ""), page.model_title or page.model)]
    yield " › ".join([*trail, _link(here, mechanism_folder(page.model), "Mechanisms")])
    yield f"# {plain(page.title)}"
    yield page.family or ""
    yield plain(page.sentence or "")
    if page.formula is not None:
        yield formula_block(page.formula)
        yield "\n".join(f"- {_symbol(symbol)}" for symbol in page.symbols)
    for section in page.sections:
        yield f"## {plain(section.title)}"
        yield "\n".join(f"- {plain(note)}" for note in section.notes)
    if page.papers:
        yield "## Papers"
        yield "\n".join(f"- {_paper(paper)}" for paper in page.papers)
    for model in page.models:
        yield f"## In {plain(model.title)} ({len(model.places):,})"
        rows = [_row(here, model.model, place) for place in model.places]
        yield table(("place", "within", "formula", "on the probe"), rows)
    if page.model is not None:
        yield _link(here, mechanism_folder(None, page.id), f"{page.title} in all models")


def _symbol(symbol: MechanismSymbol) -> str:
    shape = f" {code('[' + ', '.join(map(str, symbol.shape)) + ']')}" if symbol.shape else ""
    return f"{math(symbol.latex)}: {plain(symbol.meaning)}{shape}"


def _row(here: PurePosixPath, model: str, place: MechanismPlace) -> tuple[str, ...]:
    return (
        _link(here, page_folder(model, place.address), place.title),
        plain(" › ".join(place.trail)),
        math(place.formula) if place.formula is not None else "",
        plain(place.check.text) if place.check is not None else "",
    )


def _paper(paper: MechanismPaper) -> str:
    said = plain(f"{paper.authors}, {paper.year}: {paper.title}")
    if paper.arxiv is not None:
        return f"{said}, {web_link(f'arXiv {paper.arxiv}', f'https://arxiv.org/abs/{paper.arxiv}')}"
    return f"{said}, {web_link(paper.url, paper.url)}" if paper.url is not None else said
