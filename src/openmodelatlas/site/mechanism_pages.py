"""Pages of mechanisms: what each is, and every place where a model has it; over all models, and within one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from openmodelatlas.annotation.knowledge import NodeKnowledge
from openmodelatlas.catalogue.entry import Mechanism, Note
from openmodelatlas.catalogue.load import fill_formula, load
from openmodelatlas.errors import CatalogueError
from openmodelatlas.graph.document import Node
from openmodelatlas.site.fields.view import LibraryData, ModelName
from openmodelatlas.site.html import embedded, template
from openmodelatlas.site.knowing import mechanism as named
from openmodelatlas.site.knowing import verdict
from openmodelatlas.site.latex import split
from openmodelatlas.site.page import PageBuilder
from openmodelatlas.site.paths import mechanism_folder, page_folder
from openmodelatlas.site.typesetting import Typesetter
from openmodelatlas.site.visible import visible
from openmodelatlas.site.words import crumb_label, heading

_NAME = re.compile(r"\{([A-Za-z_]\w*)\}")
_SYMBOL = re.compile(r"<([A-Za-z_]\w*)>|\{([A-Za-z_]\w*)\}")


@dataclass(frozen=True, slots=True)
class Place:
    """A node that is a mechanism: what it is called, where it is, its formula with the verdict, and its link."""

    title: str
    trail: str
    link: str
    latex: str | None
    verdict: str | None


@dataclass(frozen=True, slots=True)
class ModelPlaces:
    """The places of one model: its identifier, its title, its own page of the mechanism, and the places."""

    model: str
    title: str
    link: str
    places: tuple[Place, ...]


class MechanismPages:
    """Renders the pages of mechanisms of some atlases.

    Args:
        builders: of the atlases, in the order of the library.
        models: identifiers and titles of all models of the site, if there are more.
    """

    def __init__(self, builders: Sequence[PageBuilder], models: Sequence[tuple[str, str]] = ()) -> None:
        self._builders = builders
        own = [(builder.document.model, builder.document.title) for builder in builders]
        self._models_of_site = tuple(ModelName(model=model, title=title) for model, title in models or own)
        self._places = {builder.document.model: _places_of(builder) for builder in builders}
        used = dict.fromkeys(name for places in self._places.values() for name in places)
        for builder in builders:  # pages say where the code is otherwise than a mechanism, and lead to it
            known = builder.knowledge.nodes.values()
            used.update(dict.fromkeys(item.mechanism for node in known for item in node.differences))
        self._entries = _entries()
        self.names = tuple(sorted(used, key=lambda name: named(name).title.lower()))
        self._setters = {builder.document.model: Typesetter(builder.drawings.formulas) for builder in builders}

    @property
    def any(self) -> bool:
        """Whether any atlas has a mechanism."""
        return bool(self.names)

    def pages(self) -> Iterator[tuple[str, str]]:
        """Every page as (folder, HTML)."""
        if not self.any:
            return
        yield str(mechanism_folder(None)), self.index()
        for name in self.names:
            yield str(mechanism_folder(None, name)), self.mechanism(name)
        for model, places in self._places.items():
            if places:
                yield str(mechanism_folder(model)), self.index(model)
            for name in places:
                yield str(mechanism_folder(model, name)), self.mechanism(name, model)

    def has(self, name: str, model: str | None = None) -> bool:
        """Whether a model, or any of them, has the mechanism."""
        return name in (self.names if model is None else self._places.get(model, {}))

    def index(self, model: str | None = None) -> str:
        """The list of mechanisms that the models (or one) have, by family."""
        names = self.names if model is None else [name for name in self.names if name in self._places[model]]
        families: dict[str, list[dict[str, Any]]] = {}
        for name in names:
            entry = self._entries.get(name)
            models = self._models(name, model, "")
            row = {
                "id": name,
                "title": named(name).title,
                "sentence": entry.front.sentence if entry is not None else "",
                "models": models,
                "link": f"{mechanism_folder(model, name)}/index.html",
            }
            families.setdefault(entry.front.family if entry is not None else "others", []).append(row)
        return self._render("mechanisms.html", model, mechanism_folder(model), families=families)

    def mechanism(self, name: str, model: str | None = None) -> str:
        """The page of one mechanism."""
        folder = mechanism_folder(model, name)
        root = "../" * len(folder.parts)
        entry = self._entries.get(name)
        models = self._models(name, model, root)
        return self._render(
            "mechanism.html",
            model,
            folder,
            id=name,
            title=named(name).title,
            front=entry.front if entry is not None else None,
            formula=self._formula(entry, models),
            notes=_notes(entry),
            models=models,
            everywhere=f"{root}{mechanism_folder(None, name)}/index.html" if model is not None else None,
        )

    def _formula(self, entry: Mechanism | None, models: Sequence[ModelPlaces]) -> str | None:
        """The mechanism's formula with its own symbols; if that was not set, as the first place has it."""
        own = fill_formula(entry.front.formula, _symbol(entry)) if entry is not None else None
        if own is not None and any(own in builder.drawings.formulas for builder in self._builders):
            return own
        places = (place for model in models for place in model.places)
        return next((place.latex for place in places if place.latex is not None), own)

    def _models(self, name: str, model: str | None, root: str) -> list[ModelPlaces]:
        found = []
        for builder in self._builders:
            identifier = builder.document.model
            if model not in (None, identifier) or name not in self._places[identifier]:
                continue
            places = tuple(_place(builder, node, name, root) for node in self._places[identifier][name])
            link = f"{mechanism_folder(identifier, name)}/index.html"
            found.append(ModelPlaces(identifier, builder.document.title, link, places))
        return found

    def _render(self, file: str, model: str | None, folder: Any, **context: Any) -> str:
        formulas: dict[str, str] = {}
        for builder in self._builders:
            if model in (None, builder.document.model):
                formulas.update(builder.drawings.formulas)
        titles = {builder.document.model: builder.document.title for builder in self._builders}
        rendered: str = template(file).render(
            root="../" * len(folder.parts),
            set=Typesetter(formulas),
            stylesheets=[name for name in titles if model in (None, name)],
            model=model,
            model_title=titles[model] if model is not None else None,
            model_link=f"{page_folder(model, '')}/index.html" if model is not None else None,
            data=embedded(LibraryData(models=self._models_of_site)),
            **context,
        )
        return visible(rendered)


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


def _place(builder: PageBuilder, node: Node, name: str, root: str) -> Place:
    known = builder.known(node.address)
    labels = []
    around = node
    while around.parent:
        around = builder.document.nodes[around.parent]
        labels.append(crumb_label(around))
    formula = _formula_of(known, name)
    return Place(
        title=heading(node),
        trail=" › ".join(reversed(labels)),
        link=f"{root}{page_folder(builder.document.model, node.address)}/index.html",
        latex=formula.latex if formula is not None else None,
        verdict=verdict(formula.check).text if formula is not None else None,
    )


def _formula_of(known: NodeKnowledge, name: str) -> Any:
    """The formula of a mechanism on a node's page; where it was composed from operations, the node's own formula."""
    for formula in known.formulas:
        if formula.mechanism == name:
            return formula
    return known.formulas[0] if known.mechanism == name and known.formulas else None


def _symbol(entry: Mechanism) -> Any:
    return lambda name: f"{{{entry.front.symbols[name].latex}}}"


def _notes(entry: Mechanism | None) -> list[tuple[str, list[str]]]:
    """The sections of an entry that say something, each with its notes."""
    if entry is None:
        return []
    sections = (("Why", entry.why), ("When porting", entry.porting), ("Scope", entry.scope))
    return [(title, [_note(entry, note) for note in notes]) for title, notes in sections if notes]


def _note(entry: Mechanism, note: Note) -> str:
    """A note with symbols in place of the values that they take in a model."""
    symbols = {name: symbol.latex for name, symbol in entry.front.symbols.items()}

    def in_text(found: re.Match[str]) -> str:
        return f"${symbols[found[1]]}$" if found[1] in symbols else found[0]

    def in_latex(found: re.Match[str]) -> str:
        return symbols.get(found[1] or found[2], found[0])

    parts = []
    for kind, content in split(note.text):
        if kind == "latex":
            parts.append(f"${_SYMBOL.sub(in_latex, content)}$")
        elif kind == "code":
            parts.append(f"`{content}`")
        else:
            parts.append(_NAME.sub(in_text, content))
    subjects = ", ".join(f"${symbols[name]}$" for name in note.symbols if name in symbols)
    return f"{subjects}: {''.join(parts)}" if subjects else "".join(parts)
