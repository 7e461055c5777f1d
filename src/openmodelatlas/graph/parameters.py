"""Parameters and buffers: shapes as expressions, equal ones of folded layers as one fact, totals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import msgspec

from openmodelatlas.capture.recording import Parameter
from openmodelatlas.graph.document import ParameterFact
from openmodelatlas.graph.roles import Roles
from openmodelatlas.graph.tree import starred
from openmodelatlas.shapes.dimension import Constant, Dimension, Symbolic, Unresolved
from openmodelatlas.shapes.solve import Solver

ParameterKey = tuple[int, str]
"""Layer index (from 0; -1 outside layers) and name with every other index replaced by ``*``."""


def parameter_key(name: str, layer_list: str) -> ParameterKey:
    """Which layer a parameter is in, and its name without indices.

    Args:
        name: ``model.layers.3.mlp.experts.5.up_proj.weight``.
        layer_list: name of the module list that holds the layers, ``model.layers``; empty if there is none.
    """
    layer = -1
    if layer_list and name.startswith(f"{layer_list}."):
        index = name[len(layer_list) + 1 :].partition(".")[0]
        layer = int(index) if index.isdigit() else -1
    return layer, starred(name)


def single_key(name: str, layer_list: str) -> ParameterKey:
    """The same for what has siblings of other shapes (``stack.0``, ``stack.2``): without the layer's index only."""
    layer = parameter_key(name, layer_list)[0]
    return layer, name if layer < 0 else name.replace(f"{layer_list}.{layer}.", f"{layer_list}.*.", 1)


@dataclass
class Solved:
    """One parameter of one layer (and all its equal siblings, such as the experts).

    Attributes:
        key: see :data:`ParameterKey`.
        parameter: the first of them at full size.
        shape: dimensions.
        count: number of siblings at full size.
        count_dimension: the same as an expression.
    """

    key: ParameterKey
    parameter: Parameter
    shape: tuple[Dimension, ...]
    count: int
    count_dimension: Dimension
    dtype: str

    @property
    def each(self) -> int:
        """Elements of one, evaluated from the solved expressions (observed ones where unresolved)."""
        sizes = (_value(dimension, size) for dimension, size in zip(self.shape, self.parameter.shape, strict=True))
        return prod(sizes)

    @property
    def resolved(self) -> bool:
        """Whether every dimension, and the number of siblings, has an expression."""
        return not any(isinstance(dimension, Unresolved) for dimension in (*self.shape, self.count_dimension))


def _value(dimension: Dimension, observed: int) -> int:
    if isinstance(dimension, Symbolic):
        return dimension.value if dimension.value is not None else observed
    return dimension.value if isinstance(dimension, Constant) else observed


@dataclass
class ParameterTable:
    """All parameters of a model.

    Attributes:
        solved: by key, in the order of the model.
        facts: published facts by name.
        fact_names: name of the fact that a key belongs to.
    """

    solved: dict[ParameterKey, Solved]
    facts: dict[str, ParameterFact] = field(default_factory=dict)
    fact_names: dict[ParameterKey, str] = field(default_factory=dict)
    _by_name: dict[str, str | None] = field(default_factory=dict)

    def fact_name(self, name: str, layer_list: str) -> str | None:
        """Name of the fact that the parameter of a true name belongs to; ``None`` if there is none.

        Remembered, so that it must not be asked for before the facts are published.
        """
        if name not in self._by_name:
            fact = self.fact_names.get(parameter_key(name, layer_list))
            self._by_name[name] = fact or self.fact_names.get(single_key(name, layer_list))
        return self._by_name[name]

    def note_use(self, readers: Mapping[str, Iterable[str]], first_probe: Sequence[Parameter], layer_list: str) -> None:
        """Adds who reads each parameter, and where its value in the first probe lies."""
        values: dict[str, str] = {}
        for parameter in first_probe:
            name = self.fact_name(parameter.name, layer_list)
            if name is not None and parameter.tensor >= 0:
                values.setdefault(name, str(parameter.tensor))
        for name, fact in self.facts.items():
            self.facts[name] = msgspec.structs.replace(
                fact, readers=tuple(readers.get(name, ())), value=values.get(name)
            )

    def total(self) -> int:
        """Elements of all parameters (not buffers) at the published configuration, tied weights once."""
        return sum(item.each * item.count for item in self.solved.values() if item.parameter.kind == "parameter")


def solve_parameters(
    probes: Sequence[Sequence[Parameter]],
    full_size: Sequence[Parameter],
    roles: Roles,
    solver: Solver,
    layer_list: str,
) -> ParameterTable:
    """Solves the shape of every parameter.

    Args:
        probes: parameters of each probe, in probe order.
        full_size: parameters at the published configuration (from the meta device).
        roles: which probe plays which part.
        solver: solver for sizes without ``B``, ``T``, ``P``.
        layer_list: see :func:`parameter_key`.
    """
    keys = _Keys(layer_list)
    groups = [_siblings(parameters, keys) for parameters in (*probes, full_size)]
    varying = {key for key in groups[-1] if len({len(group.get(key, ())) for group in groups}) > 1}
    *tables, whole = (_by_key(group, varying, layer_list) for group in groups)
    cache: dict[tuple[tuple[int, ...], int, int], Dimension] = {}

    def solve(values: Sequence[int], true_size: int) -> Dimension:
        solving = tuple(values[index] for index in roles.solving)
        key = (solving, values[roles.held_out], true_size)
        if key not in cache:
            cache[key] = solver.solve(*key)
        return cache[key]

    solved: dict[ParameterKey, Solved] = {}
    for key, group in whole.items():
        rows = [table.get(key, []) for table in tables]
        first = group[0]
        dtype = _dtype(rows, roles) or first.dtype
        if not all(rows[index] for index in (*roles.solving, roles.held_out)):
            reason = "the probes' models do not have it"
            shape: tuple[Dimension, ...] = tuple(Unresolved(reason=reason, observed=(size,)) for size in first.shape)
            solved[key] = Solved(key, first, shape, len(group), Unresolved(reason=reason, observed=()), dtype)
            continue
        shape = tuple(
            solve([row[0].shape[axis] if row else 0 for row in rows], first.shape[axis])
            for axis in range(len(first.shape))
        )
        count = solve([len(row) for row in rows], len(group))
        solved[key] = Solved(key, first, shape, len(group), count, dtype)
    return ParameterTable(solved)


class _Keys(dict[str, ParameterKey]):
    """Keys by true name, which all probes share."""

    def __init__(self, layer_list: str) -> None:
        super().__init__()
        self._layer_list = layer_list

    def __missing__(self, name: str) -> ParameterKey:
        key = self[name] = parameter_key(name, self._layer_list)
        return key


def _siblings(parameters: Iterable[Parameter], keys: _Keys) -> dict[ParameterKey, list[Parameter]]:
    table: dict[ParameterKey, list[Parameter]] = defaultdict(list)
    for parameter in parameters:
        table[keys[parameter.name]].append(parameter)
    return table


def _by_key(
    siblings: Mapping[ParameterKey, list[Parameter]], varying: set[ParameterKey], layer_list: str
) -> dict[ParameterKey, list[Parameter]]:
    """Siblings whose number is a size (experts) are one; a fixed few (of a Sequential) each keep their name."""
    split: dict[ParameterKey, list[Parameter]] = {}
    for key, group in siblings.items():
        one_shape = len({tuple(parameter.shape) for parameter in group}) == 1
        if len(group) == 1 or (one_shape and key in varying):
            split[key] = group
        else:
            split.update({single_key(parameter.name, layer_list): [parameter] for parameter in group})
    return split


def _dtype(rows: Sequence[Sequence[Parameter]], roles: Roles) -> str | None:
    index = roles.published_dtype
    return rows[index][0].dtype if index is not None and rows[index] else None


def publish(table: ParameterTable, groups: Sequence[Sequence[int]], owners: dict[ParameterKey, str]) -> None:
    """Makes one fact of the equal parameters of folded layers.

    Args:
        table: the solved parameters; receives the facts.
        groups: for each variant of the layers, its layer indices (from 0).
        owners: address of the node that owns each parameter.
    """
    group_of = {layer: index for index, group in enumerate(groups) for layer in group}
    folded: dict[tuple[object, ...], list[Solved]] = {}
    for key, item in table.solved.items():
        same = (group_of.get(key[0], -1 - key[0]) if key[0] >= 0 else None, key[1], item.shape, item.count, owners[key])
        folded.setdefault(same, []).append(item)
    for items in folded.values():
        _publish_one(table, items, owners[items[0].key])


def _publish_one(table: ParameterTable, items: list[Solved], owner: str) -> None:
    first = items[0]
    name = first.key[1] if len(items) > 1 else _named(first)
    if name in table.facts:
        name = f"{name} @ {owner}"
    number = 2
    while name in table.facts:
        name, number = f"{first.key[1]} @ {owner} ({number})", number + 1
    table.facts[name] = ParameterFact(
        name=name,
        aliases=tuple(first.parameter.aliases),
        kind=first.parameter.kind,
        shape=first.shape,
        dtype=first.dtype,
        each=first.each,
        count=sum(item.count for item in items),
        readers=(),
        owner=owner,
    )
    for item in items:
        table.fact_names[item.key] = name


def _named(item: Solved) -> str:
    """The true name, with ``*`` for the indices of siblings (experts) only."""
    if item.count == 1:
        return item.parameter.name
    layer, name = item.key
    return name.replace("*", str(layer), 1) if layer >= 0 else name
