"""In which arguments and module attributes the members of a node differ, although they are folded into one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openmodelatlas.graph.align import Site
from openmodelatlas.graph.document import Variation
from openmodelatlas.graph.hierarchy import Draft
from openmodelatlas.graph.labels import Labels
from openmodelatlas.graph.published import Published
from openmodelatlas.graph.tree import Tree


class Variations:
    """Compares the members of nodes."""

    def __init__(self, trees: Sequence[Tree], labels: Labels, published: Published) -> None:
        self._trees = trees
        self._labels = labels
        self._published = published

    def of(self, draft: Draft) -> tuple[Variation, ...]:
        """Integer arguments that differ, then attributes of the module; empty where there is one member only."""
        if len(draft.sites) < 2 or draft.site is None:
            return ()
        found: list[Variation] = []
        numbers = [name for name, value in self._named_arguments(draft.site).items() if type(value) is int]
        rows = [self._named_arguments(site) for site in draft.sites] if numbers else []
        for name in numbers:
            values = [row.get(name) for row in rows]
            if all(type(value) is int for value in values) and len(set(values)) > 1:
                found.append(self._argument_variation(draft.sites, name, rows))
        module = self._labels.module(draft)
        if module is not None:
            found.extend(self._attribute_variations(draft))
        return tuple(found)

    def _named_arguments(self, site: Site) -> Mapping[str, Any]:
        recording = self._trees[site.probe].recording
        return recording.calls[~site.event].arguments if site.is_call else recording.operations[site.event].keywords

    def _argument_variation(self, sites: Sequence[Site], name: str, rows: Sequence[Mapping[str, Any]]) -> Variation:
        """An argument that differs between members, at the published configuration where that is known."""
        texts: list[str] = []
        for site, row in zip(sites, rows, strict=True):
            shown = self._published.arguments(site, {name: row[name]}).get(name, row[name])
            if isinstance(shown, dict):
                shown = shown.get("value") or shown.get("size") or f"{row[name]} in the probe"
            texts.append(str(shown))
        return Variation(what=f"argument {name}", values=tuple(texts))

    def _attribute_variations(self, draft: Draft) -> list[Variation]:
        rows: list[dict[str, Any]] = []
        for site in draft.sites:
            recording = self._trees[site.probe].recording
            rows.append(self._published.attributes(recording.modules[recording.calls[~site.event].module]))
        return [
            Variation(what=f"attribute {name}", values=tuple(str(row.get(name)) for row in rows))
            for name in rows[0]
            if len({str(row.get(name)) for row in rows}) > 1
        ]
