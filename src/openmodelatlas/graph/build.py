"""From recordings to the document: the order of the stages of this folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from openmodelatlas.capture.recording import Phase, Recording, Summary
from openmodelatlas.errors import GraphError
from openmodelatlas.graph import invariants
from openmodelatlas.graph.align import Aligner, Site
from openmodelatlas.graph.branches import Coverage
from openmodelatlas.graph.checks import make_checks
from openmodelatlas.graph.document import DOCUMENT_FORMAT, CitedFile, Document, Node, Provenance, SizeName
from openmodelatlas.graph.externals import external_facts, with_readers
from openmodelatlas.graph.flow import Flow
from openmodelatlas.graph.fold import Folder
from openmodelatlas.graph.hierarchy import Draft, Hierarchy
from openmodelatlas.graph.labels import Labels, Name
from openmodelatlas.graph.nodes import Nodes
from openmodelatlas.graph.ownership import Ownership, main_layers
from openmodelatlas.graph.parameters import ParameterTable, publish, solve_parameters
from openmodelatlas.graph.preparation import Preparation
from openmodelatlas.graph.readers import Readers
from openmodelatlas.graph.roles import Roles
from openmodelatlas.graph.sizes import Sizes
from openmodelatlas.graph.wiring import Wiring
from openmodelatlas.shapes.names import published_sizes, symbols_for
from openmodelatlas.shapes.solve import Solver, decode_sizes, parameter_sizes, prefill_sizes
from openmodelatlas.sources.packages import code_url

PHASES: tuple[Phase, Phase] = ("prefill", "decode")


@dataclass(frozen=True)
class Subject:
    """What the atlas is of.

    Attributes:
        model: identifier, ``kimi-k2``.
        title: display name, ``Kimi K2``.
        repository, revision, url: where the source's own files come from (``url`` with ``{path}``, ``{first}``,
            ``{last}``, or ``None``).
        provenance: everything about the source that goes into the document; ``versions``, ``choices`` and ``probes``
            are filled in here.
    """

    model: str
    title: str
    repository: str
    revision: str
    url: str | None
    provenance: Provenance


def build_document(
    subject: Subject, recordings: Sequence[Recording], summary: Summary, preparation: Preparation | None = None
) -> Document:
    """Aligns, solves, folds, names and checks.

    Args:
        subject: what the atlas is of.
        recordings: all probes; at least two that solve and one held out.
        summary: what concerns the whole capture.
        preparation: what was done already with some of the recordings.

    Raises:
        GraphError: probes are missing, or an invariant does not hold.
        ShapeError: dimensions contradict each other.
    """
    ordered, roles = _order(recordings)
    return _Build(subject, ordered, roles, summary, preparation or Preparation()).document()


def _order(recordings: Sequence[Recording]) -> tuple[list[Recording], Roles]:
    """Solving probes first, then the held-out one, the repeat, and the true-size run, which may have stopped early."""
    by_role: dict[str, list[Recording]] = {}
    for recording in sorted(recordings, key=lambda item: item.probe.name):
        by_role.setdefault(recording.probe.role, []).append(recording)
    solving, held_out = by_role.get("solve", []), by_role.get("held-out", [])
    if len(solving) < 2 or not held_out:
        raise GraphError("The capture brought back too few probes to solve dimensions from.", where="the capture")
    ordered = [*solving, held_out[0]]
    repeat = true_size = None
    if by_role.get("repeat"):
        repeat = len(ordered)
        ordered.append(by_role["repeat"][0])
    if by_role.get("true-size"):
        true_size = len(ordered)
        ordered.append(by_role["true-size"][0])
    published = next((i for i, r in enumerate(solving) if r.probe.dtype not in ("float32", "float64")), None)
    return ordered, Roles(tuple(range(len(solving))), len(solving), repeat, true_size, published)


class _Build:
    """The intermediate results of one build, stage by stage."""

    def __init__(
        self,
        subject: Subject,
        recordings: list[Recording],
        roles: Roles,
        summary: Summary,
        preparation: Preparation,
    ) -> None:
        self._subject = subject
        self._recordings = recordings
        self._roles = roles
        self._summary = summary
        self._configuration: Mapping[str, Any] = summary.effective_configuration
        self._trees, self._syntax = preparation.trees(recordings)
        self._sizes_published = published_sizes(self._configuration, recordings[0].probe.sizes)
        self._add_written_lengths()

    def document(self) -> Document:
        roots = self._roots()
        wiring = Wiring(self._trees, roots)
        sizes = Sizes(self._trees, self._roles, self._solvers(), wiring, self._sizes_published)
        for root in roots:
            sizes.prepare(root)
        drafts, labels = self._named(roots, wiring, sizes)
        layer_list, groups = main_layers(drafts[0], labels)
        table = self._parameters(layer_list)
        ownership = Ownership(drafts, labels, table, layer_list)
        publish(table, groups, ownership.owners)
        flow = Flow(self._trees, self._syntax, wiring, labels, table, layer_list, sizes)
        for draft in drafts:
            flow.enter(draft)
        readers = Readers(self._trees, flow, labels, table, layer_list)
        for draft in drafts:
            for leaf in draft.walk():
                if leaf.leaf is not None:
                    readers.note(leaf)
        nodes = self._nodes(drafts, labels, flow, sizes, ownership)
        inputs = with_readers(external_facts(flow.external, self._trees, sizes, self._roles), nodes)
        table.note_use(readers.of_parameters, self._recordings[0].parameters, layer_list)
        document = self._assemble(nodes, table, inputs, wiring, sizes)
        invariants.check(document)
        invariants.check_events(document, len(self._recordings[0].operations))
        return document

    def _add_written_lengths(self) -> None:
        """Lengths that the code writes down (a chunk of 64) are no keys, and are the same in a probe as in truth."""
        for name, size in self._recordings[0].probe.sizes.items():
            same = all(r.probe.sizes.get(name, size) == size for r in self._recordings)
            if same and name not in self._sizes_published:
                self._sizes_published[name] = size

    def _roots(self) -> list[Site]:
        complete = len(self._trees) - (self._roles.true_size is not None)
        aligner = Aligner(self._trees, complete)
        roots = [aligner.align(index) for index in range(max(len(tree.roots) for tree in self._trees))]
        found = [root for root in roots if root is not None]
        if not found or not self._recordings[0].operations:
            raise GraphError(
                "No operation of the model was recorded.",
                where="the capture",
                advice="Its forward must call torch functions itself: not in a thread, and not while a module is "
                "imported.",
            )
        return found

    def _solvers(self) -> dict[Phase, Solver]:
        solvers: dict[Phase, Solver] = {}
        for phase, sizes_of in zip(PHASES, (prefill_sizes, decode_sizes), strict=True):
            rows = [sizes_of(r.probe.sizes, r.probe.batch, r.probe.tokens) for r in self._recordings]
            true = dict(self._sizes_published)
            if self._roles.true_size is not None:
                probe = self._recordings[self._roles.true_size].probe
                true = sizes_of(true, probe.batch, probe.tokens)
            solvers[phase] = Solver([rows[i] for i in self._roles.solving], rows[self._roles.held_out], true)
        return solvers

    def _named(self, roots: list[Site], wiring: Wiring, sizes: Sizes) -> tuple[list[Draft], Labels]:
        folder = Folder(self._trees, wiring, sizes)
        hierarchy = Hierarchy(self._trees)
        labels = Labels(self._trees, self._syntax, self._configuration)
        drafts: list[Draft] = []
        for index, root in enumerate(roots):
            if index == 0:
                draft = hierarchy.model(folder.fold(root), "model")
                labels.assign(draft, "", Name(self._subject.title, self._subject.title, self._subject.model))
            else:
                draft = hierarchy.model(folder.fold(root), "phase")
                segment = "decode" if index == 1 else f"decode-{index}"
                labels.assign(draft, segment, Name("Decode step", "Decode step", segment))
            drafts.append(draft)
        return drafts, labels

    def _parameters(self, layer_list: str) -> ParameterTable:
        rows = [parameter_sizes(recording.probe.sizes) for recording in self._recordings]
        solver = Solver(
            [rows[index] for index in self._roles.solving],
            rows[self._roles.held_out],
            dict(self._sizes_published),
        )
        probes = [recording.parameters for recording in self._recordings]
        full_size = self._summary.parameters or self._recordings[0].parameters
        return solve_parameters(probes, full_size, self._roles, solver, layer_list)

    def _nodes(
        self, drafts: list[Draft], labels: Labels, flow: Flow, sizes: Sizes, ownership: Ownership
    ) -> dict[str, Node]:
        coverage = Coverage()
        for tree in self._trees:
            coverage.note(tree)
        maker = Nodes(self._trees, self._syntax, sizes, labels, flow, coverage)
        made: list[Node] = []
        for draft, phase in zip(drafts, PHASES, strict=False):
            made.extend(maker.make(draft, phase, ownership.parameters_of(draft, flow)))
        self._cited = maker.source.cited
        nodes = {node.address: node for node in made}
        if len(nodes) != len(made):
            raise GraphError("Two nodes have the same address.", where="the model")
        phases = tuple(labels.addresses[draft] for draft in drafts[1:])
        root = nodes[""]
        nodes[""] = msgspec.structs.replace(root, children=root.children + phases)
        return {address: ownership.counted(node) for address, node in nodes.items()}

    def _assemble(
        self, nodes: dict[str, Node], table: ParameterTable, inputs: dict[str, Any], wiring: Wiring, sizes: Sizes
    ) -> Document:
        names = symbols_for([*self._sizes_published, "B", "T", "P"])
        return Document(
            format=DOCUMENT_FORMAT,
            model=self._subject.model,
            title=self._subject.title,
            provenance=self._provenance(),
            configuration=dict(self._configuration),
            configuration_defaults=tuple(
                choice.key for choice in self._summary.choices if choice.origin == "class default"
            ),
            sizes={
                key: SizeName(symbol=symbol, name=spoken, value=self._sizes_published.get(key))
                for key, (symbol, spoken) in names.items()
            },
            nodes=nodes,
            inputs=inputs,
            parameters=table.facts,
            files=self._files(),
            checks=make_checks(table, self._summary, self._recordings, self._roles, wiring.sites, sizes),
            notes=tuple(self._summary.notes),
        )

    def _provenance(self) -> Provenance:
        summary = self._summary
        versions = self._subject.provenance.versions | {
            name: version
            for name, version in (
                ("python", summary.python),
                ("torch", summary.torch),
                ("transformers", summary.transformers),
            )
            if version
        }
        return msgspec.structs.replace(
            self._subject.provenance,
            versions=versions,
            choices=tuple(msgspec.to_builtins(choice) for choice in summary.choices),
            probes=tuple(msgspec.to_builtins(recording.probe) for recording in self._recordings),
        )

    def _files(self) -> dict[str, CitedFile]:
        files: dict[str, CitedFile] = {}
        for recording in self._recordings:
            for file in recording.files:
                if file.path not in self._cited or file.path in files:
                    continue
                own = file.origin == "source"
                repository, _, revision = file.package.partition(" ")
                if own:
                    repository, revision = self._subject.repository, self._subject.revision
                url = self._subject.url.replace("{path}", file.path) if own and self._subject.url else None
                files[file.path] = CitedFile(
                    path=file.path,
                    repository=repository,
                    revision=revision,
                    sha256=file.sha256,
                    url=url or code_url(repository, revision, file.path),
                )
        return files
