"""One torch call as an atlas of one operation, with the captured values that a build would hand over."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from tests.graph.driver import subject

from openmodelatlas.annotation.material import Draft, Drafts, Material
from openmodelatlas.bundle.tensors import TensorValue
from openmodelatlas.capture.child.encode import Encoder, dtype_name
from openmodelatlas.graph.document import Document, Node, Port, TensorFact
from openmodelatlas.shapes.dimension import Constant

OPERATION = "operation"


@dataclass
class Captured:
    """Captured values by key; no code."""

    values: dict[str, TensorValue] = field(default_factory=dict)

    def keep(self, key: str, tensor: torch.Tensor) -> None:
        """Keeps a copy of a tensor."""
        plain = tensor.detach().contiguous()
        stored = plain.view(torch.int16) if plain.dtype is torch.bfloat16 else plain
        data = stored.numpy().tobytes()
        self.values[key] = TensorValue(dtype=dtype_name(plain.dtype), shape=tuple(plain.shape), data=data)

    def value(self, key: str) -> TensorValue | None:
        """The value with this key."""
        return self.values.get(key)

    def lines_of(self, file: str) -> list[str]:
        """No file is cited."""
        raise KeyError(file)


def torch_function(name: str) -> Any:
    """The function called ``torch.nn.functional.softmax`` or ``torch.Tensor.__add__``."""
    found: Any = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def recorded(function: str, *args: Any, run: Callable[..., Any] | None = None, **kwargs: Any) -> Material:
    """Runs a torch function and writes down what a capture would: encoded arguments and the values of all tensors.

    ``run`` is what to run where ``function`` is not one of torch.
    """
    captured = Captured()
    nodes: dict[str, Node] = {}
    numbers: dict[int, int] = {}

    def number(tensor: torch.Tensor) -> int:
        key = numbers.setdefault(id(tensor), len(numbers))
        if f"input-{key}" not in nodes:
            captured.keep(str(key), tensor)
            nodes[f"input-{key}"] = tensor_node(f"input-{key}", tensor, str(key))
        return key

    encoder = Encoder(number, {}, {}, [], [])
    encoded = {str(index): encoder.encode(value, []) for index, value in enumerate(args)}
    encoded |= {name: encoder.encode(value, []) for name, value in kwargs.items()}
    result = (run or torch_function(function))(*args, **kwargs)
    if result is None:  # ``x[index] = value``
        result = args[0]
    results = [item for item in (result if isinstance(result, tuple | list) else [result]) if is_tensor(item)]
    outputs = []
    for index, tensor in enumerate(results):
        address = f"output-{index}"
        captured.keep(address, tensor)
        nodes[address] = tensor_node(address, tensor, address, OPERATION)
        outputs.append(Port(name="output", tensor=address, source="tensor"))
    operation = Node(
        address=OPERATION,
        kind="operation",
        title="Operation",
        label="Operation",
        parent="",
        function=function,
        arguments={name: value for name, value in encoded.items() if not holds_tensor(value)},
        operands={name: with_names(value) for name, value in encoded.items() if holds_tensor(value)},
        outputs=tuple(outputs),
        result=None if outputs else Encoder(number, {}, {}, [], []).encode(result, []),
    )
    return Material(document=document({OPERATION: operation, **nodes}), code=captured)


def document(nodes: Mapping[str, Node]) -> Document:
    """A document of these nodes below a model."""
    root = Node(address="", kind="model", title="M", label="M", parent=None, children=tuple(nodes))
    return Document(
        format=1,
        model="m",
        title="M",
        provenance=subject().provenance,
        configuration={},
        configuration_defaults=(),
        sizes={},
        nodes={"": root, **nodes},
        parameters={},
        files={},
        checks=(),
        notes=(),
    )


def drafts_of(material: Material) -> Drafts:
    """Empty drafts."""
    return Drafts(nodes={address: Draft() for address in material.document.nodes})


def tensor_node(address: str, tensor: torch.Tensor, value: str, producer: str | None = None) -> Node:
    """The node of a tensor."""
    shape = tuple(Constant(size) for size in tensor.shape)
    fact = TensorFact(shape=shape, dtype=dtype_name(tensor.dtype), producer=producer, value=value)
    return Node(address=address, kind="tensor", title="T", label="T", parent="", tensor=fact)


def is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def holds_tensor(value: Any) -> bool:
    if isinstance(value, dict):
        return "tensor" in value or any(holds_tensor(item) for item in value.values())
    return isinstance(value, list) and any(holds_tensor(item) for item in value)


def with_names(value: Any) -> Any:
    if isinstance(value, dict):
        if "tensor" in value:
            return {"tensor": f"input-{value['tensor']}"}
        return {key: with_names(item) for key, item in value.items()}
    return [with_names(item) for item in value] if isinstance(value, list) else value
