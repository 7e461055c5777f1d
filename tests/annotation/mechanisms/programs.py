"""Atlases of small programs, made without capture: a few lines of operations, evaluated in NumPy float32.

A line is ``name = function(arguments)``; a name stands for a tensor, anything else for itself. ``given(2, 3)`` is an
input of the model, ``parameter(3)`` a parameter, both random. All operations lie in one module, ``block``, whose output
is the last one.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from openmodelatlas.annotation.formulas.calls import Call, Operand, call_of, named_call
from openmodelatlas.annotation.formulas.entry import Entry
from openmodelatlas.annotation.formulas.evaluate import as_list, evaluated
from openmodelatlas.annotation.formulas.families.kernels import KERNELS as EVALUATED
from openmodelatlas.annotation.material import Material
from openmodelatlas.graph.document import (
    DOCUMENT_FORMAT,
    Document,
    Lines,
    Node,
    ParameterFact,
    Port,
    Provenance,
    Symbol,
    TensorFact,
)
from openmodelatlas.shapes.dimension import Constant

FILE = "program.py"
KERNELS = {
    "rms_norm_gated": "fla.modules.fused_norm_gate.rms_norm_gated",
    "chunk_kda": "fla.ops.kda.chunk_kda",
    "ShortConvolution": "fla.modules.ShortConvolution",
}
"""Full names of kernels, by their own."""


@dataclass
class StoredValue:
    dtype: str
    shape: tuple[int, ...]
    data: bytes


@dataclass
class ProgramCode:
    """The values and lines of a program."""

    arrays: dict[str, np.ndarray[Any, Any]] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)

    def value(self, key: str) -> StoredValue | None:
        array = self.arrays.get(key)
        if array is None:
            return None
        kept = array.astype(np.float32) if array.dtype.kind == "f" else array
        return StoredValue(dtype=str(kept.dtype), shape=kept.shape, data=np.ascontiguousarray(kept).tobytes())

    def lines_of(self, file: str) -> Sequence[str]:
        assert file == FILE
        return self.lines

    def keep(self, array: np.ndarray[Any, Any]) -> str:
        key = str(len(self.arrays))
        self.arrays[key] = array.astype(np.float32) if array.dtype.kind == "f" else array
        return key


def material(program: str, seed: int = 0) -> Material:
    """The atlas of a program."""
    return _Builder(program, seed).material()


class _Builder:
    def __init__(self, program: str, seed: int) -> None:
        self.code = ProgramCode(lines=[line.strip() for line in program.strip().splitlines()])
        self.random = np.random.default_rng(seed)
        self.nodes: dict[str, Node] = {}
        self.inputs: dict[str, TensorFact] = {}
        self.parameters: dict[str, ParameterFact] = {}
        self.names: dict[str, str] = {}
        self.outputs: tuple[Port, ...] = ()

    def material(self) -> Material:
        for number, line in enumerate(self.code.lines, start=1):
            self._line(line, number)
        children = tuple(address for address in self.nodes if address.count("/") == 1)
        whole = Lines(file=FILE, first=1, last=len(self.code.lines))
        block = Node(
            address="block", kind="module", title="Block", label="Block", parent="", children=children,
            class_name="Block", function="Block.forward", outputs=self.outputs, code=whole,
            symbol=Symbol(text="self.block(x)", lines=whole),
        )  # fmt: skip
        model = Node(
            address="", kind="model", title="Program", label="Program", parent=None, children=("block",),
            outputs=self.outputs,
        )  # fmt: skip
        return Material(document=self._document({"": model, "block": block, **self.nodes}), code=self.code)

    def _document(self, nodes: Mapping[str, Node]) -> Document:
        provenance = Provenance(
            source="test", repository="test", revision="0", requested_revision=None, entry="test",
            configuration_origin="test", preferred=(), versions={}, choices=(), probes=(),
        )  # fmt: skip
        return Document(
            format=DOCUMENT_FORMAT, model="program", title="Program", provenance=provenance, configuration={},
            configuration_defaults=(), sizes={}, nodes=dict(nodes), inputs=self.inputs, parameters=self.parameters,
            files={}, checks=(), notes=(),
        )  # fmt: skip

    def _line(self, line: str, number: int) -> None:
        statement = ast.parse(line).body[0]
        assert isinstance(statement, ast.Assign)
        target, call = statement.targets[0], statement.value
        assert isinstance(call, ast.Call)
        names = [element.id for element in (target.elts if isinstance(target, ast.Tuple) else [target])]  # type: ignore[attr-defined]
        function = ast.unparse(call.func)
        if function in ("given", "parameter", "tokens"):
            shape = [ast.literal_eval(argument) for argument in call.args]
            self._source(names[0], function, shape)
            return
        self._operation(names, function, call, number, line)

    def _source(self, name: str, kind: str, shape: Sequence[int]) -> None:
        if kind == "tokens":
            array: np.ndarray[Any, Any] = self.random.integers(0, shape[0], shape[1:])
        else:
            array = self.random.normal(size=shape)
        key = self.code.keep(array)
        dimensions = tuple(Constant(value=size) for size in array.shape)
        self.names[name] = name
        if kind == "parameter":
            self.parameters[name] = ParameterFact(
                name=name, aliases=(), kind="parameter", shape=dimensions, dtype="float32", each=array.size, count=1,
                readers=(), owner="block", value=key,
            )  # fmt: skip
        else:
            self.inputs[name] = TensorFact(shape=dimensions, dtype="float32", value=key)

    def _operation(self, names: Sequence[str], function: str, call: ast.Call, number: int, line: str) -> None:
        address = f"block/{names[0].replace('_', '-')}"
        arguments: dict[str, Any] = {}
        operands: dict[str, Any] = {}
        ports: list[Port] = []
        given = [*((str(place), value) for place, value in enumerate(call.args))]
        given += [(str(keyword.arg), keyword.value) for keyword in call.keywords]
        for name, value in given:
            encoded = self._encoded(value, ports)
            (operands if _holds_tensor(encoded) else arguments)[name] = encoded
        text = line.partition("=")[2].strip()
        lines = Lines(file=FILE, first=number, last=number, column=len(line) - len(text), end_column=len(line))
        node = Node(
            address=address, kind="kernel" if function in KERNELS else "operation", title=function, label=function,
            parent="block", function=_qualified(function),
            arguments=arguments, operands=operands, inputs=tuple(ports), symbol=Symbol(text=text, lines=lines),
            plumbing=function in ("view", "transpose", "to", "unsqueeze", "expand", "reshape"),
        )  # fmt: skip
        document = self._document({**self.nodes, address: node})
        results = self._evaluate(node, document)
        outputs = []
        for name, result in zip(names, results, strict=False):
            tensor = f"{address}/output-{name.replace('_', '-')}"
            fact = TensorFact(
                shape=tuple(Constant(value=size) for size in result.shape), dtype="float32", variable=name,
                producer=address, value=self.code.keep(result),
            )  # fmt: skip
            self.nodes[tensor] = Node(
                address=tensor, kind="tensor", title=name, label=name, parent=address, tensor=fact
            )
            self.names[name] = tensor
            outputs.append(Port(name=name, tensor=tensor, source="tensor"))
        self.outputs = tuple(outputs)
        self.nodes[address] = msgspec.structs.replace(
            node, outputs=self.outputs, children=tuple(port.tensor for port in outputs)
        )

    def _evaluate(self, node: Node, document: Document) -> list[np.ndarray[Any, Any]]:
        called = _kernel(node, document) if node.kind == "kernel" else call_of(node, document)
        assert called is not None, f"{node.function} is in no table"
        return [np.asarray(result) for result in as_list(evaluated(called, self._read(called.operands)))]

    def _read(self, operands: Sequence[Operand]) -> dict[Operand, Any]:
        read = {}
        for operand in operands:
            array = self.code.arrays[str(operand.value)]
            read[operand] = array.astype(np.float64) if array.dtype.kind == "f" else array
        return read

    def _encoded(self, value: ast.expr, ports: list[Port]) -> Any:
        if isinstance(value, ast.Name):
            tensor = self.names[value.id]
            source = "parameter" if tensor in self.parameters else "input" if tensor in self.inputs else "tensor"
            ports.append(Port(name=value.id, tensor=tensor, source=source))  # type: ignore[arg-type]
            encoded: dict[str, Any] = {"tensor": tensor}
            if tensor in self.parameters:
                encoded["value"] = self.parameters[tensor].value
            return encoded
        if isinstance(value, ast.List):
            return {"list": [self._encoded(element, ports) for element in value.elts]}
        if isinstance(value, ast.Call):  # slice(0, None, 2)
            return {"slice": [ast.literal_eval(argument) for argument in value.args]}
        plain = ast.literal_eval(value)
        return {"ellipsis": True} if plain is ... else plain


def _kernel(node: Node, document: Document) -> Call:
    """The call of a kernel that the table of formulas can evaluate."""
    kernel = EVALUATED[str(node.function)]
    return named_call(node, document, kernel.signature.split(), Entry(latex="", evaluate=kernel.evaluate))


def _holds_tensor(encoded: Any) -> bool:
    if isinstance(encoded, dict):
        return "tensor" in encoded or any(_holds_tensor(inner) for inner in encoded.values())
    return isinstance(encoded, list) and any(_holds_tensor(inner) for inner in encoded)


def _qualified(function: str) -> str:
    """The torch function that a short name means."""
    if function in ("scaled_dot_product_attention", "linear", "softmax", "silu", "gelu", "layer_norm", "embedding"):
        return f"torch.nn.functional.{function}"
    if function in KERNELS:
        return KERNELS[function]
    if function == "getitem":
        return "torch.Tensor.__getitem__"
    return f"torch.Tensor.{function}"
