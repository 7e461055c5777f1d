"""The parameters of a node, and the tensor that a node is, as its page tells them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.graph.document import Document, Node, ParameterFact
from openmodelatlas.site.dimensions import DimensionWriter
from openmodelatlas.site.fields import PageParameter, PageParameters, PageTensor
from openmodelatlas.site.neighbours import Neighbours

_SHOWN_ELEMENTS = 8


class TensorWriter:
    """Writes parameters and tensors of one atlas; a parameter is written once for all pages.

    Args:
        atlas: gives the captured values.
        document: its parameters and nodes.
        dimensions: writes shapes.
        neighbours: names nodes as seen from others.
    """

    def __init__(self, atlas: Atlas, document: Document, dimensions: DimensionWriter, neighbours: Neighbours) -> None:
        self._atlas = atlas
        self._document = document
        self._dimensions = dimensions
        self._neighbours = neighbours
        self._parameters: dict[tuple[str, str | None], PageParameter] = {}

    def parameters(self, node: Node, symbols: Mapping[str, str]) -> PageParameters:
        """The parameters of ``node`` with their number; ``symbols`` are LaTeX by the name of a parameter."""
        return PageParameters(
            count=node.parameter_count,
            each=node.parameter_count_each,
            tensors=tuple(
                self._parameter(name, symbols.get(name))
                for name in node.parameters
                if name in self._document.parameters
            ),
        )

    def _parameter(self, name: str, latex: str | None) -> PageParameter:
        written = self._parameters.get((name, latex))
        if written is None:
            fact: ParameterFact = self._document.parameters[name]
            written = self._parameters[name, latex] = PageParameter(
                name=fact.name,
                aliases=fact.aliases,
                kind=fact.kind,
                shape=self._dimensions.shape(fact.shape),
                dtype=fact.dtype,
                each=fact.each,
                count=fact.count,
                owner=fact.owner if fact.owner in self._document.nodes else None,
                readers=fact.readers,
                latex=latex,
            )
        return written

    def tensor(self, node: Node) -> PageTensor | None:
        """What the page of a tensor says of it, with its first elements; ``None`` for other nodes."""
        fact = node.tensor
        if fact is None:
            return None
        value = self._atlas.value(fact.value) if fact.value is not None else None
        return PageTensor(
            variable=fact.variable,
            producer=fact.producer,
            consumers=fact.consumers,
            origin=self._neighbours.maker(node, fact.producer) if fact.producer is not None else None,
            readers=self._neighbours.readers(node, fact.producer, fact.consumers),
            value=fact.value,
            value_dtype=value.dtype if value is not None else None,
            value_shape=value.shape if value is not None else None,
            value_start=tuple(
                None if isinstance(item, float) and not math.isfinite(item) else item
                for item in value.elements()[:_SHOWN_ELEMENTS]
            )
            if value is not None
            else None,
            note=fact.value_note,
        )
