"""What a node reads and gives, as its page tells it."""

from __future__ import annotations

from collections.abc import Sequence

from openmodelatlas.graph.document import Document, Node, Port, TensorFact
from openmodelatlas.graph.reading import is_read
from openmodelatlas.site.dimensions import DimensionWriter
from openmodelatlas.site.fields import Crumb, PageDimension, PageInput, PageOutput
from openmodelatlas.site.neighbours import Neighbours
from openmodelatlas.site.words import crumb_label

Shape = tuple[PageDimension, ...]


class PortWriter:
    """Writes the inputs and outputs of nodes of one document."""

    def __init__(self, document: Document, dimensions: DimensionWriter, neighbours: Neighbours) -> None:
        self._document = document
        self._nodes = document.nodes
        self._dimensions = dimensions
        self._neighbours = neighbours

    def first_shape(self, node: Node) -> Shape:
        """The shape that axis numbers of the node's arguments refer to; empty where that is not certain."""
        if not node.inputs or (node.inputs[0].via and self._is_uncertain(node.inputs[0])):
            return ()
        return self.shape(node, node.inputs[0])[0] or ()

    def _is_uncertain(self, port: Port) -> bool:
        last = self._nodes.get(port.via[-1])
        return last is None or len(last.outputs) != 1

    def shape(self, node: Node, port: Port) -> tuple[Shape | None, str | None, str | None]:
        """Shape, dtype and what is missing; over all members where they read or give different tensors."""
        shape, dtype, note = self._shape_of(port)
        if port.shape is not None:
            return self._dimensions.shape(port.shape, node.members), dtype, note
        if shape is None or not port.others:
            return shape, dtype, note
        others = [self._shape_of(Port(name=port.name, tensor=tensor, source="tensor"))[0] for tensor in port.others]
        alike = [other for other in others if other is not None and len(other) == len(shape)]
        joined = [self._dimensions.join([axis, *(other[i] for other in alike)]) for i, axis in enumerate(shape)]
        return tuple(joined), dtype, note

    def _shape_of(self, port: Port) -> tuple[Shape | None, str | None, str | None]:
        if port.source in ("parameter", "buffer"):
            parameter = self._document.parameters.get(port.tensor)
            if parameter is not None:
                return self._dimensions.shape(parameter.shape), parameter.dtype, None
        tensor = self._received(port)
        fact = self._fact(tensor)
        if fact is None and tensor != port.tensor:
            tensor, fact = port.tensor, self._fact(port.tensor)
        if fact is None:
            return None, None, "The tensor is not part of the atlas."
        node = self._nodes.get(tensor)
        members = node.members if node is not None else ()
        return self._dimensions.shape(fact.shape, members), fact.dtype, fact.dtype_note

    def _fact(self, tensor: str) -> TensorFact | None:
        """What is known of a tensor, wherever it comes from; ``None`` for parameters."""
        node = self._nodes.get(tensor)
        if node is not None and node.tensor is not None:
            return node.tensor
        return self._document.inputs.get(tensor)

    def _received(self, port: Port) -> str:
        """What the node itself reads: the tensor after the plumbing on the edge, if that gives a single one."""
        if port.via:
            last = self._nodes.get(port.via[-1])
            if last is not None and len(last.outputs) == 1:
                return last.outputs[0].tensor
        return port.tensor

    def _page_of(self, port: Port) -> str | None:
        """Address of the tensor's own page."""
        node = self._nodes.get(port.tensor)
        return node.address if node is not None and node.tensor is not None else None

    def _others(self, node: Node, tensors: Sequence[str]) -> tuple[Crumb, ...]:
        return tuple(self._neighbours.maker(node, tensor) for tensor in tensors)

    def makers(self, node: Node) -> tuple[Crumb, ...]:
        """What makes the tensors that ``node`` reads, as seen from it, each once; parameters left out."""
        facts = [self._fact(port.tensor) for port in node.inputs if port.source not in ("parameter", "buffer")]
        producers = [fact.producer for fact in facts if fact is not None and fact.producer is not None]
        crumbs = [self._neighbours.maker(node, producer) for producer in dict.fromkeys(producers)]
        return tuple({crumb.address: crumb for crumb in crumbs}.values())

    def input(self, node: Node, port: Port, latex: str | None = None) -> PageInput:
        """Something that ``node`` reads, with its symbol if it has one."""
        shape, dtype, note = self.shape(node, port)
        is_parameter = port.source in ("parameter", "buffer")
        fact = None if is_parameter else self._fact(port.tensor)
        producer = fact.producer if fact is not None else None
        return PageInput(
            name=port.name,
            shape=shape,
            dtype=dtype,
            producer=producer,
            origin=self._neighbours.maker(node, producer) if producer is not None else None,
            tensor=None if is_parameter else self._page_of(port),
            parameter=port.tensor if is_parameter else None,
            source=port.source,
            via=tuple(self._neighbours.step(address) for address in port.via),
            others=self._others(node, port.others),
            note=note or (None if is_parameter or self._is_read(node, port) else "no operation here reads it"),
            latex=latex,
            title=self._title(node.inputs, port),
            others_are="rounds" if self._neighbours.rounds_of(node, port.others) else "layers",
        )

    def _is_read(self, node: Node, port: Port) -> bool:
        """Whether something inside a layer, module or function computes with what it is handed."""
        return is_read(node, port, self._nodes, self._document.inputs)

    def output(self, node: Node, port: Port, latex: str | None = None) -> PageOutput:
        """Something that ``node`` gives, with its symbol if it has one."""
        shape, dtype, note = self.shape(node, port)
        fact = self._fact(port.tensor)
        consumers = tuple(reader for reader in fact.consumers if self._comes_later(node, port, reader)) if fact else ()
        producer = fact.producer if fact is not None else None
        return PageOutput(
            name=port.name,
            shape=shape,
            dtype=dtype,
            consumers=consumers,
            readers=self._neighbours.readers(node, producer, consumers),
            tensor=self._page_of(port),
            via=tuple(self._neighbours.step(address) for address in port.via),
            others=self._others(node, port.others),
            note=note,
            latex=latex,
            title=self._title(node.outputs, port),
        )

    def _comes_later(self, node: Node, port: Port, reader: str) -> bool:
        """Whether a reader can have what layers hand on that did not make it: a layer before them had it already."""
        read = self._nodes.get(reader)
        made_here = port.tensor.startswith(f"{node.address}/") or port.tensor == node.address
        if read is None or made_here or not node.members or not read.members or read.phase != node.phase:
            return True
        alike = self._neighbours.layers_around(read) == self._neighbours.layers_around(node)
        return alike or max(read.members) > min(node.members)

    def _title(self, ports: Sequence[Port], port: Port) -> str | None:
        """What a tensor is called that shares its name in the code with others: three caches of one layer."""
        alike = [other for other in ports if other.name == port.name]
        made = self._nodes.get(port.tensor)
        return crumb_label(made) if len(alike) > 1 and made is not None else None
