"""Data flow between nodes: which tensor a node reads, past which views and casts, and where tensors live."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import attrgetter

import msgspec

from openmodelatlas.graph import naming
from openmodelatlas.graph.align import Site
from openmodelatlas.graph.document import Port
from openmodelatlas.graph.externals import input_name
from openmodelatlas.graph.hierarchy import Draft
from openmodelatlas.graph.labels import Labels
from openmodelatlas.graph.makers import Makers, TensorDraft, find_makers
from openmodelatlas.graph.operands import handed_texts, operand_texts
from openmodelatlas.graph.parameters import ParameterTable
from openmodelatlas.graph.received import Received, Rows
from openmodelatlas.graph.sizes import Sizes
from openmodelatlas.graph.syntax import FileSyntax, result_names
from openmodelatlas.graph.tree import Tree
from openmodelatlas.graph.wiring import (
    Wiring,
    argument_tensors,
    output_count,
    result_tensors,
    returned_tensors,
)


class Flow:
    """Resolves tensors to tensor drafts and makes ports."""

    def __init__(
        self,
        trees: Sequence[Tree],
        syntax: Mapping[str, FileSyntax],
        wiring: Wiring,
        labels: Labels,
        table: ParameterTable,
        layer_list: str,
        sizes: Sizes,
    ) -> None:
        self._trees = trees
        self._syntax = syntax
        self._wiring = wiring
        self._labels = labels
        self._table = table
        self._layer_list = layer_list
        self._drafts: dict[Site, Draft] = {}
        self._tensors: dict[tuple[Draft, int], TensorDraft] = {}
        self._inputs: dict[Draft, tuple[Port, ...]] = {}
        self._reads: dict[Draft, Rows] = {}
        self._makers: dict[int, Makers] = {}
        self._received = Received(sizes, self.makers)
        self.external: dict[tuple[int, int], str] = {}

    @property
    def tensors(self) -> Iterable[TensorDraft]:
        """All tensor drafts in order of execution."""
        return self._tensors.values()

    def enter(self, root: Draft) -> None:
        """Makes the tensor drafts of everything below ``root``."""
        self._makers.clear()
        for draft in root.walk():
            for site in (*draft.sites, *draft.body, *draft.operation):
                self._drafts[site] = draft
        taken: dict[Draft, set[str]] = {}
        for draft in root.walk():
            leaf = draft.leaf
            if leaf is None:
                continue
            for index in range(output_count(self._trees[leaf.probe].operation(leaf.event))):
                self._add(root, draft, leaf, index, taken)

    def _add(self, root: Draft, draft: Draft, site: Site, index: int, taken: dict[Draft, set[str]]) -> None:
        owner, outer = self._owner(root, draft, site, index)
        own = draft.expression or site
        several = len(self._results(outer)) > 1
        place = str(self._result_index(outer, site, index) + 1)
        # The call of a layer stands outside it; the layer's own last assignment says more. Elsewhere the call names its
        # results, except those it drops: ``states, _ = self.attention(…)``.
        places = [own, outer] if owner.kind == "layer group" else [outer, own] if several else [outer]
        variables = [(self._variable(named, site, index), named) for named in places]
        variable, named = next((pair for pair in variables if pair[0] is not None), variables[0])
        tensor = TensorDraft(draft, site, index, owner, variable=variable, line_site=named)
        self._tensors[draft, index] = tensor
        used = taken.setdefault(owner, {self._labels.names[child].segment for child in owner.children})
        short = tensor.variable.rpartition(".")[2] if tensor.variable else place
        segment = naming.unique(naming.slug(f"output {short}") if several or "output" in used else "output", used)
        parent = self._labels.addresses[owner]
        tensor.address = f"{parent}/{segment}" if parent else segment
        tensor.title = self._title(owner, tensor.variable or place, several)

    def _title(self, owner: Draft, variable: str, several: bool) -> str:
        if owner.kind == "layer group":
            base = "Block" if "block" in self._labels.names[owner].label else "Layer"
        else:
            base = self._labels.names[owner].title.partition(":")[0]
        return f"{base} output: {variable}" if several else f"{base} output"

    def _results(self, site: Site) -> list[tuple[tuple[str, ...], int]]:
        return result_tensors(site, self._trees[site.probe])

    def _owner(self, root: Draft, draft: Draft, site: Site, index: int) -> tuple[Draft, Site]:
        """The node that a tensor belongs to, and the site whose expression names it."""
        tensor = self._trees[site.probe].operation(site.event).outputs[index]
        owner, named = draft, draft.expression or site
        current = site
        while True:
            frame = current.frame
            if frame is None or len(current.path) > 1 or all(number != tensor for _, number in self._results(frame)):
                return owner, named
            current = frame
            candidate = self._drafts.get(frame)
            if candidate is root:
                return owner, named
            if candidate is not None:
                owner, named = candidate, candidate.expression or frame

    def _variable(self, named: Site, site: Site, index: int) -> str | None:
        tree = self._trees[named.probe]
        place = tree.place(named.event)
        if place is None or place[0] not in self._syntax:
            return None
        names = result_names(self._syntax[place[0]], place[1:])
        results = self._results(named)
        if len(names) == 1:
            return names[0] if len(results) < 2 else f"{names[0]}[{self._result_index(named, site, index)}]"
        tensor = self._trees[site.probe].operation(site.event).outputs[index]
        for path, number in results:
            if number == tensor and path and path[0].isdigit() and int(path[0]) < len(names):
                return names[int(path[0])]
        return None

    def _result_index(self, named: Site, site: Site, index: int) -> int:
        """Position of a tensor among what ``named`` returns."""
        tensor = self._trees[site.probe].operation(site.event).outputs[index]
        return next((place for place, (_, number) in enumerate(self._results(named)) if number == tensor), index)

    # Ports ----------------------------------------------------------------------------------------------------

    def frame_with_code(self, site: Site) -> Site | None:
        """The innermost enclosing call whose function stands in a file, comprehensions looked through."""
        frame = site.frame
        while frame is not None:
            recording = self._trees[frame.probe].recording
            code = recording.calls[~frame.event].code
            if code >= 0 and not recording.codes[code].name.endswith(">"):
                return frame
            frame = frame.frame
        return None

    def inputs(self, draft: Draft) -> tuple[Port, ...]:
        """What a node reads, in the order of its code."""
        if draft not in self._inputs:
            self._inputs[draft] = self._find_inputs(draft)
        return self._inputs[draft]

    def _find_inputs(self, draft: Draft) -> tuple[Port, ...]:
        site = draft.leaf or draft.running
        if site is None:
            return ()
        ports: list[Port] = []
        seen: set[tuple[str, str]] = set()
        recorded = argument_tensors(site.event, self._trees[site.probe])
        rows = self.reads(draft)
        for index, name in enumerate(self._argument_names(draft, site, recorded)):
            first = self.resolve(site.probe, recorded[index][1])
            others = self._sources(rows, index)
            others.pop(first.tensor, None)
            shape = self._received.shape(rows, index, several=bool(others)) if rows and len(rows[0][1]) else None
            port = msgspec.structs.replace(first, name=name or first.name, others=tuple(others), shape=shape)
            if (port.name, port.tensor) not in seen:
                seen.add((port.name, port.tensor))
                ports.append(port)
        return tuple(ports)

    def reads(self, draft: Draft) -> Rows:
        """The tensors that a node reads, a row for every member and round."""
        rows = self._reads.get(draft)
        if rows is None:
            rows = self._reads[draft] = []
            for probe, members in groupby(draft.operation or draft.body or draft.sites, key=attrgetter("probe")):
                readings = self._trees[probe].readings
                rows.append((probe, [readings[event].tensors for site in members for event in site.instances[probe]]))
        return rows

    def _argument_names(self, draft: Draft, site: Site, recorded: list[tuple[str, int]]) -> list[str]:
        """Names of arguments: the recording's for calls, the code's operands for operations."""
        if site.event < 0:
            return [name.removeprefix("kwargs.").removeprefix("args.") for name, _ in recorded]
        expression = draft.expression if draft.operation else site
        place = self._trees[site.probe].place(expression.event) if expression is not None else None
        if not draft.operation:
            operation = self._trees[site.probe].operation(site.event)
            texts = operand_texts(self._syntax[place[0]], place[1:], operation.form) if place is not None else []
            return [text or name for text, (name, _) in zip(texts or [None] * len(recorded), recorded, strict=True)]
        # ``self.q_proj(hidden_states)``: the code hands over the activations, the module adds its parameters.
        operands = handed_texts(self._syntax[place[0]], place[1:]) if place is not None else []
        origins = [self._trees[site.probe].recording.tensors[number].origin for _, number in recorded]
        handed = [index for index, origin in enumerate(origins) if origin not in ("parameter", "buffer")]
        given = dict(zip(handed, operands, strict=False)) if len(operands) >= len(handed) else {}
        return [given.get(index) or "" for index in range(len(recorded))]

    def resolve(self, probe: int, number: int) -> Port:
        """The tensor that a number of a probe is, plumbing looked through."""
        makers = self.makers(probe)
        via: list[str] = []
        made = makers.drafts[number]
        while made is not None:
            source = makers.handed_on.get(number)
            if source is None:
                name = made.variable or "output"
                return Port(name=name, tensor=made.address, source="tensor", via=tuple(reversed(via)))
            via.append(self._labels.addresses[made.operation])
            number, made = source, makers.drafts[source]
        return self._from_outside(probe, number, tuple(reversed(via)))

    def _sources(self, rows: Rows, index: int) -> dict[str, None]:
        """The tensors of :meth:`resolve` at one place of ``rows``."""
        made: dict[TensorDraft | None, None] = {}
        for probe, several in rows:
            ends = self.makers(probe).ends
            made |= dict.fromkeys([ends[row[index]] for row in several if index < len(row)])
        if None not in made:
            return {tensor.address: None for tensor in made if tensor is not None}
        pairs = ((probe, row) for probe, several in rows for row in several)
        return dict.fromkeys(self._source(probe, row[index]) for probe, row in pairs if index < len(row))

    def _source(self, probe: int, number: int) -> str:
        """The tensor of :meth:`resolve`."""
        made = self.makers(probe).ends[number]
        return made.address if made is not None else self.resolve(probe, number).tensor

    def _from_outside(self, probe: int, number: int, via: tuple[str, ...]) -> Port:
        """The port of a tensor that no node made."""
        recording = self._trees[probe].recording
        entry = recording.tensors[number]
        if entry.origin in ("parameter", "buffer"):
            parameter = recording.parameters[entry.index]
            fact = self._table.fact_name(parameter.name, self._layer_list)
            short = parameter.name.rpartition(".")[2]
            if fact is None:
                self.external[probe, number] = parameter.name
                return Port(name=short, tensor=parameter.name, source="outside", via=via)
            source = "parameter" if entry.origin == "parameter" else "buffer"
            return Port(name=short, tensor=fact, source=source, via=via)  # type: ignore[arg-type]
        key = self._external_name(probe, number, entry.name)
        source = "input" if entry.origin == "input" else "outside"
        return Port(name=entry.name or "outside", tensor=key, source=source, via=via)  # type: ignore[arg-type]

    def operand(self, probe: int, number: int) -> dict[str, str]:
        """A tensor as an operation reads it, past no plumbing (``Node.operands``)."""
        draft = self.makers(probe).drafts[number]
        if draft is None:
            port = self.resolve(probe, number)
            known = {"tensor": port.tensor}
            return known if probe or port.source in ("input", "outside") else {**known, "value": str(number)}
        producer = self._trees[draft.site.probe].operation(draft.site.event)
        same = draft.site.probe == probe and producer.outputs[draft.index] == number
        return {"tensor": draft.address} if same or probe else {"tensor": draft.address, "value": str(number)}

    def _external_name(self, probe: int, number: int, name: str) -> str:
        pair = (probe, number)
        if pair not in self.external:
            tree = self._trees[probe]
            self.external[pair] = input_name(tree, number, name) if name else f"outside-{len(self.external) + 1}"
        return self.external[pair]

    def makers(self, probe: int) -> Makers:
        """What the tensors of a probe are."""
        found = self._makers.get(probe)
        if found is None:
            found = find_makers(self._trees, probe, self._wiring.producers(probe), self.tensors)
            self._makers[probe] = found
        return found

    def outputs(self, draft: Draft, *, last: bool = False) -> tuple[Port, ...]:
        """What a node returns: its first member, with what others return instead, or its ``last`` member alone."""
        site = draft.leaf or draft.site
        if site is None:
            return ()
        members = draft.sites if draft.site is not None and draft.sites else [draft.site or site]
        first, *rest = members[-1:] if last else members[:1] if self._returns_its_own(draft) else members
        ports: dict[str, Port] = {}
        rows = [
            (probe, [returned_tensors(member, self._trees[probe]) for member in group])
            for probe, group in groupby(rest, key=attrgetter("probe"))
        ]
        every = [(first.probe, [returned_tensors(first, self._trees[first.probe])]), *rows]
        for index, (path, number) in enumerate(self._results(first)):
            port = self._output(first.probe, path, number)
            others = self._returned(rows, index)
            if port is None:
                continue
            differing = tuple(other for other in others if other not in (None, port.tensor))
            shape = self._received.shape(every, index, several=bool(differing)) if first.is_call else None
            if differing or shape is not None:
                port = msgspec.structs.replace(port, others=differing, shape=shape)
            ports.setdefault(port.tensor, port)
        return tuple(ports.values())

    def _returns_its_own(self, draft: Draft) -> bool:
        """Whether all members of an operation are known to return one tensor that they made, so none another one."""
        made = self._tensors.get((draft, 0)) if draft.kind == "operation" else None
        if made is None or (draft, 1) in self._tensors or len(self.reads(draft)) != 1:
            return False
        ((probe, rows),) = self.reads(draft)
        return self.makers(probe).counts[made] == len(rows)

    def _output(self, probe: int, path: tuple[str, ...], number: int) -> Port | None:
        """The port of one returned tensor."""
        if self._trees[probe].recording.tensors[number].origin != "operation":
            return self.resolve(probe, number)
        tensor = self.makers(probe).drafts[number]
        if tensor is None:
            return None
        name = tensor.variable or (path[-1] if path and not path[-1].isdigit() else "output")
        return Port(name=name, tensor=tensor.address, source="tensor")

    def _returned(self, rows: Rows, index: int) -> dict[str | None, None]:
        """The tensors of :meth:`_output` at one place of ``rows``."""
        made: dict[TensorDraft | None, None] = {}
        for probe, several in rows:
            drafts = self.makers(probe).drafts
            made |= dict.fromkeys([drafts[row[index]] for row in several if index < len(row)])
        if None not in made:
            return {tensor.address: None for tensor in made if tensor is not None}
        pairs = ((probe, row) for probe, several in rows for row in several)
        ports = (self._output(probe, (), row[index]) for probe, row in pairs if index < len(row))
        return dict.fromkeys(port.tensor if port is not None else None for port in ports)
