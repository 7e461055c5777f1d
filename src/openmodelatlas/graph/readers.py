"""Which nodes read a tensor or parameter, past the views and casts that only hand it on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from openmodelatlas.graph.flow import Flow
from openmodelatlas.graph.hierarchy import Draft
from openmodelatlas.graph.labels import Labels
from openmodelatlas.graph.parameters import ParameterTable
from openmodelatlas.graph.tree import Tree


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
        self._stored: dict[int, frozenset[int]] = {}

    def note(self, draft: Draft) -> None:
        """Notes a leaf node as reader of every tensor on the way to what it reads, for all its members."""
        address = self._labels.addresses[draft]
        for probe, rows in self._flow.reads(draft):  # later rounds of a loop read what earlier ones made
            for readers in self._readers_on_the_way(probe, set(chain.from_iterable(rows))):
                readers[address] = None

    def _readers_on_the_way(self, probe: int, numbers: set[int]) -> Iterator[dict[str, None]]:
        """Readers of tensors and, where plumbing made them, of what that reads, back to what was computed."""
        makers = self._flow.makers(probe)
        while numbers:
            yield from (made.consumers for made in {makers.drafts[number] for number in numbers} if made is not None)
            yield from (self._readers_of_parameter(probe, number) for number in numbers & self._parameters(probe))
            numbers = {makers.handed_on[number] for number in numbers if number in makers.handed_on}

    def _parameters(self, probe: int) -> frozenset[int]:
        """Numbers of the tensors of a probe that are parameters or buffers."""
        if probe not in self._stored:
            tree = self._trees[probe]
            stored = ("parameter", "buffer")
            numbers = (number for number in tree.outside if tree.recording.tensors[number].origin in stored)
            self._stored[probe] = frozenset(numbers)
        return self._stored[probe]

    def _readers_of_parameter(self, probe: int, number: int) -> dict[str, None]:
        recording = self._trees[probe].recording
        name = recording.parameters[recording.tensors[number].index].name
        fact = self._table.fact_name(name, self._layer_list) or name
        return self.of_parameters.setdefault(fact, {})
