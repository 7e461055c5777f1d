"""Runs small models in this process under the recorder, on several sizes, and builds their documents.

What a capture in a child process brings back comes here from the same recorder, without the process.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import msgspec
import torch
from torch import nn

from openmodelatlas.capture.child.modules import describe_parameters
from openmodelatlas.capture.child.recorder import Recorder
from openmodelatlas.capture.child.weights import fill
from openmodelatlas.capture.recording import RECORDING_FORMAT, Probe, Recording, Summary, link
from openmodelatlas.graph.align import Aligner, Element, LoopSite, Site
from openmodelatlas.graph.build import Subject, build_document
from openmodelatlas.graph.document import Document, Node, Provenance
from openmodelatlas.graph.fold import Folder, LoopFold, SiteFold
from openmodelatlas.graph.hierarchy import Draft, Hierarchy
from openmodelatlas.graph.preparation import Preparation
from openmodelatlas.graph.roles import Roles
from openmodelatlas.graph.sizes import Sizes
from openmodelatlas.graph.tree import Tree
from openmodelatlas.graph.wiring import Wiring
from openmodelatlas.shapes.solve import Solver, decode_sizes, prefill_sizes

CORPUS = Path(__file__).parent.parent / "corpus" / "models"

# One column a probe (three that solve, one held out), then the published size.
SIZES = {
    "hidden_size": (22, 34, 26, 38, 4096),
    "intermediate_size": (31, 53, 43, 61, 11008),
    "moe_intermediate_size": (17, 13, 29, 19, 2048),
    "vocab_size": (59, 71, 83, 97, 32000),
    "num_heads": (3, 2, 5, 4, 32),
    "head_dim": (14, 10, 6, 18, 128),
    "num_experts": (41, 47, 35, 49, 64),
    "num_experts_per_tok": (2, 4, 3, 5, 8),
}
BATCHES, TOKENS = (2, 3, 5, 4), (11, 9, 7, 13)
ROLES = ("solve", "solve", "solve", "held-out", "repeat")

Make = Callable[[dict[str, int]], nn.Module]


def column(index: int) -> dict[str, int]:
    """The sizes of one probe; of the published model for -1."""
    return {key: row[index] for key, row in SIZES.items()}


def run(make: Make, index: int, *, tokens: bool, decode: bool, dtype: str = "float32") -> Recording:
    """Records the ``index``-th probe: B×T token numbers or B×T×hidden_size states; a decode step if asked for."""
    place = 0 if ROLES[index] == "repeat" else index
    sizes, batch, length = column(place), BATCHES[place], TOKENS[place]
    model = make(sizes).to(getattr(torch, dtype)).eval()
    fill(model, index)
    torch.manual_seed(100 + index)
    if tokens:
        name, value = "input_ids", torch.randint(0, sizes["vocab_size"], (batch, length))
    else:
        name, value = "hidden_states", torch.randn(batch, length, sizes["hidden_size"], dtype=getattr(torch, dtype))
    recorder = Recorder(model, roots={"source": CORPUS}, keep_values=False)
    with torch.no_grad(), recorder.record("prefill", {name: value}):
        result = model(value)
    if decode:
        step = torch.randint(0, sizes["vocab_size"], (batch, 1))
        with torch.no_grad(), recorder.record("decode", {name: step}):
            model(step, cache=result[1])
    probe = Probe(
        name="abcde"[index], role=ROLES[index], sizes=sizes, batch=batch, tokens=length, dtype=dtype, seed=index
    )
    return handed_over(recorder.finish(probe)[0])


def handed_over(recorded: Recording) -> Recording:
    """What a child recorded as it comes to the parent."""
    return link(msgspec.json.decode(msgspec.json.encode(recorded), type=Recording))


def record(make: Make, *, tokens: bool = False, decode: bool = False) -> list[Recording]:
    """All probes; the second one in bfloat16, as captures do."""
    dtypes = ("float32", "bfloat16", "float32", "float32", "float32")
    return [run(make, index, tokens=tokens, decode=decode, dtype=dtypes[index]) for index in range(len(ROLES))]


def summary(make: Make) -> Summary:
    """What concerns the whole capture: the published sizes and the parameters there."""
    with torch.device("meta"):
        parameters = [described for described, _ in describe_parameters(make(column(-1)))]
    return Summary(
        format=RECORDING_FORMAT,
        python="3.11",
        torch=str(torch.__version__),
        transformers="",
        effective_configuration=column(-1),
        choices=[],
        parameters=parameters,
        parameters_failure=None,
        seconds={},
        notes=[],
    )


def subject() -> Subject:
    """What the documents of these tests say they are of."""
    provenance = Provenance(
        source="folder",
        repository="corpus",
        revision="0",
        requested_revision=None,
        entry="corpus",
        configuration_origin="tests",
        preferred=(),
        versions={},
        choices=(),
        probes=(),
    )
    return Subject(model="small", title="Small", repository="corpus", revision="0", url=None, provenance=provenance)


@dataclass
class Built:
    """A model with its recordings; the stages of the graph are made when they are asked for."""

    make: Make
    recordings: list[Recording]

    @cached_property
    def document(self) -> Document:
        return build_document(subject(), self.recordings, summary(self.make))

    @property
    def nodes(self) -> dict[str, Node]:
        return self.document.nodes

    def of_kind(self, kind: str) -> list[Node]:
        return [node for node in self.nodes.values() if node.kind == kind]

    def group(self, address: str = "layers") -> Node:
        return self.nodes[address]

    def variants(self, address: str = "layers") -> list[tuple[int, ...]]:
        """Members of each variant of a group; one tuple for a group that is one variant."""
        node = self.nodes[address]
        inner = [self.nodes[c] for c in node.children if self.nodes[c].kind in ("layer group", "loop")]
        return [child.members for child in inner] if all(c.members for c in inner) and inner else [node.members]

    def operations(self, function: str) -> list[Node]:
        """Nodes of operations whose torch function ends so."""
        return [n for n in self.nodes.values() if n.kind != "tensor" and (n.function or "").endswith(function)]

    def shape(self, address: str) -> list[str]:
        """A tensor's dimensions as text."""
        fact = self.nodes[address].tensor
        assert fact is not None
        return [str(getattr(d, "expression", getattr(d, "value", type(d).__name__))) for d in fact.shape]

    # Stages ---------------------------------------------------------------------------------------------------

    @cached_property
    def trees(self) -> list[Tree]:
        return Preparation().trees(self.recordings)[0]

    @cached_property
    def root(self) -> Site:
        root = Aligner(self.trees, len(self.trees)).align(0)
        assert root is not None
        return root

    @cached_property
    def wiring(self) -> Wiring:
        return Wiring(self.trees, [self.root])

    @cached_property
    def sizes(self) -> Sizes:
        roles = Roles((0, 1, 2), 3, 4, None, 1)
        solvers = {}
        for phase, sizes_of in (("prefill", prefill_sizes), ("decode", decode_sizes)):
            rows = [sizes_of(r.probe.sizes, r.probe.batch, r.probe.tokens) for r in self.recordings]
            solvers[phase] = Solver(rows[:3], rows[3], column(-1))
        sizes = Sizes(self.trees, roles, solvers, self.wiring, column(-1))
        sizes.prepare(self.root)
        return sizes

    @cached_property
    def folder(self) -> Folder:
        return Folder(self.trees, self.wiring, self.sizes)

    @cached_property
    def fold(self) -> SiteFold:
        return self.folder.fold(self.root)

    @cached_property
    def draft(self) -> Draft:
        return Hierarchy(self.trees).model(self.fold, "model")

    def loops(self) -> list[LoopSite]:
        return list(loops_in(self.root.children))

    def loop_folds(self) -> list[LoopFold]:
        return list(loop_folds_in(self.fold.children))


def loops_in(elements: Sequence[Element]):
    for element in elements:
        if isinstance(element, LoopSite):
            yield element
            for part in element.rounds:
                yield from loops_in(part)
        else:
            yield from loops_in(element.children)


def loop_folds_in(folds):
    for fold in folds:
        if isinstance(fold, LoopFold):
            yield fold
            for variant in fold.variants:
                yield from loop_folds_in(variant.children)
        yield from loop_folds_in(fold.children)


def build(make: Make, *, tokens: bool = False, decode: bool = False) -> Built:
    """Records a model; its document is built when it is asked for."""
    return Built(make, record(make, tokens=tokens, decode=decode))
