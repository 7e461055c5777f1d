"""From atlases and the catalogue to the pages of mechanisms as data."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from openmodelatlas.annotation.knowledge import Formula, NodeKnowledge
from openmodelatlas.annotation.markup import split
from openmodelatlas.catalogue.entry import Mechanism, Note
from openmodelatlas.catalogue.load import fill_formula, load, usual_formula
from openmodelatlas.errors import CatalogueError
from openmodelatlas.graph.document import Node
from openmodelatlas.site.fields.mechanisms import (
    MechanismCount,
    MechanismList,
    MechanismModel,
    MechanismPage,
    MechanismPaper,
    MechanismPlace,
    MechanismRow,
    MechanismSection,
    MechanismSymbol,
)
from openmodelatlas.site.knowing import mechanism as named
from openmodelatlas.site.knowing import verdict
from openmodelatlas.site.latex import without_marks
from openmodelatlas.site.page import PageBuilder
from openmodelatlas.site.words import crumb_label, heading

_NAME = re.compile(r"\{([A-Za-z_]\w*)\}")
_SYMBOL = re.compile(r"<([A-Za-z_]\w*)>|(?<![\w}^\\\]])\{([A-Za-z_]\w*)\}")
"""In LaTeX; the braces of an argument, as of a root, are none of a value."""

_VALUE = re.compile(r"\{([A-Za-z_]\w*)\}(?:, |\.$)")


class MechanismBuilder:
    """Builds the pages of mechanisms of some atlases.

    Args:
        builders: of the atlases, in the order of the library.

    Attributes:
        names: identifiers of all mechanisms that have a page, by title.
        titles: display names of the models by identifier.
    """

    def __init__(self, builders: Sequence[PageBuilder]) -> None:
        self._builders = {builder.document.model: builder for builder in builders}
        self._places = {model: _places_of(builder) for model, builder in self._builders.items()}
        used = dict.fromkeys(name for places in self._places.values() for name in places)
        for builder in builders:  # pages say where the code is otherwise than a mechanism, and lead to it
            known = builder.knowledge.nodes.values()
            used.update(dict.fromkeys(item.mechanism for node in known for item in node.differences))
        self._entries = _entries()
        self.names = tuple(sorted(used, key=lambda name: named(name).title.lower()))
        self.titles = {model: builder.document.title for model, builder in self._builders.items()}

    def names_of(self, model: str | None) -> tuple[str, ...]:
        """Identifiers of the mechanisms of a model, or of all, by title."""
        if model is None:
            return self.names
        places = self._places.get(model, {})
        return tuple(name for name in self.names if name in places)

    def overview(self, model: str | None) -> MechanismList:
        """The list of mechanisms of a model, or of all."""
        rows = [self._row(name, model) for name in self.names_of(model)]
        families = dict.fromkeys(row.family for row in rows)
        return MechanismList(
            model=model,
            model_title=self.titles[model] if model is not None else None,
            mechanisms=tuple(row for family in families for row in rows if row.family == family),
        )

    def page(self, name: str, model: str | None) -> MechanismPage:
        """The page of a mechanism with its places in a model, or in all."""
        entry = self._entries.get(name)
        models = tuple(self._model(name, each) for each in self._having(name, model))
        return MechanismPage(
            id=name,
            title=named(name).title,
            model=model,
            model_title=self.titles[model] if model is not None else None,
            family=entry.front.family if entry is not None else None,
            sentence=entry.front.sentence if entry is not None else None,
            formula=self._formula(entry, models),
            symbols=_symbols(entry),
            sections=_sections(entry),
            papers=_papers(entry),
            models=models,
        )

    def _having(self, name: str, model: str | None) -> list[str]:
        """The models that have a mechanism, of one or of all."""
        return [each for each, places in self._places.items() if model in (None, each) and name in places]

    def _row(self, name: str, model: str | None) -> MechanismRow:
        entry = self._entries.get(name)
        counts = tuple(
            MechanismCount(model=each, title=self.titles[each], places=len(self._places[each][name]))
            for each in self._having(name, model)
        )
        return MechanismRow(
            id=name,
            title=named(name).title,
            family=entry.front.family if entry is not None else None,
            sentence=entry.front.sentence if entry is not None else None,
            models=counts,
        )

    def _model(self, name: str, model: str) -> MechanismModel:
        builder = self._builders[model]
        places = tuple(_place(builder, node, name) for node in self._places[model][name])
        return MechanismModel(model=model, title=builder.document.title, places=places)

    def _formula(self, entry: Mechanism | None, models: Sequence[MechanismModel]) -> str | None:
        """The mechanism's formula with its own symbols; if that was not set, as the first place has it."""
        own = fill_formula(usual_formula(entry), _symbol(entry)) if entry is not None else None
        if own is not None and any(own in builder.drawings.formulas for builder in self._builders.values()):
            return without_marks(own)
        places = (place for model in models for place in model.places)
        found = next((place.formula for place in places if place.formula is not None), own)
        return without_marks(found) if found is not None else None


def _entries() -> dict[str, Mechanism]:
    """The catalogue; what cannot be read of it is left out, since atlases name mechanisms without it too."""
    try:
        return dict(load().mechanisms)
    except CatalogueError:
        return {}


def _places_of(builder: PageBuilder) -> dict[str, list[Node]]:
    """The nodes that are each mechanism, in order of execution."""
    found: dict[str, list[Node]] = {}
    for node in builder.document.nodes.values():
        known = builder.known(node.address)
        for name in dict.fromkeys((known.mechanism, *known.mechanisms)):
            if name is not None:
                found.setdefault(name, []).append(node)
    return found


def _place(builder: PageBuilder, node: Node, name: str) -> MechanismPlace:
    labels = []
    around = node
    while around.parent:
        around = builder.document.nodes[around.parent]
        labels.append(crumb_label(around))
    formula = _formula_of(builder.known(node.address), name)
    return MechanismPlace(
        title=heading(node),
        address=node.address,
        trail=tuple(reversed(labels)),
        formula=without_marks(formula.latex) if formula is not None else None,
        check=verdict(formula.check) if formula is not None else None,
    )


def _formula_of(known: NodeKnowledge, name: str) -> Formula | None:
    """The formula of a mechanism on a node's page; where it was composed from operations, the node's own formula."""
    for formula in known.formulas:
        if formula.mechanism == name:
            return formula
    return known.formulas[0] if known.mechanism == name and known.formulas else None


def _symbol(entry: Mechanism) -> Callable[[str], str]:
    return lambda name: f"{{{entry.front.symbols[name].latex}}}"


def _symbols(entry: Mechanism | None) -> tuple[MechanismSymbol, ...]:
    """What stands in the formula; settings without a sign of their own (which of two orders the code has) do not."""
    if entry is None:
        return ()
    return tuple(
        MechanismSymbol(latex=symbol.latex, meaning=symbol.meaning, shape=symbol.shape)
        for symbol in entry.front.symbols.values()
        if symbol.latex
    )


def _papers(entry: Mechanism | None) -> tuple[MechanismPaper, ...]:
    if entry is None:
        return ()
    return tuple(
        MechanismPaper(authors=item.authors, year=item.year, title=item.title, arxiv=item.arxiv, url=item.url)
        for item in entry.front.papers
    )


def _sections(entry: Mechanism | None) -> tuple[MechanismSection, ...]:
    """The sections of an entry that say something, each with its notes."""
    if entry is None:
        return ()
    sections = (("Why", entry.why), ("When porting", entry.porting), ("Scope", entry.scope))
    said = ((title, tuple(text for note in notes if (text := _note(entry, note)))) for title, notes in sections)
    return tuple(MechanismSection(title=title, notes=notes) for title, notes in said if notes)


def _note(entry: Mechanism, note: Note) -> str:
    """A note with symbols in place of the values that they take in a model.

    A value that only repeats whose note it is (``<eps>: {eps}, inside the root``) is left out; empty where nothing
    else is said.
    """
    symbols = {name: symbol.latex for name, symbol in entry.front.symbols.items() if symbol.latex}
    value = _VALUE.match(note.text)
    text = note.text[value.end() :] if value is not None and value[1] in note.symbols else note.text
    if not text:
        return ""

    def in_text(found: re.Match[str]) -> str:
        return f"${symbols[found[1]]}$" if found[1] in symbols else found[0]

    def in_latex(found: re.Match[str]) -> str:
        return symbols.get(found[1] or found[2], found[0])

    parts = []
    for kind, content in split(text):
        if kind == "latex":
            parts.append(f"${_SYMBOL.sub(in_latex, content)}$")
        elif kind == "code":
            parts.append(f"`{content}`")
        else:
            parts.append(_NAME.sub(in_text, content))
    subjects = ", ".join(f"${symbols[name]}$" for name in note.symbols if name in symbols)
    return f"{subjects}: {''.join(parts)}" if subjects else "".join(parts)
