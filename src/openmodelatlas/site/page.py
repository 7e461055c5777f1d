"""From a node of an atlas to its page."""

from __future__ import annotations

import math
from collections.abc import Sequence

from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.evidence.sources import EvidenceFinder
from openmodelatlas.graph.document import Branch, Lines, Node, ParameterFact, Port, Unreached
from openmodelatlas.graph.outcomes import branches_of
from openmodelatlas.site.arguments import page_arguments, page_attributes
from openmodelatlas.site.constants import constants
from openmodelatlas.site.describe import describe_node
from openmodelatlas.site.dimensions import DimensionWriter, shape_text
from openmodelatlas.site.fields import (
    Crumb,
    Page,
    PageAtlas,
    PageBranch,
    PageCheck,
    PageChild,
    PageCode,
    PageLayers,
    PageParameter,
    PageParameters,
    PageProvenance,
    PageRepeat,
    PageSymbol,
    PageTensor,
    PageUnreached,
    PageVariation,
)
from openmodelatlas.site.neighbours import Neighbours
from openmodelatlas.site.ports import PortWriter
from openmodelatlas.site.words import crumb_label, heading

_SHOWN_ELEMENTS = 8


def build_page(atlas: Atlas, address: str) -> Page:
    """The page of the node called ``address`` (or any name that :meth:`Atlas.__getitem__` takes).

    Raises:
        UsageError: there is no such node.
        BundleError: a cited source or value is missing or altered.
    """
    return PageBuilder(atlas).page(atlas[address])


class PageBuilder:
    """Builds pages of one atlas; what pages share is computed once."""

    def __init__(self, atlas: Atlas) -> None:
        self.atlas = atlas
        self._document = atlas.document
        self._nodes = atlas.document.nodes
        self._evidence = EvidenceFinder(atlas.document, atlas.lines_of)
        self._dimensions = DimensionWriter(atlas.document.sizes)
        self._neighbours = Neighbours(atlas.document.nodes)
        self._ports = PortWriter(atlas.document, self._dimensions, self._neighbours)
        self._conditions: dict[tuple[str, str, int, int], list[Node]] = {}
        self._operations: dict[str, int] = {}
        self._parameters: dict[str, PageParameter] = {}
        self._texts: dict[tuple[str, int, int], str] = {}
        self._provenance = self._build_provenance()

    def page(self, node: Node) -> Page:
        """The page of ``node``. Raises as :func:`build_page`."""
        inputs = tuple(self._ports.input(node, port) for port in node.inputs)
        outputs = tuple(self._ports.output(node, port) for port in node.outputs)
        if node.tensor is not None and not outputs:
            outputs = (self._ports.output(node, Port(name=node.title, tensor=node.address, source="tensor")),)
        first = self._ports.first_shape(node)
        siblings = self._nodes[node.parent].children if node.parent is not None else ()
        place = siblings.index(node.address) if node.address in siblings else -1
        return Page(
            model=self._document.model,
            model_title=self._document.title,
            address=node.address,
            title=heading(node),
            label=crumb_label(node),
            kind=node.kind,
            phase=node.phase,
            breadcrumb=tuple(self._crumb(above.address) for above in self.atlas.parents(node)[1:]),
            symbol=_symbol(node),
            description=describe_node(
                node,
                self._nodes,
                operations=self._count_operations(node),
                axes=[dimension.text for dimension in first],
                layers=self._count_layers() if node.kind == "model" else 0,
            ),
            parameters=PageParameters(
                count=node.parameter_count,
                each=node.parameter_count_each,
                tensors=tuple(self._parameter(name) for name in node.parameters if name in self._document.parameters),
            ),
            formula=None,
            inputs=inputs,
            outputs=outputs,
            explanation=(),
            code=self._code(node),
            sources=self._evidence.evidence(node),
            layers=PageLayers(
                members=node.members,
                branches=tuple(self._branch(branch, node) for branch in branches_of(node, self._nodes)),
            ),
            function=node.function,
            module=node.module,
            class_name=node.class_name,
            arguments=page_arguments(node),
            attributes=page_attributes(node),
            plumbing=node.plumbing,
            repeat=_repeat(node),
            variations=tuple(PageVariation(what=item.what, values=item.values) for item in node.variations),
            tensor=self._tensor(node),
            children=tuple(self._child(self._nodes[address], node) for address in node.children),
            previous=self._crumb(siblings[place - 1]) if place > 0 else None,
            next=self._crumb(siblings[place + 1]) if 0 <= place < len(siblings) - 1 else None,
            provenance=self._provenance,
            atlas=self._about_atlas() if node.kind == "model" else None,
        )

    def _crumb(self, address: str) -> Crumb:
        return self._neighbours.crumb(address)

    def _count_operations(self, node: Node) -> int:
        """Operations and kernels inside ``node``, folded ones once."""
        if not self._operations:
            # Nodes come after what encloses them, so that going backwards adds up from the inside.
            for inner in reversed(self._nodes.values()):
                own = 1 if inner.kind in ("operation", "kernel") else 0
                total = own + self._operations.get(inner.address, 0)
                self._operations[inner.address] = total
                if inner.parent is not None:
                    self._operations[inner.parent] = self._operations.get(inner.parent, 0) + total
        return self._operations[node.address]

    def _count_layers(self) -> int:
        return len({number for node in self._nodes.values() for number in node.members})

    def _parameter(self, name: str) -> PageParameter:
        written = self._parameters.get(name)
        if written is None:
            fact: ParameterFact = self._document.parameters[name]
            written = self._parameters[name] = PageParameter(
                name=fact.name,
                aliases=fact.aliases,
                kind=fact.kind,
                shape=self._dimensions.shape(fact.shape),
                dtype=fact.dtype,
                each=fact.each,
                count=fact.count,
                owner=fact.owner if fact.owner in self._nodes else None,
                readers=fact.readers,
            )
        return written

    def _text(self, lines: Lines) -> str:
        key = (lines.file, lines.first, lines.last)
        if key not in self._texts:
            self._texts[key] = self.atlas.text_of(Lines(file=lines.file, first=lines.first, last=lines.last))
        return self._texts[key]

    def _code(self, node: Node) -> PageCode | None:
        holder = node
        if node.code is None and node.tensor is not None and node.tensor.producer in self._nodes:
            holder = self._nodes[node.tensor.producer]
        code = holder.code or self._code_around(node)
        if code is None or code.file not in self._document.files:
            return None
        own = node.symbol.lines if node.symbol is not None else None
        if own is not None and not (own.file == code.file and code.first <= own.first <= own.last <= code.last):
            own = None
        cited = self._document.files[code.file]
        url = cited.url
        if url is not None:
            url = url.replace("{first}", str(code.first)).replace("{last}", str(code.last))
        return PageCode(
            file=cited.path,
            lines=(code.first, code.last),
            text=self._text(code),
            name=self._evidence.code_name(code),
            own_lines=(own.first, own.last) if own is not None else None,
            own_columns=_columns(own) if own is not None else None,
            url=url,
            unreached=tuple(_unreached(item) for item in self._unreached_within(node, code)),
        )

    def _code_around(self, node: Node) -> Lines | None:
        """The code that runs a module of PyTorch's own, which has no code in the atlas."""
        own = node.symbol.lines if node.symbol is not None else None
        while own is not None and node.parent is not None:
            node = self._nodes[node.parent]
            code = node.code
            if code is not None and code.file == own.file and code.first <= own.first <= own.last <= code.last:
                return code
        return None

    def _unreached_within(self, node: Node, code: Lines) -> Sequence[Unreached]:
        """Unreached lines within ``code``: the node's own, or those of the nearest node around it that has any."""
        current: Node | None = node
        while current is not None:
            inside = [
                item
                for item in current.unreached
                if item.lines.file == code.file and code.first <= item.lines.first and item.lines.last <= code.last
            ]
            if inside:
                return inside
            current = self._nodes[current.parent] if current.parent is not None else None
        return ()

    def _tensor(self, node: Node) -> PageTensor | None:
        fact = node.tensor
        if fact is None:
            return None
        value = self.atlas.value(fact.value) if fact.value is not None else None
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

    def _child(self, node: Node, around: Node) -> PageChild:
        ports = node.outputs
        if node.tensor is not None:
            ports = (Port(name=node.title, tensor=node.address, source="tensor"),)
        shapes = [self._ports.shape(port) for port in ports]
        return PageChild(
            label=crumb_label(node),
            address=node.address,
            title=heading(node),
            kind=node.kind,
            count=node.count,
            note=node.repeat.note if node.repeat is not None else None,
            plumbing=node.plumbing,
            symbol=node.symbol.text if node.symbol is not None else None,
            parameter_count=node.parameter_count,
            outputs=tuple(shape_text(shape) for shape, _, _ in shapes),
            dtypes=tuple(dtype for _, dtype, _ in shapes),
            members=node.members if node.members != around.members else (),
        )

    def _branch(self, branch: Branch, node: Node) -> PageBranch:
        lines = branch.lines
        return PageBranch(
            test=branch.test,
            file=lines.file,
            lines=(lines.first, lines.last),
            taken=branch.taken,
            elsewhere=tuple(
                self._neighbours.maker(node, other.address)
                for other in self._statements(node.phase, lines)
                if node.kind == "branch" and other.address != node.address
            ),
        )

    def _statements(self, phase: str, lines: Lines) -> list[Node]:
        """The branch nodes that are the statement in ``lines``, in all layers."""
        if not self._conditions:
            for node in self._nodes.values():
                if node.kind == "branch" and node.symbol is not None:
                    own = node.symbol.lines
                    self._conditions.setdefault((node.phase, own.file, own.first, own.last), []).append(node)
        return self._conditions.get((phase, lines.file, lines.first, lines.last), [])

    def _build_provenance(self) -> PageProvenance:
        origin = self._document.provenance
        return PageProvenance(
            kind=origin.source,
            repository=origin.repository,
            revision=origin.revision,
            requested_revision=origin.requested_revision,
            entry=origin.entry,
            configuration=origin.configuration_origin,
            passed_over=origin.preferred,
            versions=origin.versions,
        )

    def _about_atlas(self) -> PageAtlas:
        document = self._document
        return PageAtlas(
            nodes=len(document.nodes),
            checks=tuple(PageCheck(name=item.name, passed=item.passed, detail=item.detail) for item in document.checks),
            notes=document.notes,
            constants=constants(self._nodes),
            configuration=document.configuration,
            configuration_defaults=document.configuration_defaults,
            choices=document.provenance.choices,
            probes=document.provenance.probes,
        )


def _columns(lines: Lines) -> tuple[int, int] | None:
    if lines.column is None or lines.end_column is None:
        return None
    return lines.column, lines.end_column


def _symbol(node: Node) -> PageSymbol | None:
    if node.symbol is None:
        return None
    lines = node.symbol.lines
    return PageSymbol(text=node.symbol.text, file=lines.file, lines=(lines.first, lines.last), columns=_columns(lines))


def _unreached(item: Unreached) -> PageUnreached:
    lines = item.lines
    return PageUnreached(
        file=lines.file,
        lines=(lines.first, lines.last),
        condition=item.condition,
        condition_line=item.condition_line,
    )


def _repeat(node: Node) -> PageRepeat | None:
    repeat = node.repeat
    if repeat is None:
        return None
    return PageRepeat(observed=repeat.observed, expression=repeat.expression, of=repeat.of, note=repeat.note)
