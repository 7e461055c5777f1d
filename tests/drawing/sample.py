"""A made-up decoder as a document: a residual block with a cache, plumbing, a branch and a loop over experts."""

from __future__ import annotations

from typing import Any

import msgspec

from openmodelatlas.annotation.knowledge import Knowledge, NodeKnowledge
from openmodelatlas.graph.document import (
    DOCUMENT_FORMAT,
    Branch,
    Document,
    Lines,
    Node,
    ParameterFact,
    Port,
    Provenance,
    Repeat,
    SizeName,
    TensorFact,
)
from openmodelatlas.shapes.dimension import Constant, Dimension, Symbolic

B, T, D = Symbolic("B", None), Symbolic("T", None), Symbolic("hidden_size", 7168)
H, E = Symbolic("heads", 64), Symbolic("head_dim", 112)
ONE = Constant(1)
HIDDEN = (B, T, D)
LINES = Lines(file="model.py", first=1, last=2)

SIZES = {
    "B": SizeName(symbol="B", name="batch", value=None),
    "T": SizeName(symbol="T", name="positions", value=None),
    "hidden_size": SizeName(symbol="d", name="hidden_size", value=7168),
    "heads": SizeName(symbol="h", name="heads", value=64),
    "head_dim": SizeName(symbol="d_h", name="head_dim", value=112),
}


class Sample:
    """Collects nodes; every node gives one tensor, which stands beside it."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.parameters: dict[str, ParameterFact] = {}
        self.inputs: dict[str, TensorFact] = {}

    def add(self, address: str, kind: Any = "module", **facts: Any) -> str:
        parent = None if address == "" else address.rpartition("/")[0]
        title = facts.pop("title", address.rpartition("/")[2] or "Sample")
        self.nodes[address] = Node(address=address, kind=kind, title=title, label=title, parent=parent, **facts)
        if parent is not None:
            above = self.nodes[parent]
            self.nodes[parent] = msgspec.structs.replace(above, children=(*above.children, address))
        return address

    def box(
        self,
        address: str,
        reads: dict[str, Any],
        shape: tuple[Dimension, ...] = HIDDEN,
        gives: str = "output",
        kind: Any = "module",
        **facts: Any,
    ) -> str:
        """Adds a node which reads the tensors of ``reads`` (a port's name to a tensor, or tensor and plumbing)."""
        ports = []
        for name, source in reads.items():
            tensor, via = source if isinstance(source, tuple) else (source, ())
            source_kind: Any = (
                "tensor" if tensor in self.nodes else "parameter" if tensor in self.parameters else "input"
            )
            ports.append(Port(name=name, tensor=tensor, source=source_kind, via=via))
        output = f"{address}/output"
        self.add(address, kind, inputs=tuple(ports), **facts)
        self.tensor(output, address, shape, gives)
        self.nodes[address] = msgspec.structs.replace(
            self.nodes[address], outputs=(Port(name=gives, tensor=output, source="tensor"),)
        )
        for name, source in reads.items():
            tensor = source[0] if isinstance(source, tuple) else source
            self._read(name, tensor, address)
        return output

    def tensor(self, address: str, producer: str, shape: tuple[Dimension, ...], variable: str | None) -> None:
        fact = TensorFact(
            shape=shape,
            dtype="bfloat16",
            variable=None if variable == "output" else variable,
            producer=producer,
            value_note="not kept",
        )
        phase: Any = "decode" if address.startswith("decode") else "prefill"
        self.add(address, "tensor", tensor=fact, phase=phase)
        if producer in self.nodes and phase == "decode":
            self.nodes[producer] = msgspec.structs.replace(self.nodes[producer], phase=phase)

    def _read(self, _: str, tensor: str, reader: str) -> None:
        node = self.nodes.get(tensor)
        if node is not None and node.tensor is not None:
            fact = msgspec.structs.replace(node.tensor, consumers=(*node.tensor.consumers, reader))
            self.nodes[tensor] = msgspec.structs.replace(node, tensor=fact)

    def parameter(self, name: str, shape: tuple[Dimension, ...]) -> str:
        self.parameters[name] = ParameterFact(
            name=name,
            aliases=(),
            kind="parameter",
            shape=shape,
            dtype="bfloat16",
            each=1,
            count=1,
            readers=(),
            owner="",
        )
        return name

    def leave(self, address: str, name: str, tensor: str) -> None:
        node = self.nodes[address]
        port = Port(name=name, tensor=tensor, source="tensor")
        self.nodes[address] = msgspec.structs.replace(node, outputs=(*node.outputs, port))

    def document(self) -> Document:
        return Document(
            format=DOCUMENT_FORMAT,
            model="sample",
            title="Sample",
            provenance=Provenance(
                source="folder",
                repository="sample",
                revision="1",
                requested_revision=None,
                entry="Sample",
                configuration_origin="file",
                preferred=(),
                versions={},
                choices=(),
                probes=(),
            ),
            configuration={},
            configuration_defaults=(),
            sizes=SIZES,
            nodes=self.nodes,
            inputs=self.inputs,
            parameters=self.parameters,
            files={},
            checks=(),
            notes=(),
        )


def decoder() -> Document:
    """The sample model, with the layers 1 to 3 as one group."""
    sample = Sample()
    sample.add("", "model")
    sample.inputs["input_ids"] = TensorFact(shape=(B, T), dtype="int64", value_note="not kept")
    embedded = sample.box("embed", {"input_ids": "input_ids"}, gives="inputs_embeds")
    mask = sample.box("mask", {"inputs_embeds": embedded}, (B, ONE, T, T), gives="mask", kind="function")
    cosines = sample.box("cosines", {}, (T, E), gives="cos", kind="function")
    sines = sample.box("sines", {}, (T, E), gives="sin", kind="function")
    sample.add("block", "layer group", title="3 blocks", count=3, members=(1, 2, 3))
    normed = sample.box("block/norm", {"hidden_states": embedded}, gives="normed", count=3)
    sample.box("block/view", {"x": normed}, (B, T, H, E), kind="operation", plumbing=True, function="torch.Tensor.view")
    sample.box(
        "block/transpose", {"x": (normed, ("block/view",))}, (B, H, T, E), kind="operation", plumbing=True,
        function="torch.Tensor.transpose",
    )  # fmt: skip
    sample.parameter("layers.*.attention.weight", (D, D))
    mixed = sample.box(
        "block/attention",
        {
            "x": (normed, ("block/view", "block/transpose")),
            "mask": mask,
            "cos": cosines,
            "sin": sines,
            "weight": "layers.*.attention.weight",
        },
        gives="update",
        count=3,
        parameters=("layers.*.attention.weight",),
    )
    cached = sample.box("block/attention/append", {"x": normed}, (B, H, T, E), gives="keys", kind="operation")
    for tensor in (mask, cosines, sines):
        sample._read("", tensor, "block/attention/append")
    joined = sample.box(
        "block/add", {"hidden_states": embedded, "update": mixed}, gives="hidden_states", kind="operation",
        function="torch.Tensor.add", title="Add attention update",
    )  # fmt: skip
    branch = Branch(test="self.is_sparse", lines=LINES, taken={"true": (1, 2, 3), "false": (4, 5)})
    fed = sample.box(
        "block/choose", {"x": joined}, gives="update", kind="branch", branches=(branch,), members=(1, 2, 3),
        title="Feed forward, if self.is_sparse",
    )  # fmt: skip
    sample.box(
        "block/choose/each-expert", {"x": joined}, kind="loop",
        repeat=Repeat(observed=(4, 8), expression=None, of="experts", note="8 of 384 per token; the probes reached 4"),
    )  # fmt: skip
    sample.box("block/choose/each-expert/up", {"x": joined}, kind="operation", function="torch.matmul")
    left = sample.box(
        "block/add-2", {"hidden_states": joined, "update": fed}, gives="hidden_states", kind="operation",
        function="torch.Tensor.add", title="Add feed-forward update",
    )  # fmt: skip
    sample.leave("block", "hidden_states", left)
    sample.box("head", {"hidden_states": left}, gives="logits")
    sample.leave("", "logits", "head/output")
    sample.add("decode", "phase", title="Decode step", phase="decode")
    sample.box("decode/attention", {"keys": cached}, (B, H, ONE, E), kind="function")
    return sample.document()


def knowledge() -> Knowledge:
    """Names and families for some of its nodes."""
    return Knowledge(
        nodes={
            "block/norm": NodeKnowledge(title="Input norm", family="norm", symbols={"block/norm/output": r"\hat{x}_n"}),
            "block/attention": NodeKnowledge(title="Attention over `keys`", family="attention"),
        }
    )
