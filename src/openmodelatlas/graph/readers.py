"""Which nodes read a tensor or parameter, past the views and casts that only hand it on."""

from __future__ import annotations

from collections.abc import Sequence

from openmodelatlas.graph import naming
from openmodelatlas.graph.flow import Flow, first_tensor
from openmodelatlas.graph.hierarchy import Draft
from openmodelatlas.graph.labels import Labels
from openmodelatlas.graph.parameters import ParameterTable
from openmodelatlas.graph.tree import Tree
from openmodelatlas.graph.wiring import event_tensors

_Way = tuple[dict[str, None], ...]


class Readers:
    """Collects addresses of readers.

    Attributes:
        of_parameters: addresses by the name of a parameter or buffer; those of tensors are their ``consumers``.
    """

    def __init__(
        self, trees: Sequence[Tree], flow: Flow, labels: Labels, table: ParameterTable, layer_list: str
    ) -> None:
        self.of_parameters: dict[str, dict[str, None]] = {}
        self._trees = trees
        self._flow = flow
        self._labels = labels
        self._table = table
        self._layer_list = layer_list
        self._ways: list[dict[int, _Way]] = [{} for _ in trees]

    def note(self, draft: Draft) -> None:
        """Notes a leaf node as reader of every tensor on the way to what it reads, for all its members."""
        address = self._labels.addresses[draft]
        for site in draft.operation or draft.sites:
            tree = self._trees[site.probe]
            for event in site.instances[site.probe]:  # later rounds of a loop read what earlier ones made
                for _, number in event_tensors(event, tree):
                    for readers in self._way(site.probe, number):
                        readers[address] = None

    def _way(self, probe: int, number: int) -> _Way:
        """Readers of a tensor and, where plumbing made it, of what that reads, back to what was computed."""
        ways = self._ways[probe]
        passed: list[tuple[int, dict[str, None]]] = []
        source: int | None = number
        way: _Way | None = None
        while source is not None:
            way = ways.get(source)
            if way is not None:
                break
            readers, before = self._readers_of(probe, source)
            if readers is None:
                way = ways[source] = ()
                break
            passed.append((source, readers))
            source = before
        way = way or ()
        for tensor, readers in reversed(passed):
            way = ways[tensor] = (readers, *way)
        return way

    def _readers_of(self, probe: int, number: int) -> tuple[dict[str, None] | None, int | None]:
        """Who reads a tensor, if it is one of the document's, and the tensor that it only hands on."""
        tree = self._trees[probe]
        entry = tree.recording.tensors[number]
        if entry.origin in ("parameter", "buffer"):
            name = tree.recording.parameters[entry.index].name
            fact = self._table.fact_name(name, self._layer_list) or name
            return self.of_parameters.setdefault(fact, {}), None
        if entry.origin != "operation":
            return None, None
        draft, tensor = self._flow.made(probe, number)
        if draft is None or tensor is None:
            return None, None
        function = tree.recording.operations[entry.index].function
        plumbing = draft.kind == "operation" and naming.is_plumbing(function)
        return tensor.consumers, first_tensor(tree, entry.index) if plumbing else None
