"""What arguments and module attributes are at the published configuration rather than in a probe.

A probe has sizes of its own, and most probes an element type of their own: the ``k`` of its ``topk``, the sizes of its
views and the scale of its attention are not the model's. An integer is solved like a dimension; anything else is read
from the run at full size, or from the probe in the published element type where only the type makes the difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from openmodelatlas.capture.recording import Module, Phase
from openmodelatlas.graph.align import Site
from openmodelatlas.graph.roles import Roles
from openmodelatlas.graph.sizes import Sizes
from openmodelatlas.graph.tree import Tree
from openmodelatlas.shapes.dimension import Constant, Symbolic

_NOT_SAID = frozenset({"training"})


class Published:
    """Reads arguments and attributes off all probes.

    Args:
        trees: one for each probe.
        roles: which probe plays which part.
        sizes: solves integers.
    """

    def __init__(self, trees: Sequence[Tree], roles: Roles, sizes: Sizes) -> None:
        self._trees = trees
        self._roles = roles
        self._sizes = sizes
        self._modules: dict[int, dict[str, Module]] = {}

    def arguments(self, site: Site, shown: Mapping[str, Any]) -> dict[str, Any]:
        """Those of the ``shown`` arguments of a site (as in the first probe) that the model has otherwise.

        Returns:
            Encoded values as in ``capture.recording``, with two more forms: ``{"size": expression, "value": number}``
            for a solved size (``value`` is ``None`` with B, T or P in it), and ``{"probe": value}`` for what is known
            of the probe only.
        """
        rows = [self._arguments_in(probe, site) for probe in range(len(self._trees))]
        phase = self._sizes.phase(site)
        found: dict[str, Any] = {}
        for name, value in shown.items():
            columns = [[row[name] for row in instances if name in row] for instances in rows]
            published = self._resolve(value, columns, phase)
            if published != value or type(published) is not type(value):
                found[name] = published
        return found

    def attributes(self, module: Module) -> dict[str, Any]:
        """Plain public attributes of a module, in the order of its code, except those that say nothing of the model."""
        full = self._roles.true_size
        if full is not None and (same := self._module_in(full, module.name)) is not None:
            return {name: value for name, value in same.attributes.items() if name not in _NOT_SAID}
        others = [self._module_in(probe, module.name) for probe in (*self._roles.solving, self._roles.held_out)]
        values = [dict(other.attributes) for other in others if other is not None]
        return {
            name: value if all(_same(row.get(name), value) for row in values) else {"probe": value}
            for name, value in module.attributes.items()
            if name not in _NOT_SAID
        }

    def _module_in(self, probe: int, name: str) -> Module | None:
        if probe not in self._modules:
            self._modules[probe] = {module.name: module for module in self._trees[probe].recording.modules}
        return self._modules[probe].get(name)

    def _arguments_in(self, probe: int, site: Site) -> list[Mapping[str, Any]]:
        """The arguments of every instance of a site in one probe."""
        recording = self._trees[probe].recording
        rows: list[Mapping[str, Any]] = []
        for event in site.instances[probe]:
            if event < 0:
                rows.append(recording.calls[~event].arguments)
            else:
                operation = recording.operations[event]
                rows.append({str(i): item for i, item in enumerate(operation.arguments)} | operation.keywords)
        return rows

    def _resolve(self, value: Any, columns: list[list[Any]], phase: Phase) -> Any:
        """``value`` at the published configuration; ``columns`` are its values in each instance of each probe."""
        every = [item for column in columns for item in column]
        if all(_same(item, value) for item in every):
            return value
        kind, inner = _container(value)
        if kind is not None and all(_container(item)[0] == kind for item in every):
            parts = [[_container(item)[1] for item in column] for column in columns]
            if all(len(part) == len(inner) for column in parts for part in column):
                resolved = [
                    self._resolve(item, [[part[index] for part in column] for column in parts], phase)
                    for index, item in enumerate(inner)
                ]
                return {**value, kind: resolved}
        if all(isinstance(item, int) and not isinstance(item, bool) for item in every):
            return self._resolve_size(value, columns, phase)
        return self._resolve_other(value, columns)

    def _resolve_size(self, value: int, columns: list[list[int]], phase: Phase) -> Any:
        probes = (*self._roles.solving, self._roles.held_out)
        alike = all(len(set(columns[probe])) == 1 for probe in probes)
        if not alike or min(item for column in columns for item in column) < 1:
            return {"probe": value}
        dimension = self._sizes.solve(phase, tuple(tuple(column[:1]) for column in columns))
        if isinstance(dimension, Symbolic):
            return {"size": dimension.expression, "value": dimension.value}
        return dimension.value if isinstance(dimension, Constant) else {"probe": value}

    def _resolve_other(self, value: Any, columns: list[list[Any]]) -> Any:
        """Floats, types and strings: those of the run at full size, or of the published element type."""
        full, typed = self._roles.true_size, self._roles.published_dtype
        if full is not None and columns[full] and all(_same(item, columns[full][0]) for item in columns[full]):
            return columns[full][0]
        if typed is not None and columns[typed]:
            untyped = [item for probe in self._roles.solving if probe != typed for item in columns[probe]]
            uniform = all(_same(item, columns[typed][0]) for item in columns[typed])
            if uniform and all(_same(item, value) for item in untyped):
                return columns[typed][0]
        return {"probe": value}


def _same(one: Any, other: Any) -> bool:
    return type(one) is type(other) and bool(one == other)


def _container(value: Any) -> tuple[str | None, list[Any]]:
    """A list or slice as its kind and elements; ``(None, [])`` for anything else."""
    if isinstance(value, dict):
        for kind in ("list", "slice"):
            if isinstance(value.get(kind), list):
                return kind, value[kind]
    return None, []
