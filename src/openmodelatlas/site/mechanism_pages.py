"""Pages of mechanisms as HTML, Markdown and JSON: over all models, and within one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any

import msgspec

from openmodelatlas.site.fields.mechanisms import MechanismList, MechanismPage, MechanismRow
from openmodelatlas.site.fields.view import LibraryData, ModelName
from openmodelatlas.site.html import embedded, template
from openmodelatlas.site.mechanism_builder import MechanismBuilder
from openmodelatlas.site.mechanism_markdown import render_list, render_mechanism
from openmodelatlas.site.page import PageBuilder
from openmodelatlas.site.paths import mechanism_folder, page_folder, relative_link
from openmodelatlas.site.typesetting import Typesetter
from openmodelatlas.site.visible import visible

FORMS = ("html", "md", "json")


class MechanismPages:
    """Renders the pages of mechanisms of some atlases.

    Args:
        builders: of the atlases, in the order of the library.
        models: identifiers and titles of all models of the site, if there are more.
    """

    def __init__(self, builders: Sequence[PageBuilder], models: Sequence[tuple[str, str]] = ()) -> None:
        self._build = MechanismBuilder(builders)
        self._builders = builders
        self._setters: dict[str | None, Typesetter] = {}
        own = tuple(self._build.titles.items())
        self._models_of_site = tuple(ModelName(model=model, title=title) for model, title in models or own)

    @property
    def any(self) -> bool:
        """Whether any atlas has a mechanism."""
        return bool(self._build.names)

    def has(self, name: str, model: str | None = None) -> bool:
        """Whether a model, or any of them, has the mechanism."""
        return name in self._build.names_of(model)

    def files(self) -> Iterator[tuple[PurePosixPath, str]]:
        """Every file as (path from the root of the site, text)."""
        for model in (None, *self._build.titles):
            names = self._build.names_of(model)
            for name in (None, *names) if names else ():
                for form in FORMS:
                    yield mechanism_folder(model, name or "") / f"index.{form}", self.text(form, name, model)

    def text(self, form: str, name: str | None, model: str | None = None) -> str:
        """One page in one of ``FORMS``; the list of mechanisms if ``name`` is ``None``."""
        page = self._build.overview(model) if name is None else self._build.page(name, model)
        if form == "json":
            return msgspec.json.encode(page).decode()
        if isinstance(page, MechanismList):
            return render_list(page) if form == "md" else self._list(page)
        return render_mechanism(page) if form == "md" else self._mechanism(page)

    def _list(self, page: MechanismList) -> str:
        families: dict[str, list[MechanismRow]] = {}
        for row in page.mechanisms:
            families.setdefault(row.family or "others", []).append(row)
        return self._render("mechanisms.html", page, mechanism_folder(page.model), families=families)

    def _mechanism(self, page: MechanismPage) -> str:
        return self._render("mechanism.html", page, mechanism_folder(page.model, page.id))

    def _render(self, file: str, page: MechanismList | MechanismPage, here: PurePosixPath, **context: Any) -> str:
        rendered: str = template(file).render(
            page=page,
            root="../" * len(here.parts),
            set=self._typesetter(page.model),
            stylesheets=[name for name in self._build.titles if page.model in (None, name)],
            href=lambda model, address: relative_link(here, page_folder(model, address)),
            mechanism_href=lambda model, name: relative_link(here, mechanism_folder(model, name)),
            data=embedded(LibraryData(models=self._models_of_site)),
            **context,
        )
        return visible(rendered)

    def _typesetter(self, model: str | None) -> Typesetter:
        """Sets the formulas of a model, or of all; made once for all its pages."""
        found = self._setters.get(model)
        if found is None:
            formulas: dict[str, str] = {}
            for builder in self._builders:
                if model in (None, builder.document.model):
                    formulas.update(builder.drawings.formulas)
            found = self._setters[model] = Typesetter(formulas)
        return found
