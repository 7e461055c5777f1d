"""Every piece of LaTeX that the pages of an atlas set."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from openmodelatlas.annotation.knowledge import Knowledge, NodeKnowledge
from openmodelatlas.annotation.markup import split, without_marks
from openmodelatlas.annotation.material import Draft
from openmodelatlas.catalogue.load import fill_formula, load, usual_formula
from openmodelatlas.drawing.breaking import rows_of
from openmodelatlas.errors import CatalogueError


def every_latex(knowledge: Knowledge) -> Iterator[str]:
    """Formulas, terms, symbols, and what stands between dollar signs in sentences; also those of the mechanisms."""
    yield from latex_of_nodes(knowledge.nodes.values())
    for note in knowledge.notes:
        yield from in_text(note)
    names = {
        name for known in knowledge.nodes.values() for name in (known.mechanism, *known.mechanisms) if name is not None
    }
    names |= {difference.mechanism for known in knowledge.nodes.values() for difference in known.differences}
    yield from latex_of_mechanisms(names)


def latex_of_nodes(nodes: Iterable[NodeKnowledge | Draft]) -> Iterator[str]:
    """The same of some nodes, which may be drafts still."""
    for known in nodes:
        yield from _of_node(known)


def _of_node(known: NodeKnowledge | Draft) -> Iterator[str]:
    for formula in known.formulas:
        yield from displayed(formula.latex)
        yield without_marks(formula.latex)
        yield from in_text(formula.check.detail)
        for term in formula.terms:
            yield term.latex
            yield from in_text(term.meaning)
    yield from known.symbols.values()
    texts = [known.title, known.label, known.sentence]
    texts += [statement.text for statement in known.explanation]
    texts += [claim.text for claim in known.claims]
    texts += [difference.text for difference in known.differences]
    for text in texts:
        if text is not None:
            yield from in_text(text)


def latex_of_mechanisms(names: Iterable[str] | None = None) -> Iterator[str]:
    """What the pages of mechanisms set; by default of all in the catalogue."""
    try:
        entries = load().mechanisms
    except CatalogueError:  # what cannot be read of it is told by who shows it
        return
    for name in sorted(entries if names is None else names):
        entry = entries.get(name)
        if entry is None:
            continue
        symbols = entry.front.symbols
        yield fill_formula(usual_formula(entry), lambda key: f"{{{symbols[key].latex}}}")  # noqa: B023
        for symbol in symbols.values():
            yield symbol.latex
            yield from in_text(symbol.meaning)
        texts = [entry.front.sentence, entry.front.example.text]
        texts += [note.text for note in (*entry.why, *entry.porting, *entry.scope)]
        for text in texts:
            yield from in_text(text)


def displayed(latex: str) -> Iterator[str]:
    """What is set of a formula that stands by itself."""
    for row in rows_of(latex):
        for cell in row:
            yield from cell


def in_text(text: str) -> Iterator[str]:
    """What stands between dollar signs, outside of code between backticks."""
    if "$" not in text:
        return
    for kind, content in split(text):
        if kind == "latex":
            yield content
