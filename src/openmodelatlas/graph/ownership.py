"""Which node owns which parameters, and how many each node stands for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from openmodelatlas.graph.document import Node
from openmodelatlas.graph.flow import Flow
from openmodelatlas.graph.hierarchy import Draft
from openmodelatlas.graph.labels import Labels
from openmodelatlas.graph.parameters import ParameterKey, ParameterTable, parameter_key, single_key


def main_layers(root: Draft, labels: Labels) -> tuple[str, list[list[int]]]:
    """Name of the module list that holds the layers, and the layer indices (from 0) of each of its variants.

    Returns:
        ``("model.layers", [[0], [1, 2, …]])``; ``("", [])`` for a model without repeated layers.
    """
    groups = list(_outermost_groups(root))
    if not groups:
        return "", []
    best = max(groups, key=lambda group: len(group.layers))
    variants = [best] if best.variant is not None else best.children
    first = next((module for module in map(labels.module, variants[0].walk()) if module is not None), None)
    if first is None:
        return "", []
    parts = first.name.split(".")
    place = next((index for index, part in enumerate(parts) if part.isdigit()), None)
    if place is None:
        return "", []
    return ".".join(parts[:place]), [[number - 1 for number in variant.layers] for variant in variants]


def _outermost_groups(draft: Draft) -> Iterator[Draft]:
    """Layer groups that lie in no other: what a layer repeats inside itself are no layers of the model."""
    for child in draft.children:
        if child.kind == "layer group":
            yield child
        else:
            yield from _outermost_groups(child)


class Ownership:
    """Assigns every parameter to the innermost module node that exists, the model itself failing that."""

    def __init__(self, drafts: Sequence[Draft], labels: Labels, table: ParameterTable, layer_list: str) -> None:
        self._labels = labels
        self._table = table
        self._layer_list = layer_list
        self._root = drafts[0]
        self._drafts: dict[ParameterKey, Draft] = {}
        for draft in drafts[0].walk():
            for name in labels.module_names(draft):
                self._drafts.setdefault(parameter_key(name, layer_list), draft)
                self._drafts.setdefault(single_key(name, layer_list), draft)
        self.owners = {key: labels.addresses[self._owner(key)] for key in table.solved}

    def _owner(self, key: ParameterKey) -> Draft:
        layer, name = key
        parts = name.split(".")
        while parts:
            parts.pop()
            draft = self._drafts.get((layer, ".".join(parts)))
            if draft is not None:
                return draft
        first = next(iter(self._drafts.values()), self._root)  # the call of no module may be seen
        return self._drafts.get((-1, ""), first)

    def parameters_of(self, root: Draft, flow: Flow) -> dict[Draft, tuple[str, ...]]:
        """Names of the facts of every draft below ``root``: owned by it or below it, or read by what is inside."""
        found: dict[Draft, tuple[str, ...]] = {}
        owned: dict[str, list[str]] = {}
        for name, fact in self._table.facts.items():
            owned.setdefault(fact.owner, []).append(name)
        self._collect(root, flow, owned, found)
        return found

    def _collect(
        self, draft: Draft, flow: Flow, owned: Mapping[str, list[str]], found: dict[Draft, tuple[str, ...]]
    ) -> dict[str, None]:
        names: dict[str, None] = dict.fromkeys(self._owned_by(draft, owned))
        if draft.leaf is not None:
            names |= dict.fromkeys(port.tensor for port in flow.inputs(draft) if port.source in ("parameter", "buffer"))
        for child in draft.children:
            names |= self._collect(child, flow, owned, found)
        found[draft] = tuple(name for name in names if name in self._table.facts)
        return names

    def _owned_by(self, draft: Draft, owned: Mapping[str, list[str]]) -> list[str]:
        """Facts of the node itself and of the prefill node of the same module.

        The decode step shows the same parameters so; and layers of which one is called elsewhere too, all of theirs.
        """
        module = self._labels.module(draft)
        keys = [key(module.name, self._layer_list) for key in (single_key, parameter_key)] if module is not None else []
        twin = next((self._drafts[key] for key in keys if key in self._drafts), None)
        own = owned.get(self._labels.addresses[draft], [])
        return own if twin is None or twin is draft else [*owned.get(self._labels.addresses[twin], []), *own]

    def counted(self, node: Node) -> Node:
        """The node with the number of parameters it stands for."""
        facts = self._table.facts
        total = sum(facts[n].each * facts[n].count for n in node.parameters if facts[n].kind == "parameter")
        each = total // node.count if node.count and total % node.count == 0 else total
        return msgspec.structs.replace(node, parameter_count=total, parameter_count_each=each)
