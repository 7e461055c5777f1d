"""From a node of an atlas to its page."""

from __future__ import annotations

import msgspec

from openmodelatlas.annotation.counting import few_layers
from openmodelatlas.annotation.knowledge import NodeKnowledge
from openmodelatlas.bundle.atlas import Atlas
from openmodelatlas.evidence.sources import EvidenceFinder
from openmodelatlas.graph.document import Node, Port
from openmodelatlas.graph.outcomes import branches_of
from openmodelatlas.site.about import about_atlas, provenance
from openmodelatlas.site.arguments import page_arguments, page_attributes
from openmodelatlas.site.branches import BranchWriter
from openmodelatlas.site.claimed import SourceFinder
from openmodelatlas.site.describe import describe_node
from openmodelatlas.site.dimensions import DimensionWriter, shape_text
from openmodelatlas.site.fields import (
    Crumb,
    Page,
    PageChild,
    PageInput,
    PageLayers,
    PageOutput,
    PageRepeat,
    PageSymbol,
    PageVariation,
)
from openmodelatlas.site.knowing import KnowledgeWriter, differences, mechanism, statements, with_lines
from openmodelatlas.site.latex import without_marks
from openmodelatlas.site.layers import Layers
from openmodelatlas.site.naming import named, rename
from openmodelatlas.site.neighbours import Neighbours
from openmodelatlas.site.parts import drawings_of, knowledge_of
from openmodelatlas.site.ports import PortWriter
from openmodelatlas.site.source_code import CodeWriter, columns
from openmodelatlas.site.states import States
from openmodelatlas.site.tensors import TensorWriter
from openmodelatlas.site.words import crumb_label, heading

_NOTHING = NodeKnowledge()


def build_page(atlas: Atlas, address: str) -> Page:
    """The page of the node called ``address`` (or any name that :meth:`Atlas.__getitem__` takes).

    Raises:
        UsageError: there is no such node.
        BundleError: a cited source or value is missing or altered.

    A page of which knowledge or drawings are damaged says so, see ``Page.damage``.
    """
    return PageBuilder(atlas).page(atlas[address])


class LevelPage(msgspec.Struct, frozen=True, kw_only=True):
    """The inside of a node as a list: the node's address, what it is called, and what is directly inside."""

    model_title: str
    address: str
    label: str
    children: tuple[PageChild, ...]


class PageBuilder:
    """Builds pages of one atlas; what pages share is computed once.

    Attributes:
        atlas: the atlas.
        knowledge, drawings: what goes with its document; empty if their files are damaged.
        damage: which of the two files are damaged, and what is missing therefore, a sentence or two for each.
        undrawn: the same of the drawings alone; ``None`` if they can be read.
        document: the document under the names that are known.
        layers: its groups of layers.
    """

    def __init__(self, atlas: Atlas) -> None:
        self.atlas = atlas
        self.knowledge, nameless = knowledge_of(atlas)
        self.drawings, self.undrawn = drawings_of(atlas)
        self.damage = tuple(text for text in (nameless, self.undrawn) if text is not None)
        self.document = named(atlas.document, self.knowledge)
        self._nodes = self.document.nodes
        evidence = EvidenceFinder(self.document, atlas.lines_of, self.knowledge)
        self._sources = SourceFinder(self.document, self.knowledge, atlas.lines_of, evidence)
        self._code = CodeWriter(atlas, self.document, evidence)
        self._knowing = KnowledgeWriter(self.document)
        dimensions = DimensionWriter(self.document.sizes)
        self._neighbours = Neighbours(self._nodes)
        self._ports = PortWriter(self.document, dimensions, self._neighbours)
        self._states = States(self.document)
        self._tensors = TensorWriter(atlas, self.document, dimensions, self._neighbours)
        self._branches = BranchWriter(self._nodes, self._neighbours)
        self.layers = Layers(self._nodes)
        self._operations: dict[str, int] = {}
        self._dtype: str | None = None
        self._provenance = provenance(self.document)

    def page(self, node: Node) -> Page:
        """The page of ``node``. Raises as :func:`build_page`."""
        node = rename(node, self.knowledge)
        known = self.known(node.address)
        formulas = self._knowing.formulas(known)
        explained = statements(known.explanation)
        inputs, outputs = self._ports_of(node, known)
        siblings = self._nodes[node.parent].children if node.parent is not None else ()
        place = siblings.index(node.address) if node.address in siblings else -1
        return Page(
            model=self.document.model,
            model_title=self.document.title,
            address=node.address,
            title=heading(node),
            label=crumb_label(node),
            kind=node.kind,
            phase=node.phase,
            breadcrumb=tuple(self._crumb(above.address) for above in self.atlas.parents(node)[1:]),
            symbol=_symbol(node),
            description=self._description(node, known),
            role=known.role,
            family=known.family,
            mechanism=mechanism(known.mechanism) if known.mechanism is not None else None,
            mechanisms=tuple(mechanism(item) for item in known.mechanisms),
            parameters=self._tensors.parameters(node, known.symbols),
            formula=formulas[0].latex if formulas else None,
            formulas=formulas,
            inputs=inputs,
            outputs=outputs,
            explanation=tuple(with_lines(item) for item in explained),
            statements=explained,
            differences=differences(known.differences),
            code=self._code.code(node),
            sources=self._sources.sources(node),
            layers=PageLayers(
                members=node.members,
                branches=tuple(self._branches.branch(branch, node) for branch in branches_of(node, self._nodes)),
            ),
            rounds=node.rounds,
            same_place=self.layers.same_place(node),
            level=self.level(node),
            function=node.function,
            module=node.module,
            class_name=node.class_name,
            arguments=page_arguments(node),
            attributes=page_attributes(node),
            plumbing=node.plumbing,
            repeat=_repeat(node),
            variations=tuple(PageVariation(what=item.what, values=item.values) for item in node.variations),
            tensor=self._tensors.tensor(node),
            children=tuple(self._child(self._nodes[address], node) for address in node.children),
            previous=self._crumb(siblings[place - 1]) if place > 0 else None,
            next=self._crumb(siblings[place + 1]) if 0 <= place < len(siblings) - 1 else None,
            provenance=self._provenance,
            atlas=about_atlas(self.document) if node.kind == "model" else None,
            damage=self.damage,
        )

    def known(self, address: str) -> NodeKnowledge:
        """What is known of the node at ``address``; empty if that is nothing."""
        return self.knowledge.nodes.get(address, _NOTHING)

    def lights(self, address: str) -> dict[str, list[str]]:
        """Addresses and parameter names that light with each term of the node's formulas."""
        return self._knowing.lights(self.known(address))

    @property
    def dtype(self) -> str:
        """The element type of the published model: that of most of its parameters."""
        if self._dtype is None:
            elements: dict[str, int] = {}
            for fact in self.document.parameters.values():
                elements[fact.dtype] = elements.get(fact.dtype, 0) + fact.each * fact.count
            self._dtype = max(elements, key=lambda dtype: elements[dtype], default="float32")
        return self._dtype

    def level_page(self, address: str) -> LevelPage:
        """What stands beside the pages of what is inside the node at ``address``."""
        node = self._nodes[address]
        return LevelPage(
            model_title=self.document.title,
            address=address,
            label=crumb_label(node),
            children=tuple(self._child(self._nodes[child], node) for child in node.children),
        )

    def level(self, node: Node) -> str:
        """The node whose inside is shown beside the page: its own, or that of the node around it.

        What has something other than tensors inside has a diagram of its own, see ``drawing.draw``.
        """
        while node.parent is not None and not any(self._nodes[child].kind != "tensor" for child in node.children):
            node = self._nodes[node.parent]
        return node.address

    def _ports_of(self, node: Node, known: NodeKnowledge) -> tuple[tuple[PageInput, ...], tuple[PageOutput, ...]]:
        ports = node.outputs
        if node.tensor is not None and not ports:
            ports = (Port(name=node.tensor.variable or node.title, tensor=node.address, source="tensor"),)
        symbols = known.symbols
        if node.tensor is not None and node.address not in symbols and node.tensor.producer is not None:
            symbols = self.known(node.tensor.producer).symbols  # a tensor is called what its maker calls it
        passed = {port.tensor for port in ports}
        inputs = []
        for port in node.inputs:
            # A tensor that is only given another name has one symbol as it comes and another as it goes.
            own = self.known(port.tensor).symbols.get(port.tensor) if port.tensor in passed else None
            inputs.append(self._ports.input(node, port, own or symbols.get(port.tensor)))
        for port in self._states.of(node):
            read = self._ports.input(node, port, symbols.get(port.tensor))
            inputs.append(msgspec.structs.replace(read, title=crumb_label(self._nodes[port.tensor])))
        return (
            (*self._absent(node, passed), *inputs),
            tuple(self._ports.output(node, port, symbols.get(port.tensor)) for port in ports),
        )

    def _absent(self, node: Node, passed: set[str]) -> list[PageInput]:
        """What a statement reads in other layers, where here it only passes on a tensor under another name."""
        if node.kind != "branch" or node.symbol is None or not any(port.tensor in passed for port in node.inputs):
            return []
        inside = [self._nodes[address] for address in node.children]
        if any(child.kind != "tensor" and not child.plumbing for child in inside):
            return []
        found: dict[str, PageInput] = {}
        names = {port.name for port in node.inputs}
        for other in self._branches.alike(node.phase, node.symbol.lines):
            for port in other.inputs:
                if port.name in names or port.name in found or port.source != "tensor":
                    continue
                known = self.known(other.address).symbols.get(port.tensor)
                read = self._ports.input(other, port, known)
                note = f"not read here, but in {few_layers(other.members)}" if other.members else "not read here"
                found[port.name] = msgspec.structs.replace(
                    read, producer=None, origin=None, tensor=None, via=(), others=(), note=note
                )
        return list(found.values())

    def _description(self, node: Node, known: NodeKnowledge) -> str:
        """What is known of the node in words, then what the recording adds to it."""
        if known.sentence is not None and node.kind in ("operation", "kernel", "tensor"):
            return known.sentence
        automatic = describe_node(
            node,
            self._nodes,
            operations=self._count_operations(node),
            axes=[dimension.text for dimension in self._ports.first_shape(node)],
            layers=self._count_layers() if node.kind == "model" else 0,
            with_steps=known.sentence is None,
        )
        return automatic if known.sentence is None else f"{known.sentence.rstrip()} {automatic.lstrip()}".rstrip()

    def _crumb(self, address: str) -> Crumb:
        return self._neighbours.crumb(address)

    def _count_operations(self, node: Node) -> int:
        """Operations and kernels inside ``node``, folded ones once; a module that is one operation is one too."""
        if not self._operations:
            # Nodes come after what encloses them, so that going backwards adds up from the inside.
            for inner in reversed(self._nodes.values()):
                within = self._operations.get(inner.address, 0)
                own = 1 if inner.kind in ("operation", "kernel") or (inner.events and not within) else 0
                total = own + within
                self._operations[inner.address] = total
                if inner.parent is not None:
                    self._operations[inner.parent] = self._operations.get(inner.parent, 0) + total
        return self._operations[node.address]

    def _count_layers(self) -> int:
        return len({number for node in self._nodes.values() for number in node.members})

    def _child(self, node: Node, around: Node) -> PageChild:
        ports = node.outputs
        if node.tensor is not None:
            ports = (Port(name=node.title, tensor=node.address, source="tensor"),)
        shapes = [self._ports.shape(node, port) for port in ports]
        known = self.known(node.address)
        latex = without_marks(known.formulas[0].latex) if known.formulas else known.symbols.get(node.address)
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
            family=known.family,
            latex=latex,
            reads=self._ports.makers(node),
        )


def _symbol(node: Node) -> PageSymbol | None:
    if node.symbol is None:
        return None
    lines = node.symbol.lines
    return PageSymbol(text=node.symbol.text, file=lines.file, lines=(lines.first, lines.last), columns=columns(lines))


def _repeat(node: Node) -> PageRepeat | None:
    repeat = node.repeat
    if repeat is None:
        return None
    return PageRepeat(observed=repeat.observed, expression=repeat.expression, of=repeat.of, note=repeat.note)
