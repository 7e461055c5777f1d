"""From a node of an atlas to its page."""

from __future__ import annotations

import math
from collections.abc import Sequence

from openmodelatlas.annotation.operations import argument_text, name_arguments
from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.evidence.branches import branches_of
from openmodelatlas.evidence.sources import EvidenceFinder
from openmodelatlas.graph.document import Branch, Lines, Node, ParameterFact, Port, TensorFact, Unreached
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
    PageDimension,
    PageInput,
    PageLayers,
    PageOutput,
    PageParameter,
    PageParameters,
    PageProvenance,
    PageRepeat,
    PageSymbol,
    PageTensor,
    PageUnreached,
    PageVariation,
)

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
        self._operations: dict[str, int] = {}
        self._parameters: dict[str, PageParameter] = {}
        self._texts: dict[tuple[str, int, int], str] = {}
        self._provenance = self._build_provenance()

    def page(self, node: Node) -> Page:
        """The page of ``node``. Raises as :func:`build_page`."""
        inputs = tuple(self._input(port) for port in node.inputs)
        outputs = tuple(self._output(port) for port in node.outputs)
        if node.tensor is not None and not outputs:
            outputs = (self._output(Port(name=node.title, tensor=node.address, source="tensor")),)
        first = self._first_shape(node)
        siblings = self._nodes[node.parent].children if node.parent is not None else ()
        place = siblings.index(node.address) if node.address in siblings else -1
        return Page(
            model=self._document.model,
            model_title=self._document.title,
            address=node.address,
            title=node.title,
            label=node.label,
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
                members=node.members, branches=tuple(_branch(branch) for branch in branches_of(node, self._nodes))
            ),
            function=node.function,
            module=node.module,
            class_name=node.class_name,
            arguments={
                name: argument_text(value)
                for name, value in name_arguments(node.function or "", node.arguments).items()
            },
            plumbing=node.plumbing,
            repeat=_repeat(node),
            variations=tuple(PageVariation(what=item.what, values=item.values) for item in node.variations),
            tensor=self._tensor(node),
            children=tuple(self._child(self._nodes[address]) for address in node.children),
            previous=self._crumb(siblings[place - 1]) if place > 0 else None,
            next=self._crumb(siblings[place + 1]) if 0 <= place < len(siblings) - 1 else None,
            provenance=self._provenance,
            atlas=self._about_atlas() if node.kind == "model" else None,
        )

    def _first_shape(self, node: Node) -> tuple[PageDimension, ...]:
        """The shape that axis numbers of the node's arguments refer to; empty where that is not certain."""
        if not node.inputs or (node.inputs[0].via and self._is_uncertain(node.inputs[0])):
            return ()
        return self._shape_of(node.inputs[0])[0] or ()

    def _is_uncertain(self, port: Port) -> bool:
        last = self._nodes.get(port.via[-1])
        return last is None or len(last.outputs) != 1

    def _crumb(self, address: str) -> Crumb:
        node = self._nodes.get(address)
        return Crumb(label=(node.label or node.title) if node is not None else address, address=address)

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

    def _fact(self, port: Port) -> TensorFact | None:
        """What is known of the tensor at ``port``, wherever it comes from; ``None`` for parameters."""
        node = self._nodes.get(port.tensor)
        if node is not None and node.tensor is not None:
            return node.tensor
        return self._document.inputs.get(port.tensor)

    def _shape_of(self, port: Port) -> tuple[tuple[PageDimension, ...] | None, str | None, str | None]:
        """Shape, dtype and what is missing."""
        if port.source in ("parameter", "buffer"):
            parameter = self._document.parameters.get(port.tensor)
            if parameter is not None:
                return self._dimensions.shape(parameter.shape), parameter.dtype, None
        fact = self._received(port)
        if fact is None:
            return None, None, "The tensor is not part of the atlas."
        return self._dimensions.shape(fact.shape), fact.dtype, fact.dtype_note

    def _received(self, port: Port) -> TensorFact | None:
        """What the node itself reads: the tensor after the plumbing on the edge, if that gives a single one."""
        if port.via:
            last = self._nodes.get(port.via[-1])
            if last is not None and len(last.outputs) == 1:
                return self._fact(last.outputs[0]) or self._fact(port)
        return self._fact(port)

    def _page_of(self, port: Port) -> str | None:
        """Address of the tensor's own page."""
        node = self._nodes.get(port.tensor)
        return node.address if node is not None and node.tensor is not None else None

    def _input(self, port: Port) -> PageInput:
        shape, dtype, note = self._shape_of(port)
        is_parameter = port.source in ("parameter", "buffer")
        fact = None if is_parameter else self._fact(port)
        producer = fact.producer if fact is not None else None
        return PageInput(
            name=port.name,
            shape=shape,
            dtype=dtype,
            producer=producer,
            producer_label=self._crumb(producer).label if producer is not None else None,
            tensor=None if is_parameter else self._page_of(port),
            parameter=port.tensor if is_parameter else None,
            source=port.source,
            via=tuple(self._crumb(address) for address in port.via),
            others=tuple(self._crumb(address) for address in port.others),
            note=note,
        )

    def _output(self, port: Port) -> PageOutput:
        shape, dtype, note = self._shape_of(port)
        fact = self._fact(port)
        return PageOutput(
            name=port.name,
            shape=shape,
            dtype=dtype,
            consumers=fact.consumers if fact is not None else (),
            tensor=self._page_of(port),
            via=tuple(self._crumb(address) for address in port.via),
            note=note,
        )

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
        code = holder.code
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

    def _child(self, node: Node) -> PageChild:
        if node.tensor is not None:
            outputs: tuple[str, ...] = (shape_text(self._dimensions.shape(node.tensor.shape)),)
        else:
            outputs = tuple(shape_text(self._shape_of(port)[0]) for port in node.outputs)
        return PageChild(
            label=node.label,
            address=node.address,
            title=node.title,
            kind=node.kind,
            count=node.count,
            note=node.repeat.note if node.repeat is not None else None,
            plumbing=node.plumbing,
            symbol=node.symbol.text if node.symbol is not None else None,
            parameter_count=node.parameter_count,
            outputs=outputs,
        )

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


def _branch(branch: Branch) -> PageBranch:
    lines = branch.lines
    return PageBranch(test=branch.test, file=lines.file, lines=(lines.first, lines.last), taken=branch.taken)


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
