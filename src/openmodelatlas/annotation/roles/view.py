"""A view of the data flow: what computes, what it reads behind the plumbing, and who reads its result."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from openmodelatlas.annotation.operations import operation_name
from openmodelatlas.graph.document import Document, Node, ParameterFact, Port, TensorFact
from openmodelatlas.shapes.dimension import Constant, Dimension, Symbolic

MOVING = frozenset(
    [
        "getitem",
        "chunk",
        "split",
        "split_with_sizes",
        "tensor_split",
        "unbind",
        "select",
        "narrow",
        "clone",
        "dropout",
        "repeat",
        "repeat_interleave",
        "tile",
        "pad",
        "stack",
        "cat",
        "take_along_dim",
        "index_select",
        "masked_scatter",
        "roll",
        "flip",
        "copy",
        "setitem",
        "fill",
        "expand",
        "expand_as",
        "view_as_complex",
        "view_as_real",
        "movedim",
        "view",
        "reshape",
        "transpose",
        "permute",
    ]
)
"""Operations that move elements and compute nothing from them."""

PRODUCTS = frozenset(["linear", "addmm", "matmul", "rmatmul", "mm", "bmm", "einsum", "conv1d", "baddbmm"])


class View:
    """The data flow of one atlas.

    Attributes:
        document: its facts.
    """

    def __init__(self, document: Document) -> None:
        self.document = document
        self.nodes = document.nodes
        self._words = {
            address: operation_name(node.function)[0]
            for address, node in self.nodes.items()
            if node.function is not None and self.computes(node)
        }
        self._roots: dict[str, str] = {}
        self._weights: dict[tuple[str, int], bool] = {}

    @cached_property
    def computing(self) -> tuple[str, ...]:
        """Addresses of what computes (operations, kernels, modules that are one torch call), in order."""
        return tuple(address for address, node in self.nodes.items() if self.computes(node))

    def computes(self, node: Node) -> bool:
        """Whether a node is one call: an operation, a kernel, or a module without inside that calls torch."""
        if node.kind in ("operation", "kernel"):
            return True
        if node.kind != "module" or not (node.function or "").startswith("torch."):
            return False
        return all(self.nodes[child].kind == "tensor" for child in node.children if child in self.nodes)

    def word(self, address: str | None) -> str:
        """The operation table's name of what computes at ``address``; empty where nothing does."""
        return self._words.get(address, "") if address is not None else ""

    def ports(self, address: str) -> tuple[Port, ...]:
        """Its inputs."""
        return self.nodes[address].inputs

    def inputs(self, address: str) -> list[str]:
        """Tensors and parameters it reads, as they were before the plumbing."""
        return [port.tensor for port in self.nodes[address].inputs]

    def outputs(self, address: str) -> list[str]:
        """Tensors it makes."""
        return [port.tensor for port in self.nodes[address].outputs]

    def arriving(self, address: str, index: int = 0) -> str:
        """The input with this number as it arrives: behind the plumbing on its edge; empty if there is none."""
        ports = self.nodes[address].inputs
        if index >= len(ports):
            return ""
        via = ports[index].via
        return (self.output(via[-1]) if via else None) or ports[index].tensor

    def output(self, address: str) -> str | None:
        """Its first result."""
        outputs = self.nodes[address].outputs
        return outputs[0].tensor if outputs else None

    def fact(self, tensor: str) -> TensorFact | None:
        """Facts of a tensor node or a model input."""
        node = self.nodes.get(tensor)
        return node.tensor if node is not None else self.document.inputs.get(tensor)

    def parameter(self, name: str) -> ParameterFact | None:
        """Facts of a parameter or buffer."""
        return self.document.parameters.get(name)

    def shape(self, tensor: str) -> tuple[Dimension, ...]:
        """Dimensions of a tensor or parameter; empty if unknown."""
        fact = self.fact(tensor) or self.parameter(tensor)
        return fact.shape if fact is not None else ()

    def producer(self, tensor: str) -> str | None:
        """What computes a tensor, plumbing included; ``None`` for inputs and parameters."""
        fact = self.nodes[tensor].tensor if tensor in self.nodes else None
        return fact.producer if fact is not None else None

    def root(self, tensor: str) -> str:
        """The tensor before the plumbing that made ``tensor``."""
        found = self._roots.get(tensor)
        if found is None:
            found = self._roots[tensor] = self._before_plumbing(tensor)
        return found

    def _before_plumbing(self, tensor: str) -> str:
        for _ in range(100):
            producer = self.producer(tensor)
            node = self.nodes.get(producer) if producer is not None else None
            if node is None or not node.plumbing or not node.inputs:
                return tensor
            tensor = node.inputs[0].tensor
        return tensor

    def made_by(self, tensor: str) -> str | None:
        """What computes a tensor behind the plumbing."""
        return self.producer(self.root(tensor))

    def readers(self, tensor: str) -> list[str]:
        """What computes with a tensor, behind the plumbing, in order."""
        fact = self.fact(tensor)
        if fact is None:
            parameter = self.parameter(tensor)
            found = parameter.readers if parameter is not None else ()
        else:
            found = fact.consumers
        return [reader for reader in found if reader in self.nodes and not self.nodes[reader].plumbing]

    def is_weight(self, tensor: str, depth: int = 8) -> bool:
        """Whether a tensor comes from parameters and numbers alone (an index may choose among them)."""
        known = self._weights.get((tensor, depth))
        if known is None:
            known = self._weights[tensor, depth] = self._comes_from_weights(tensor, depth)
        return known

    def _comes_from_weights(self, tensor: str, depth: int) -> bool:
        if tensor in self.document.parameters:
            return True
        producer = self.producer(tensor)
        if producer is None or depth == 0:
            return False
        inputs = self.inputs(producer)
        if self.word(producer) in ("getitem", "index_select", "select"):
            inputs = inputs[:1]
        return bool(inputs) and all(self.is_weight(tensor, depth - 1) for tensor in inputs)

    def weight(self, address: str) -> str | None:
        """The true name of the first parameter in what an operation's weight operand comes from."""
        for tensor in self.inputs(address):
            if self.is_weight(tensor):
                return self.parameter_of(tensor)
        return None

    def parameter_of(self, tensor: str) -> str | None:
        """The true name of the parameter that a weight comes from."""
        for _ in range(12):
            if tensor in self.document.parameters:
                return tensor
            producer = self.producer(tensor)
            if producer is None or not self.inputs(producer):
                return None
            tensor = self.inputs(producer)[0]
        return None

    def projected(self, address: str) -> str | None:
        """What a linear layer reads: the operand of a product with a weight; ``None`` if it is no such product."""
        if self.word(address) not in PRODUCTS or self.word(address) == "conv1d":
            return None
        inputs = self.inputs(address)
        features = [tensor for tensor in inputs if not self.is_weight(tensor)]
        return features[0] if len(features) == 1 and len(inputs) > 1 else None

    def squares(self, address: str) -> bool:
        """Whether a product is of a tensor with itself."""
        inputs = self.inputs(address)
        if self.word(address) != "multiply" or not inputs:
            return False
        if len(inputs) == 1:
            return not self.nodes[address].arguments
        return len(inputs) == 2 and self.root(inputs[0]) == self.root(inputs[1])

    def number(self, address: str) -> float | int | None:
        """The number among the arguments of a binary operation; ``None`` if both operands are tensors."""
        for key in ("1", "other", "0", "input", "exponent", "value"):
            value = self.nodes[address].arguments.get(key)
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return value
        return None

    def inside(self, address: str, enclosing: str) -> bool:
        """Whether a node lies in another one (or is it)."""
        return not enclosing or address == enclosing or address.startswith(enclosing + "/")

    def enclosing(self, address: str) -> Iterator[str]:
        """Addresses of what encloses a node, innermost first."""
        parent = self.nodes[address].parent
        while parent is not None:
            yield parent
            parent = self.nodes[parent].parent

    @cached_property
    def leaf_groups(self) -> tuple[str, ...]:
        """Layer groups that hold no further groups: one layer, or several equal ones."""
        return tuple(
            address
            for address, node in self.nodes.items()
            if node.kind == "layer group"
            and not any(self.nodes[child].kind == "layer group" for child in node.children if child in self.nodes)
        )

    @cached_property
    def entries(self) -> dict[str, frozenset[str]]:
        """By layer group without further groups inside: what comes in, as it was before the plumbing."""
        return {
            group: frozenset(
                self.root(tensor) for port in self.nodes[group].inputs for tensor in (port.tensor, *port.others)
            )
            for group in self.leaf_groups
        }

    def group_of(self, address: str) -> str | None:
        """The innermost layer group around a node."""
        for enclosing in (address, *self.enclosing(address)):
            if self.nodes[enclosing].kind == "layer group":
                return enclosing
        return None


def size_name(dimension: Dimension) -> str:
    """A dimension as text: its expression, or its number."""
    if isinstance(dimension, Symbolic):
        return dimension.expression
    if isinstance(dimension, Constant):
        return str(dimension.value)
    return "?"
